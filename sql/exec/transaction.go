package exec

import (
	"context"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/txn"
)

// Transaction is a transaction over any number of fragments, as sessions see it; package cluster makes it. Fragments join when they are
// first used.
type Transaction interface {
	ID() txn.ID
	// Fragment gives a fragment as the transaction sees it; 57P03 where it is out of reach.
	Fragment(id txn.FragmentID) (Fragment, error)
	// Snapshot asks the fragments for the timestamp of a statement that may reach buckets of theirs, by the map of an epoch (T6); *txn.MovedError
	// where these are not theirs any more.
	Snapshot(ctx context.Context, shares []shardmap.Share, epoch uint64) (txn.Timestamp, error)
	// SnapshotReachable is Snapshot of the fragments that can be reached, and says why the others cannot
	// (*txn.UnreachableError). It waits less for these.
	SnapshotReachable(ctx context.Context, shares []shardmap.Share, epoch uint64) (T txn.Timestamp, missing map[txn.FragmentID]error, err error)
	// Owned tells whether what is staged, locked and read in fragments is still theirs; *txn.LostError if not.
	Owned(ctx context.Context, fragments []txn.FragmentID) error
	HasWrites() bool
	// Configure says what the transaction is, before it is used first; SetLockTimeout changes the bound for waits to come.
	Configure(o TransactionOptions)
	SetLockTimeout(d time.Duration)
	// Define gives the change of definitions that commits with what is staged, both or neither; nil takes it back. It sets what the last call set.
	Define(ch *catalog.Change)
	// Commit commits what is staged, above floor, and gives the commit's timestamp; floor where nothing was written. Errors are definite
	// but for 40003.
	Commit(ctx context.Context, floor txn.Timestamp) (txn.Timestamp, error)
	// Hold makes what is staged, and the locks, outlive the session under a name: PREPARE TRANSACTION. The handle is done with afterwards; after
	// an error, but for 40003, the transaction is rolled back.
	Hold(ctx context.Context, req txn.HoldRequest) error
	// Mark gives the place to which RollbackTo and Restart return. Marks are taken in order, and one dies with a return to an earlier one.
	Mark() Mark
	// RollbackTo drops what was staged since a mark, and the locks taken since: ROLLBACK TO SAVEPOINT.
	RollbackTo(m Mark)
	// Restart drops what was staged since a mark and keeps the locks: the statement is run again. forgetReads is for a statement that is its
	// transaction: what earlier statements have read must stay validated, and what nobody has seen must not.
	Restart(m Mark, forgetReads bool)
	// Rollback drops both.
	Rollback()
	// Bound refuses, from now on, writes that make the transaction wider than scope; 25000 where it is already.
	Bound(scope Scope) error
	// HoldSnapshot keeps what is visible at T in fragments readable until the transaction ends; 72000 where it is gone already.
	HoldSnapshot(fragments []txn.FragmentID, T txn.Timestamp) error
	// HoldSoon does that in the background, for reads that need no leader; what it cannot hold it leaves.
	HoldSoon(fragments []txn.FragmentID, T txn.Timestamp) error
	// Near gives a fragment for tasks that name their timestamp and change nothing, by its nearest replica: one that does not lead serves what is
	// closed there (T9).
	Near(id txn.FragmentID) (Fragment, error)
	// NearTime gives the newest timestamp, least at least, at which the replicas here can be read at once; ok is false where no read needs one,
	// since the fragments are led here.
	NearTime(fragments []txn.FragmentID, least txn.Timestamp) (T txn.Timestamp, ok bool)
}

// TransactionOptions is what a transaction is from its beginning.
type TransactionOptions struct {
	Isolation   txn.Isolation
	LockTimeout time.Duration // for row locks; 0 waits for ever
	Session     uint32        // the backend's process number, for pg_locks and the text of deadlocks
}

// Scope bounds where a transaction may write (sherd.txn_scope).
type Scope byte

// The scopes, from the widest.
const (
	ScopeCluster Scope = iota
	ScopeFragment
	ScopeBucket
)

// Mark is a place in what a transaction has staged, fragment by fragment. The zero Mark is its beginning.
type Mark map[txn.FragmentID]txn.Mark
