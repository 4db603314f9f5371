package exec

import (
	"context"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/txn"
)

// Transaction is a transaction over any number of fragments, as sessions use it; package distexec
// implements it. Fragments join when they are first used.
type Transaction interface {
	ID() txn.ID
	// Fragment returns a fragment as the transaction uses it, and 57P03 if it cannot be reached.
	Fragment(id txn.FragmentID) (Fragment, error)
	// Snapshot asks the fragments for the timestamp of a statement that may reach buckets of
	// theirs, by the map of an epoch (T6). It returns *txn.MovedError if they do not own the
	// buckets any more.
	Snapshot(ctx context.Context, shares []shardmap.Share, epoch uint64) (txn.Timestamp, error)
	// SnapshotReachable is Snapshot for the fragments that can be reached; missing has the reasons
	// for the others (*txn.UnreachableError). It waits less for those.
	SnapshotReachable(ctx context.Context, shares []shardmap.Share, epoch uint64) (
		T txn.Timestamp, missing map[txn.FragmentID]error, err error,
	)
	// Owned checks that fragments still own what the transaction has written, locked and read
	// there; *txn.LostError if not.
	Owned(ctx context.Context, fragments []txn.FragmentID) error
	HasWrites() bool
	// Configure sets the options of the transaction before its first use. SetLockTimeout changes
	// the limit for later waits.
	Configure(o txn.Options)
	SetLockTimeout(d time.Duration)
	// Define sets the schema change that commits together with the writes; nil removes it. It
	// replaces the change of an earlier call.
	Define(ch *catalog.Change)
	// Commit commits the buffered writes, above floor, and returns the commit timestamp; it returns
	// floor if nothing was written. Errors are definite except 40003.
	Commit(ctx context.Context, floor txn.Timestamp) (txn.Timestamp, error)
	// PrepareTransaction makes the writes and locks outlive the session under a name: PREPARE
	// TRANSACTION. The Transaction must not be used afterwards. After an error other than 40003 the
	// transaction is rolled back.
	PrepareTransaction(ctx context.Context, req txn.PreparationRequest) error
	// Mark returns a position for RollbackTo and Restart. Marks are taken in order; a return to an
	// earlier one invalidates the later ones.
	Mark() txn.Marks
	// RollbackTo drops the writes and locks since a mark: ROLLBACK TO SAVEPOINT.
	RollbackTo(m txn.Marks)
	// Restart drops the writes since a mark and keeps the locks, because the statement runs again.
	// forgetReads is for a statement that is the whole transaction: its reads need no validation,
	// because the client has seen none of them. What earlier statements have read must stay
	// validated.
	Restart(m txn.Marks, forgetReads bool)
	// Rollback drops both.
	Rollback()
	// Bound refuses, from now on, writes that make the transaction wider than scope. It returns
	// 25000 if the transaction is wider already.
	Bound(scope txn.Scope) error
	// PinSnapshot pins the snapshot T in fragments until the transaction ends, and returns 72000
	// if its versions are gone already.
	PinSnapshot(fragments []txn.FragmentID, T txn.Timestamp) error
	// PinSoon does that in the background, for reads that need no leader. It ignores what it
	// cannot pin.
	PinSoon(fragments []txn.FragmentID, T txn.Timestamp) error
	// Follower returns a fragment for tasks that name their timestamp and change nothing, read from its
	// nearest replica: a follower serves what is closed there (T9).
	Follower(id txn.FragmentID) (Fragment, error)
	// FollowerTime returns the newest timestamp, at least least, at which the replicas here can be read
	// at once; ok is false if no read needs it, because the fragments are led here.
	FollowerTime(fragments []txn.FragmentID, least txn.Timestamp) (T txn.Timestamp, ok bool)
}

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
	// ScanAll is Scan for spans that are disjoint and in the order of the scan.
	ScanAll(ctx context.Context, spans []txn.Span, reverse bool, fn func(key, value []byte) error) error
	table.Generations // at the timestamp
	// Seen hides what the transaction has written after a mark. It must be called before the first
	// read.
	Seen(mark txn.Mark)
	Close()
}
