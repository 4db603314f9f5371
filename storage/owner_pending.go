package storage

import (
	"slices"

	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/storage/ownership"
	"github.com/sherddb/sherd/txn"
)

// What a move changes is shown to readers and writers before the log has it, where that is right: a fence from its proposal on, since nobody may be promised
// anything above F then; that a range is owned from the proposal on, since whatever is proposed later comes behind it in the log; that it is gone as soon as the
// flip is known. A leader that is replaced takes nothing of it along: the log tells the next one.

// changeOf names a change that a move makes: that of a Fence, an Own or a MovedAway.
type changeOf struct {
	kind logentry.Kind
	move uint64
}

// pendingChange is a change between proposal and application.
type pendingChange struct {
	changeOf
	ranges []BucketRange
	F      txn.Timestamp // fence: its stamp; own: the source's
	since  txn.Timestamp // own
	edge   txn.Timestamp // own: its stamp
}

// show makes of a piece what it will be when the change is applied.
func (c *pendingChange) show(p *ownership.Piece) {
	switch {
	case c.kind == logentry.KindFence && p.State == Owned:
		p.State, p.F, p.Move = Fenced, c.F, c.move
	case c.kind == logentry.KindOwn && p.State == Receiving && p.Move == c.move:
		p.State, p.Since, p.F, p.Edge = Owned, c.since, c.F, c.edge
	case c.kind == logentry.KindMovedAway && p.State == Fenced && p.Move == c.move:
		p.State, p.Edge = Gone, txn.MaxTimestamp // counted until the entry is applied, which is above what was promised
	}
}

// addPending shows a change. That of an entry which is about to be enqueued is shown with pmu held: whoever has been promised something above its stamp has
// seen it.
func (r *Replica) addPending(c pendingChange) {
	r.omu.Lock()
	defer r.omu.Unlock()
	old := r.own.Load()
	next := &ownedBuckets{Map: ownership.Map{First: r.firstState()}, keep: txn.MaxTimestamp}
	if old != nil {
		next.applied, next.keep, next.pending = old.applied, old.keep, slices.Clone(old.pending)
	}
	next.pending = append(next.pending, c)
	r.replaceOwners(old, next)
}

// dropPending forgets what is proposed when a term begins or ends: the log will tell of what is in it.
func (r *Replica) dropPending() {
	r.omu.Lock()
	defer r.omu.Unlock()
	old := r.own.Load()
	if old == nil {
		return
	}
	r.replaceOwners(&ownedBuckets{changed: old.changed}, &ownedBuckets{Map: ownership.Map{First: old.First}, applied: old.applied, keep: old.keep})
}

// forgetPending has a change not be shown any more that got no answer, unless it is in the log; behind another entry of the term that is known.
func (r *Replica) forgetPending(c changeOf) error {
	if r.term.Load() == 0 {
		return nil // the next term begins without it
	}
	if _, _, err := r.run((&logentry.ReadLease{}).Encode(), 0); err != nil {
		return err
	}
	m := r.machine
	m.mu.Lock()
	defer m.mu.Unlock()
	r.publishOwners(&m.s.own, []changeOf{c})
	return nil
}
