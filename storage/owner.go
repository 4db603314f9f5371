package storage

import (
	"context"
	"errors"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/txn"
)

// BucketRange is the half-open range of buckets [Lo, Hi).
type BucketRange = shardmap.Interval

// OwnState says what a bucket is to a fragment.
type OwnState byte

// The states. Numbers are on disk for ever.
const (
	NotOwned  OwnState = 0 // and never was
	Owned     OwnState = 1
	Fenced    OwnState = 2 // read up to F, until the move that has fenced it is undone or has flipped
	Receiving OwnState = 3 // versions are coming; nobody reads
	Gone      OwnState = 4 // to another fragment; read up to F
)

func (s OwnState) String() string {
	return [...]string{"not owned", "owned", "fenced", "receiving", "gone"}[s]
}

// OwnedRange is what the log of a fragment says of neighbouring buckets (C1).
type OwnedRange struct {
	BucketRange
	State   OwnState
	Move    uint64        // the last one in or out; entries of older ones are void
	F       txn.Timestamp // fenced, gone: the largest timestamp that may be read at
	Arrival uint32        // in the keys of what is there
	Since   txn.Timestamp // the smallest timestamp that may be read at, for the source had let older versions go
}

// Ownership lists the ranges that have been moved, or are being moved, in or out. All others are owned at arrival 0, or not owned at all where the
// fragment was added to its database (Config.Added).
func (r *Replica) Ownership() []OwnedRange { return nil }

// Admit tells whether a task may work on buckets here: with write, or at no T, that they are owned and not fenced now; otherwise that they may be
// read at T, which from then on holds for a view (ViewOf). It waits while they are fenced or received, 5 s at most (57P03), and gives
// *txn.MovedError where they are not here.
func (r *Replica) Admit(ctx context.Context, ranges []BucketRange, T txn.Timestamp, write bool) error {
	return nil
}

// SnapshotOf is Snapshot for who names the buckets that it is about (T6): they are owned and not fenced, else it waits or fails as Admit does.
func (r *Replica) SnapshotOf(ctx context.Context, ranges []BucketRange) (txn.Timestamp, error) {
	return r.Snapshot(ctx)
}

// ViewOf is View for who names the buckets that it will read: they can be read at T for as long as the view is open.
func (t *Tx) ViewOf(ctx context.Context, T txn.Timestamp, ranges []BucketRange) (*View, error) {
	return t.View(ctx, T)
}

// OwnedOnly has scans leave out buckets that are not the fragment's at the view's timestamp, instead of failing. Before the first read.
func (v *View) OwnedOnly() {}

// Arrival gives the number with which local index entries of a bucket are written now.
func (t *Tx) Arrival(bucket uint32) uint32 { return 0 }

// Arrival gives the number that the local index entries of a bucket have here, or a larger one: those with a smaller one are left from an earlier
// stay, and are not there.
func (v *View) Arrival(bucket uint32) uint32 { return 0 }

// Owned tells whether all that the transaction has staged, locked and (SERIALIZABLE) read here is still the fragment's; RowsMoved(err) if not. A
// fence does not matter, since it may be lifted.
func (t *Tx) Owned() error { return nil }

var errRowsMoved = pgerr.New(pgerr.SerializationFailure, "could not serialize access: rows that this transaction has changed have moved to another fragment").
	WithHint("Try the transaction again.")

// RowsMoved tells whether an error says that what a transaction has staged, locked or read has moved away since. Nothing of it was committed.
func RowsMoved(err error) bool { return errors.Is(err, errRowsMoved) }
