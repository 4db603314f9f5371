package storage

import (
	"context"
	"slices"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage/ownership"
	"github.com/sherddb/sherd/txn"
)

// ownedBuckets is what readers and writers look at: what the log says, and what is proposed and not
// yet applied (owner_pending.go). It is immutable; a change replaces it (Replica.own). It is nil if
// nothing ever moved, and costs nothing then.
type ownedBuckets struct {
	ownership.Map // applied, with the proposed changes
	applied       ownership.List
	pending       []pendingChange
	fenced        map[uint64]time.Time // since when a move has fenced something, as far as this process knows
	// Versions above it are not discarded, because a late batch must not bring back what a deletion
	// has covered.
	keep    txn.Timestamp
	changed chan struct{} // closed when another has replaced it
}

// logged returns what the log says, without the proposed changes.
func (o *ownedBuckets) logged() *ownership.Map {
	return &ownership.Map{First: o.First, List: o.applied}
}

// orFirst returns an ownership also for callers that may have found none, because nothing had
// moved.
func (o *ownedBuckets) orFirst() *ownedBuckets {
	if o == nil {
		return &ownedBuckets{Map: ownership.Map{First: Owned}}
	}
	return o
}

// longestWait bounds the wait for a move to flip or to be undone.
const longestWait = 5 * time.Second

func errMoving() error {
	return pgerr.New(pgerr.CannotConnectNow, "rows are being moved to another fragment").WithHint("Try again in a moment.")
}

// awaitOwned waits while say returns wait. If say returns here, awaitOwned returns the ownership
// with that verdict, or nil if nothing ever moved. Other verdicts are errors.
func (r *Replica) awaitOwned(ctx context.Context, T txn.Timestamp, say func(*ownedBuckets) (ownership.Verdict, ownership.Piece)) (*ownedBuckets, error) {
	var timeout <-chan time.Time
	for began := r.term.Load(); ; {
		o := r.own.Load()
		if o == nil {
			return nil, nil
		}
		switch v, p := say(o); v {
		case ownership.Here:
			return o, nil
		case ownership.Elsewhere:
			return nil, &txn.MovedError{Fragment: r.cfg.Fragment, Move: p.Move}
		case ownership.TooOld:
			return nil, errTooOld(T)
		}
		if timeout == nil {
			timer := time.NewTimer(longestWait)
			defer timer.Stop()
			timeout = timer.C
		}
		select {
		case <-o.changed:
		case <-timeout:
			return nil, errMoving()
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-r.stop:
			return nil, errNoLeader
		}
		if began != 0 && r.term.Load() != began {
			return nil, errNoLeader // the log continues under another leader
		}
	}
}

// publishOwners publishes what the log says now. decided are the changes of moves that were
// proposed and are in the log, or void.
func (r *Replica) publishOwners(s *ownState, decided []changeOf) {
	r.omu.Lock()
	defer r.omu.Unlock()
	old := r.own.Load()
	if old == nil && !s.Moved() && !r.cfg.Added {
		return
	}
	next := &ownedBuckets{Map: ownership.Map{First: r.firstState()}, applied: s.List, keep: txn.MaxTimestamp}
	for i := range s.receipts {
		next.keep = min(next.keep, s.receipts[i].since)
	}
	if old != nil {
		for _, p := range old.pending {
			if !slices.Contains(decided, p.changeOf) {
				next.pending = append(next.pending, p)
			}
		}
	}
	r.replaceOwners(old, next)
	r.db.Discard(0)
}

// replaceOwners is called with omu held.
func (r *Replica) replaceOwners(old, next *ownedBuckets) {
	next.List = next.applied
	for _, c := range next.pending {
		now := next.Pieces(c.ranges...)
		for i := range now {
			c.show(&now[i])
		}
		next.List = next.List.With(now)
	}
	next.fenced = map[uint64]time.Time{}
	for _, p := range next.List {
		if p.State != Fenced {
			continue
		}
		next.fenced[p.Move] = r.gatedSince(p.Move)
		if old != nil {
			if t, ok := old.fenced[p.Move]; ok {
				next.fenced[p.Move] = t
			}
		}
	}
	next.changed = make(chan struct{})
	r.own.Store(next)
	if old != nil {
		close(old.changed)
	}
}

