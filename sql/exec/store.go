package exec

import (
	"context"

	"github.com/sherddb/sherd/txn"
)

const maxT = txn.MaxTimestamp

// Tx is a transaction's stage in one fragment, on the node that leads it. The cluster makes it of a storage transaction.
type Tx interface {
	Stays
	// Global says that an index is global, by storage ids, before its entries are named: the definitions may be known to nobody else yet.
	Global(table, index uint32)
	// View opens a reader at t that sees, besides, what this transaction had staged before the view was opened, and nothing that is staged
	// later. That is E6: a statement that reads what it writes does all its reading first, or, where several of its parts write, at the place
	// where it began (View.Seen).
	View(ctx context.Context, t txn.Timestamp) (View, error)
	// Lock takes the row lock of key and tells whether a version above the request's T was committed, which is 40001 unless the request
	// asks to recheck; txn.ErrLocked where it must not wait.
	Lock(ctx context.Context, key []byte, req txn.LockRequest) (changed bool, err error)
	// Applied gives the largest stamp applied in the fragment: what was acknowledged before the call is at or below it.
	Applied() txn.Timestamp
	// Newest gives the value that holds now, staged by this transaction or committed; nil where there is none. The key is locked.
	Newest(ctx context.Context, key []byte) ([]byte, error)
	// ChangedSince gives a *txn.ConflictError where another transaction has changed key after t. It takes no lock.
	ChangedSince(ctx context.Context, key []byte, t txn.Timestamp) error
	// HasRead tells whether a SERIALIZABLE transaction has read key, or looked for it, and the timestamp of its earliest read.
	HasRead(key []byte) (txn.Timestamp, bool)
	// StagedSince tells whether key was staged after a mark was taken.
	StagedSince(key []byte, mark txn.Mark) (bool, error)
	// Put and Delete stage a write under the lock of its row. They keep neither key nor value.
	Put(key, value []byte) error
	Delete(key []byte) error
	// Leaves notes that the row at key, which is deleted, gets another key in the same transaction.
	Leaves(key []byte)
	// Left tells whether the row that was at key, which is locked and not there, may have another key now.
	Left(key []byte) (bool, error)
}

// Reader reads a fragment at one timestamp. Keys and values are valid until the next call or during fn only.
type Reader interface {
	// Get gives nil where the key has no value.
	Get(ctx context.Context, key []byte) ([]byte, error)
	Scan(ctx context.Context, span txn.Span, reverse bool, fn func(key, value []byte) error) error
}

// View is a Reader of a transaction.
type View interface {
	Reader
	Stays // at the timestamp
	// Seen hides what the transaction staged after a mark was taken. Before the first read.
	Seen(mark txn.Mark)
	Close()
}
