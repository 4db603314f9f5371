package engine

import (
	"bytes"

	"github.com/dgraph-io/badger/v4"

	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

// Cursor goes through keys, or versions of keys, of a snapshot. One goroutine uses it.
type Cursor struct {
	// Wanted reports whether a key is gone through; nil: all are.
	Wanted func(key []byte) bool
	// Kept is asked when the chunks of a large row have been looked for, with the error of that;
	// nil: it is not asked. Versions that the snapshot needs may have been discarded meanwhile.
	Kept func(error) error

	s       Snapshot
	it      *badger.Iterator
	bound   []byte // forward: the cursor stops at it, if it is not empty; reverse: below it
	reverse bool
	placed  bool // it has been moved
}

// Close ends the cursor; a nil cursor has nothing to end.
func (c *Cursor) Close() {
	if c != nil {
		c.it.Close()
	}
}

// Valid reports whether the cursor is at a key. It passes keys that are not wanted.
func (c *Cursor) Valid() bool {
	for ; c.it.Valid(); c.it.Next() {
		key := c.it.Item().Key()
		if len(c.bound) > 0 && (bytes.Compare(key, c.bound) < 0) == c.reverse {
			return false
		}
		if c.Wanted == nil || c.Wanted(key) {
			return true
		}
	}
	return false
}

// Next goes to the next key, or version.
func (c *Cursor) Next() { c.it.Next() }

// nearby is the number of keys that a cursor passes before it searches for the next span: that costs
// as much as some ten keys.
const nearby = 3

// reuse prepares a cursor of an index for other spans of the index, which lie within one.
func (c *Cursor) reuse(span txn.Span) {
	c.Wanted, c.placed = nil, false
	if !c.reverse {
		*prefixOf(c.it) = keyspace.CommonPrefix(span) // Badger looks for no key behind
	}
}

// Move goes to the first key of a span, in the direction of the cursor. The span is disjoint from
// those before it, and behind them.
func (c *Cursor) Move(span txn.Span) {
	if c.bound = span.End; c.reverse {
		c.bound = span.Start
	}
	for range nearby {
		if !c.placed || !c.it.Valid() {
			break
		}
		if key := c.it.Item().Key(); c.reverse && bytes.Compare(key, span.End) < 0 ||
			!c.reverse && bytes.Compare(key, span.Start) >= 0 {
			return
		}
		c.it.Next()
	}
	c.placed = true
	switch {
	case !c.reverse:
		c.it.Seek(span.Start)
	case len(span.End) == 0:
		c.it.Rewind()
	default:
		c.it.Seek(span.End)
		if c.it.Valid() && bytes.Equal(c.it.Item().Key(), span.End) {
			c.it.Next()
		}
	}
}

// Seek goes to the first key at or behind key, in the direction of the cursor.
func (c *Cursor) Seek(key []byte) { c.it.Seek(key) }

// Item returns where the cursor is. It is valid until the cursor moves.
func (c *Cursor) Item() Item { return Item{c.s, c.it.Item()} }

// Row calls fn with the key at which the cursor is, and its value. Both are valid during the call.
func (c *Cursor) Row(fn func(key, value []byte) error) error {
	item := c.it.Item()
	if item.UserMeta()&headMark == 0 {
		return item.Value(func(v []byte) error { return fn(item.Key(), v) })
	}
	value, err := readChunks(c.s.t, item)
	if c.Kept != nil {
		err = c.Kept(err)
	}
	if err != nil {
		return err
	}
	return fn(item.Key(), value)
}

// Item is one version of a key, at which a cursor is.
type Item struct {
	s Snapshot
	i *badger.Item
}

// Key returns the key, which is valid until the cursor moves.
func (x Item) Key() []byte { return x.i.Key() }

// KeyCopy returns a copy of the key.
func (x Item) KeyCopy() []byte { return x.i.KeyCopy(nil) }

// At returns the timestamp of the version.
func (x Item) At() txn.Timestamp { return txn.Timestamp(x.i.Version()) }

// Deleted reports whether the version is a deletion.
func (x Item) Deleted() bool { return x.i.IsDeletedOrExpired() }

// Large reports whether the version is the head of a large row.
func (x Item) Large() bool { return x.i.UserMeta()&headMark != 0 }

// Kept reports whether the version is an update that left the row's keys as they were.
func (x Item) Kept() bool { return x.i.UserMeta()&keptMark != 0 }

// Stored calls fn with the value as it is stored: of a large row, its head. The value is valid
// during the call.
func (x Item) Stored(fn func(value []byte) error) error {
	var failed error
	err := x.i.Value(func(value []byte) error { failed = fn(value); return failed })
	if failed != nil {
		return failed
	}
	return x.s.e.readError(err)
}

// Value returns a copy of the value. A large row is put together.
func (x Item) Value() ([]byte, error) {
	if x.Large() {
		return readChunks(x.s.t, x.i)
	}
	value, err := x.i.ValueCopy([]byte{})
	return value, x.s.e.readError(err)
}

// Size returns the size of the value. Of a large row it is the size of the row.
func (x Item) Size() (size int, err error) {
	if !x.Large() {
		return int(x.i.ValueSize()), nil
	}
	err = x.i.Value(func(b []byte) error { size, err = SizeOfHead(b); return err })
	return size, x.s.e.readError(err)
}

// Raw is a version as the database has it, for the database of another replica.
type Raw struct {
	Key, Value []byte
	At         txn.Timestamp
	Mark       byte // Badger's user byte
	Deleted    bool
	Expires    uint64 // seconds since 1970, 0: never
}

// Raw returns the version without its value, which Stored has. The key is valid until the cursor
// moves.
func (x Item) Raw() Raw {
	return Raw{Key: x.i.Key(), At: x.At(), Mark: x.i.UserMeta(), Deleted: x.Deleted(), Expires: x.i.ExpiresAt()}
}