// Ownership lists the ranges that have been moved, or are being moved, in or out. All others are
// owned at generation 0, or not owned at all if the fragment was added to its database
// (Config.Added).
func (r *Replica) Ownership() (out []OwnedRange) {
	o := r.own.Load()
	if o == nil {
		return nil
	}
	for _, p := range o.List {
		out = append(out, p.Range)
	}
	return out
}

// Fenced lists the fences that stand here, so that the caller can have those that are too old
// declared aborted.
func (r *Replica) Fenced() (out []FencedMove) {
	o := r.own.Load()
	if o == nil {
		return nil
	}
	for _, p := range o.List {
		if p.State != Fenced {
			continue
		}
		i := slices.IndexFunc(out, func(f FencedMove) bool { return f.Move == p.Move })
		if i < 0 {
			out = append(out, FencedMove{Move: p.Move, Since: o.fenced[p.Move]})
			i = len(out) - 1
		}
		out[i].Ranges = append(out[i].Ranges, p.BucketRange)
	}
	return out
}

// Admit checks that a task may work on buckets here: with write, or without T, that they are owned
// and not fenced now; otherwise that they may be read at T, which then stays true for a view
// (ViewOf). It waits while they are fenced or received, 5 s at most (57P03), and returns
// *txn.MovedError if they are not here.
func (r *Replica) Admit(ctx context.Context, ranges []BucketRange, T txn.Timestamp, write bool) error {
	if r.term.Load() == 0 {
		return errNoLeader
	}
	if r.own.Load() == nil {
		return nil
	}
	if T != 0 {
		if _, err := r.admitRanges(ctx, ranges, T); err != nil || !write {
			return err
		}
	}
	_, err := r.awaitOwned(ctx, T, func(o *ownedBuckets) (ownership.Verdict, ownership.Piece) {
		return o.About(ranges, (*ownership.Piece).Write)
	})
	return err
}

// admitRanges makes T servable for ranges. The order matters: a fence that is proposed after T was
// promised is above it.
func (r *Replica) admitRanges(ctx context.Context, ranges []BucketRange, T txn.Timestamp) (*ownedBuckets, error) {
	if err := r.admit(ctx, T); err != nil {
		return nil, err
	}
	return r.awaitOwned(ctx, T, func(o *ownedBuckets) (ownership.Verdict, ownership.Piece) {
		return o.About(ranges, func(p *ownership.Piece) ownership.Verdict { return p.Read(T) })
	})
}

// SnapshotOf is Snapshot for a caller that names the buckets (T6): they are owned and not fenced,
// else it waits or fails as Admit does.
func (r *Replica) SnapshotOf(ctx context.Context, ranges []BucketRange) (txn.Timestamp, error) {
	if err := r.Admit(ctx, ranges, 0, false); err != nil {
		return 0, err
	}
	T, err := r.Snapshot(ctx)
	if o := r.own.Load(); o != nil && err == nil {
		for _, p := range o.Pieces(ranges...) {
			// The own entry is not applied yet (pendingChange.show): what the source has
			// acknowledged is at or below F.
			if p.State == Owned && p.F != 0 {
				T = max(T, p.F)
				continue
			}
			T = max(T, p.Edge) // an owned range is published a moment before its entry counts as applied
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
func (r *Replica) MoveSize(ranges []BucketRange) (documents, bytes int64) {
	var docs, size float64
	for _, s := range r.BucketStats(0) {
		group := BucketRange{Lo: s.From, Hi: s.To}
		for _, m := range ranges {
			part := float64(group.Intersect(m).Len()) / float64(max(group.Len(), 1))
			docs += part * float64(s.Documents)
			size += part * float64(s.Bytes)
		}
	}
	return int64(docs + 0.5), int64(size + 0.5)
}
