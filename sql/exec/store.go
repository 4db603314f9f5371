package exec

import (
	"context"

	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/txn"
)

const maxT = txn.MaxTimestamp

// Tx is a transaction's part in one fragment, on the node that leads it. The cluster makes it from
// a storage transaction.
type Tx interface {
	table.Generations
	// Global marks an index as global, by storage ids, before its entries are named: the definition
	// may not be known to other transactions yet.
	Global(table, index uint32)
	// View opens a reader at t that also sees the writes that this transaction had buffered before,
	// and no later ones. That is E6: a statement that reads what it writes reads everything first,
	// or, if several parts of it write, reads at the position where it began (View.Seen).
	View(ctx context.Context, t txn.Timestamp) (View, error)
	// Lock locks the row of key. changed reports whether a version above the request's T was
	// committed; unless the request asks to recheck, that is 40001 instead. Lock returns
	// txn.ErrLocked if it must not wait.
	Lock(ctx context.Context, key []byte, req txn.LockRequest) (changed bool, err error)
	// Applied returns the largest stamp applied in the fragment: what was acknowledged before the
	// call is at or below it.
	Applied() txn.Timestamp
	// Newest returns the present value, buffered by this transaction or committed, nil if there is
	// none. The key must be locked.
	Newest(ctx context.Context, key []byte) ([]byte, error)
	// ChangedSince returns a *txn.ConflictError if another transaction has changed key after t. It
	// takes no lock.
	ChangedSince(ctx context.Context, key []byte, t txn.Timestamp) error
	// HasRead reports whether a SERIALIZABLE transaction has read key or looked for it, and returns
	// the timestamp of its earliest read.
	HasRead(key []byte) (txn.Timestamp, bool)
	// BufferedSince reports whether the transaction has written key after a mark.
	BufferedSince(key []byte, mark txn.Mark) (bool, error)
	// Put and Delete buffer a write under the lock of its row. They keep neither key nor value.
	Put(key, value []byte) error
	Delete(key []byte) error
	// Leaves notes that the row at key, which is deleted, gets another key in the same transaction.
	Leaves(key []byte)
	// Left reports whether the row that was at key, which is locked and gone, may have another key
	// now.
	Left(key []byte) (bool, error)
}

// Reader reads a fragment at one timestamp. Keys and values are valid only until the next call, or
// during fn.
type Reader interface {
	// Get returns nil if the key has no value.
	Get(ctx context.Context, key []byte) ([]byte, error)
	Scan(ctx context.Context, span txn.Span, reverse bool, fn func(key, value []byte) error) error
}

// View is a Reader of a transaction.
type View interface {
	Reader
	table.Generations // at the timestamp
	// Seen hides what the transaction has written after a mark. It must be called before the first
	// read.
	Seen(mark txn.Mark)
	Close()
}
