package locks

// Mode is the strength of a lock, as PostgreSQL numbers them.
type Mode uint8

// The modes, from the weakest. Advisory locks know Share and Exclusive.
const (
	AccessShare Mode = iota + 1
	RowShare
	RowExclusive
	ShareUpdateExclusive
	Share
	ShareRowExclusive
	Exclusive
	AccessExclusive
	modes
)

// Set is a set of modes: bit m stands for mode m.
type Set uint16

func setOf(list ...Mode) (s Set) {
	for _, m := range list {
		s |= 1 << m
	}
	return s
}

// Has reports whether m is in s.
func (s Set) Has(m Mode) bool { return s&(1<<m) != 0 }

// conflicts is the table of the manual, 13.3.1 "Table-Level Locks".
var conflicts = [modes]Set{
	AccessShare:          setOf(AccessExclusive),
	RowShare:             setOf(Exclusive, AccessExclusive),
	RowExclusive:         setOf(Share, ShareRowExclusive, Exclusive, AccessExclusive),
	ShareUpdateExclusive: setOf(ShareUpdateExclusive, Share, ShareRowExclusive, Exclusive, AccessExclusive),
	Share:                setOf(RowExclusive, ShareUpdateExclusive, ShareRowExclusive, Exclusive, AccessExclusive),
	ShareRowExclusive: setOf(
		RowExclusive, ShareUpdateExclusive, Share, ShareRowExclusive, Exclusive, AccessExclusive,
	),
	Exclusive: setOf(
		RowShare, RowExclusive, ShareUpdateExclusive, Share, ShareRowExclusive, Exclusive, AccessExclusive,
	),
	AccessExclusive: setOf(
		AccessShare, RowShare, RowExclusive, ShareUpdateExclusive, Share, ShareRowExclusive, Exclusive, AccessExclusive,
	),
}

// Conflicts reports whether two sessions cannot hold m and n on one object.
func (m Mode) Conflicts(n Mode) bool { return conflicts[m].Has(n) }

// String returns the name that pg_locks shows: RowExclusiveLock.
func (m Mode) String() string {
	return [...]string{"INVALID", "AccessShareLock", "RowShareLock", "RowExclusiveLock",
		"ShareUpdateExclusiveLock", "ShareLock", "ShareRowExclusiveLock", "ExclusiveLock", "AccessExclusiveLock"}[m]
}

// Kind is the kind of an object, as in pg_locks.locktype.
type Kind uint8

// The kinds of objects.
const (
	Relation Kind = iota + 1
	Advisory
	Object // a definition that is not a table, or a name that is about to be used
)

func (k Kind) String() string { return [...]string{"", "relation", "advisory", "object"}[k] }

// Tag names an object that can be locked.
type Tag struct {
	Kind     Kind
	Sub      uint8 // advisory: 1 for a key of 64 bits, 2 for two of 32
	Database uint32
	Class    uint32 // advisory: the first key, or the upper half of the only one, as of an object
	Object   uint32 // a relation's OID; advisory: the second key, or the lower half, as of an object
}

// Table names a table.
func Table(database, oid uint32) Tag { return Tag{Kind: Relation, Database: database, Object: oid} }

// Definition names the definition that key stands for: by its number, or by a hash. Two definitions
// with the same hash may wait for each other needlessly.
func Definition(key uint64) Tag {
	return Tag{Kind: Object, Class: uint32(key >> 32), Object: uint32(key)}
}

// Key names the advisory lock of one key.
func Key(database uint32, key int64) Tag {
	return Tag{Kind: Advisory, Sub: 1, Database: database, Class: uint32(uint64(key) >> 32), Object: uint32(key)}
}

// Keys names the advisory lock of two keys.
func Keys(database uint32, a, b int32) Tag {
	return Tag{Kind: Advisory, Sub: 2, Database: database, Class: uint32(a), Object: uint32(b)}
}
