package storage

import (
	"context"
	"errors"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/storage/owned"
	"github.com/sherddb/sherd/storage/ownership"
	"github.com/sherddb/sherd/storage/proposer"
	"github.com/sherddb/sherd/txn"
)

// Admit checks that a task may work on buckets here: with write, or without T, that they are owned
// and not fenced now; otherwise that they may be read at T, which then stays true for a view
// (ViewOf). It waits while they are fenced or received, 5 s at most (57P03), and returns
// *txn.MovedError if they are not here.
func (r *Replica) Admit(ctx context.Context, ranges []BucketRange, T txn.Timestamp, write bool) error {
	if r.proposer.Term() == 0 {
		return proposer.ErrNotLeader
	}
	if r.Owned.Load() == nil {
		return nil
	}
	if T != 0 {
		if _, err := r.admitRanges(ctx, ranges, T); err != nil || !write {
			return err
		}
	}
	_, err := r.Owned.Await(ctx, T, func(o *owned.Buckets) (ownership.Verdict, ownership.Piece) {
		return o.About(ranges, (*ownership.Piece).Write)
	})
	return err
}

// admitRanges makes T servable for ranges. The order matters: a fence that is proposed after T was
// promised is above it.
func (r *Replica) admitRanges(ctx context.Context, ranges []BucketRange, T txn.Timestamp) (*owned.Buckets, error) {
	if err := r.proposer.Admit(ctx, T); err != nil {
		return nil, err
	}
	return r.Owned.AwaitRead(ctx, T, ranges)
}

// SnapshotOf is Snapshot for a caller that names the buckets (T6): they are owned and not fenced,
// else it waits or fails as Admit does.
func (r *Replica) SnapshotOf(ctx context.Context, ranges []BucketRange) (txn.Timestamp, error) {
	if err := r.Admit(ctx, ranges, 0, false); err != nil {
		return 0, err
	}
	T, err := r.Snapshot(ctx)
	if o := r.Owned.Load(); o != nil && err == nil {
		for _, p := range o.Pieces(ranges...) {
			// The own entry is not applied yet (pendingChange.show): what the source has
			// acknowledged is at or below F.
			if p.State == Owned && p.F != 0 {
				T = max(T, p.F)
				continue
			}
			// an owned range is published a moment before its entry counts as applied
			T = max(T, p.Edge)
		}
	}
	return T, err
}

// ViewOf is View for a caller that names the buckets that it will read: they can be read at T as
// long as the view is open.
func (t *Tx) ViewOf(ctx context.Context, T txn.Timestamp, ranges []BucketRange) (*View, error) {
	own, err := t.r.admitRanges(ctx, ranges, T)
	if err != nil {
		return nil, err
	}
	return t.viewAt(ctx, T, own)
}

// MoveSize estimates the documents and bytes in ranges, from the statistics.
func (i *Inspector) MoveSize(ranges []BucketRange) (documents, bytes int64) {
	var docs, size float64
	for _, s := range i.BucketStats(0) {
		group := BucketRange{Lo: s.From, Hi: s.To}
		for _, m := range ranges {
			part := float64(group.Intersect(m).Len()) / float64(max(group.Len(), 1))
			docs += part * float64(s.Documents)
			size += part * float64(s.Bytes)
		}
	}
	return int64(docs + 0.5), int64(size + 0.5)
}

// publishOwners publishes which buckets the fragment owns according to the log. decided are the
// changes of moves that were proposed and are now in the log, or void.
func publishOwners(m *machine, decided []owned.Change) {
	s := &m.s.own
	keep := txn.MaxTimestamp
	for i := range s.receipts {
		keep = min(keep, s.receipts[i].since)
	}
	if m.r.Owned.Publish(&s.Machine, keep, decided) {
		m.r.db.Discard(0)
	}
}

// forgetPending stops publishing a change that got no answer, unless it is in the log. Another
// entry of the term shows whether it is.
func (r *Mover) forgetPending(c owned.Change) error {
	if r.proposer.Term() == 0 {
		return nil // the next term begins without it
	}
	if _, _, err := r.log.run((&logentry.ReadLease{}).Encode(), 0); err != nil {
		return err
	}
	m := r.machine
	m.mu.Lock()
	defer m.mu.Unlock()
	publishOwners(m, []owned.Change{c})
	return nil
}

// BucketRange is the half-open range of buckets [Lo, Hi).
type BucketRange = shardmap.Interval

// OwnState says what a bucket is to a fragment.
type OwnState = ownership.State

// The states; see package ownership.
const (
	NotOwned  = ownership.NotOwned
	Owned     = ownership.Owned
	Fenced    = ownership.Fenced
	Receiving = ownership.Receiving
	Gone      = ownership.Gone
)

// OwnedRange is what the log of a fragment says of neighbouring buckets (C1).
type OwnedRange = ownership.Range

var errRowsMoved = pgerr.New(pgerr.SerializationFailure,
	"could not serialize access: rows that this transaction has changed have moved to another fragment").
	WithHint("Try the transaction again.")

// RowsMoved reports whether an error means that what a transaction has buffered, locked or read has
// moved away since. Nothing of it was committed.
func RowsMoved(err error) bool { return errors.Is(err, errRowsMoved) }
