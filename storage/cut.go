package storage

import (
	"context"
	"errors"
	"time"

	"github.com/sherddb/sherd/raftgroup"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/rule"
)

// Fence stops the ranges at the source: from its proposal on there is no lock, commit, prepare, check and no current timestamp for them, and no
// read above F, which it gives. What is prepared in the ranges is waited for, no longer than settle: ErrUnsettled, *HeldError; where one of these was
// there already nothing is fenced, and otherwise the fence stands. A move that was fenced and unfenced may not be fenced again by the same number,
// but by a newer one, which need not be that of the target's.
func (r *Replica) Fence(ctx context.Context, move uint64, ranges []BucketRange, settle time.Duration) (F txn.Timestamp, err error) {
	F, ok := r.fencedBy(move, ranges)
	if !ok {
		f, err := r.proposeFence(ctx, move, ranges, settle)
		if err == nil {
			F, err = f.await()
		}
		if Uncalm(err) {
			err = ErrUnsettled
		}
		if err != nil {
			return 0, err
		}
	}
	return F, r.settled(ctx, ranges, settle)
}

// Cut is Fence and the last read of a move, that of what came between req.Since and F, in one: it reads while the fence is on its way into the log. What fn
// is given counts only if there is no error. F is the T of the result. It begins when nothing is prepared in the ranges; where that does not come to pass for twice
// the time nothing is fenced (Uncalm).
func (r *Replica) Cut(ctx context.Context, req ReadRequest, settle time.Duration, fn func([]Version) error) (ReadResult, error) {
	if F, ok := r.fencedBy(req.Move, req.Ranges); ok {
		if err := r.settled(ctx, req.Ranges, settle); err != nil {
			return ReadResult{}, err
		}
		req.Final, req.T = true, F
		return r.ReadVersions(ctx, req, fn)
	}
	f, err := r.proposeFence(ctx, req.Move, req.Ranges, settle)
	if err != nil {
		return ReadResult{}, err
	}
	res, rerr := r.readBelow(ctx, f, req, settle, fn)
	F, err := f.await()
	if !rule.MoveRead {
		return res, rerr
	}
	if err != nil {
		return ReadResult{}, err
	}
	if rerr != nil {
		return ReadResult{}, rerr
	}
	if F > res.T { // its own is the first to be proposed where there are two
		return ReadResult{}, ErrMoveVoid
	}
	res.T = F
	return res, nil
}

// readBelow reads up to the stamp of a fence that was proposed: what is before it in the log is applied, and then nothing can come below its stamp.
func (r *Replica) readBelow(ctx context.Context, f *fencing, req ReadRequest, settle time.Duration, fn func([]Version) error) (ReadResult, error) {
	if err := r.applied.wait(ctx, f.over, f.before); err != nil {
		return ReadResult{}, err
	}
	if err := r.settled(ctx, req.Ranges, settle); err != nil {
		return ReadResult{}, err
	}
	if !r.beginReading() {
		return ReadResult{}, errNoLeader
	}
	defer r.done.Done()
	return r.readVersions(ctx, req, r.own.Load().orFirst(), f.F, fn)
}

// fencing is a fence that was proposed.
type fencing struct {
	r      *Replica
	move   uint64
	ranges []BucketRange
	p      raftgroup.Proposal
	F      txn.Timestamp
	before uint64          // the stamp of the last entry before it
	over   <-chan struct{} // its term
	term   uint64
}

func (r *Replica) proposeFence(ctx context.Context, move uint64, ranges []BucketRange, settle time.Duration) (*fencing, error) {
	switch {
	case !logentry.RangesInOrder(ranges):
		return nil, errRangeOrder()
	case r.term.Load() == 0:
		return nil, errNoLeader
	}
	term := r.term.Load()
	if err := r.knowGlobals(ctx); err != nil {
		return nil, err
	}
	open, err := r.calm(ctx, move, ranges, settle) // better now than with everybody waiting
	if err != nil {
		return nil, err
	}
	defer open()
	f := &fencing{r: r, move: move, ranges: ranges}
	e := logentry.Fence{Step: logentry.Step{Move: move, Ranges: ranges}}
	o := offer{body: e.Encode(), stamped: func(F txn.Timestamp) {
		f.before, f.over, f.term = r.lastProposed, r.termOver(), r.term.Load()
		if rule.MoveProposed {
			r.addPending(pendingChange{changeOf: changeOf{logentry.KindFence, move}, ranges: ranges, F: F})
		}
	}}
	if f.p, f.F, err = r.offer(ctx, o); err != nil {
		return nil, err
	}
	r.fault("move.fencing")
	if f.term != term {
		_, err := f.await()
		return nil, errors.Join(errNoLeader, err)
	}
	return f, nil
}

// await waits until the fence is in the log, and gives its F.
func (f *fencing) await() (txn.Timestamp, error) {
	res, err := await(f.p)
	f.r.fault("move.fenced")
	if err != nil {
		return 0, errors.Join(err, f.r.forgetPending(changeOf{logentry.KindFence, f.move}))
	}
	if res == resVoid {
		return 0, ErrMoveVoid
	}
	if at, ok := f.r.fencedBy(f.move, f.ranges); ok {
		return at, nil // of the first, where it was doubled
	}
	return f.F, nil
}

// fencedBy gives the F of a fence that is applied.
func (r *Replica) fencedBy(move uint64, ranges []BucketRange) (F txn.Timestamp, ok bool) {
	o := r.own.Load()
	if o == nil {
		return 0, false
	}
	now := o.logged().Pieces(ranges...)
	for _, p := range now {
		if p.State != Fenced || p.Move != move {
			return 0, false
		}
		F = p.F
	}
	return F, len(now) > 0
}
