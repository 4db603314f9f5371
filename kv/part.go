package kv

import (
	"context"
	"time"

	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// Part is what a transaction has in one fragment: its write buffer, its locks and its reads. It is
// made by a Sender, for a fragment that the Sender's node leads; a LeaderPart finds that node. What it
// reports about its write buffer (HasWrites, Mark and the like) costs no round trip.
type Part interface {
	txn.Participant
	Mark() txn.Mark
	// RollbackTo, Restart and Rollback of a part on another node are sent and not waited for; the next
	// call comes after them.
	RollbackTo(m txn.Mark)
	Restart(m txn.Mark, forgetReads bool)
	SetLockTimeout(d time.Duration)
	// Width returns how many buckets are written, at least.
	Width() int
	// Volatile reports whether there is something that would be lost with the leader's term, or may
	// be.
	Volatile() bool
	// Owned checks that the fragment still owns what the transaction has buffered, locked and
	// read; if not, it returns *txn.LostError.
	Owned(ctx context.Context) error
	// PrepareTransaction, CompletePrepared, DropPrepared and DetachPrepared are the steps of PREPARE
	// TRANSACTION.
	PrepareTransaction(ctx context.Context, req storage.PreparationRequest) error
	CompletePrepared(ctx context.Context) error
	DropPrepared(ctx context.Context) error
	DetachPrepared()
}

var _ Part = (*LeaderPart)(nil)
