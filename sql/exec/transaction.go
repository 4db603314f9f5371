package exec

import (
	"context"
	"time"

	"github.com/sherddb/sherd/txn"
)

// Transaction is a transaction over any number of fragments, as sessions see it; package cluster makes it. Fragments join when they are
// first used.
type Transaction interface {
	ID() txn.ID
	// Fragment gives a fragment as the transaction sees it; 57P03 where it is out of reach.
	Fragment(id txn.FragmentID) (Fragment, error)
	// Snapshot asks the fragments for the timestamp of a statement that may reach them all (T6).
	Snapshot(ctx context.Context, fragments []txn.FragmentID) (txn.Timestamp, error)
	HasWrites() bool
	// SetLockTimeout bounds the waits for row locks of fragments that join from now on; 0 waits for ever.
	SetLockTimeout(d time.Duration)
	// Commit commits what is staged, above floor, and gives the commit's timestamp; floor where nothing was written. Errors are definite
	// but for 40003.
	Commit(ctx context.Context, floor txn.Timestamp) (txn.Timestamp, error)
	// Restart drops what is staged and keeps the locks: the statement is run again.
	Restart()
	// Rollback drops both.
	Rollback()
}
