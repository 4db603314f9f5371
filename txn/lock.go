package txn

import "errors"

// LockMode is the strength of a row lock, as PostgreSQL's FOR KEY SHARE … FOR UPDATE.
type LockMode byte

// The modes, from the weakest. UPDATE takes NoKeyUpdate where it leaves all unique keys as they are, DELETE takes Update.
const (
	KeyShare LockMode = iota + 1
	Share
	NoKeyUpdate
	Update
)

// conflicts is the table of the manual, 13.3.2 "Row-Level Locks": bit n of conflicts[m] says that modes m and n exclude each other.
var conflicts = [...]byte{
	KeyShare:    1 << Update,
	Share:       1<<NoKeyUpdate | 1<<Update,
	NoKeyUpdate: 1<<Share | 1<<NoKeyUpdate | 1<<Update,
	Update:      1<<KeyShare | 1<<Share | 1<<NoKeyUpdate | 1<<Update,
}

// Conflicts tells whether two transactions cannot hold m and n on one row.
func (m LockMode) Conflicts(n LockMode) bool { return conflicts[m]&(1<<n) != 0 }

func (m LockMode) String() string {
	return [...]string{"none", "KEY SHARE", "SHARE", "NO KEY UPDATE", "UPDATE"}[m]
}

// LockRequest asks for a row lock.
type LockRequest struct {
	Mode LockMode
	// T is the snapshot of the statement: a version of the row above it is 40001 (the first updater wins), or told where Recheck is set.
	// MaxTimestamp asks for the lock alone.
	T       Timestamp
	Recheck bool // READ COMMITTED: a version above T is told, and the caller looks at the newest
	NoWait  bool // ErrLocked instead of waiting
}

// ErrLocked answers a LockRequest with NoWait where another transaction holds the lock.
var ErrLocked = errors.New("row is locked by another transaction")

// Isolation is the level of a transaction.
type Isolation byte

// The levels. READ UNCOMMITTED is READ COMMITTED, as in PostgreSQL.
const (
	ReadCommitted Isolation = iota
	RepeatableRead
	Serializable
)

func (i Isolation) String() string {
	return [...]string{"read committed", "repeatable read", "serializable"}[i]
}
