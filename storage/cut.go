package storage

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/raftgroup"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/storage/owned"
	"github.com/sherddb/sherd/storage/proposer"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/rule"
)

// Fence stops the ranges at the source and returns F. From its proposal on, it refuses locks,
// commits, prepares, checks and current timestamps for the ranges, and reads above F. It waits up
// to wait for transactions that are prepared in the ranges, and returns ErrUndecided or
// *PreparedError if one remains. If that one was there before the fence, nothing is fenced;
// otherwise the fence stands. A move that was fenced and unfenced may not be fenced again under the
// same number, but under a newer one, which need not be the target's.
func (r *Mover) Fence(
	ctx context.Context, move uint64, ranges []BucketRange, wait time.Duration,
) (F txn.Timestamp, err error) {
	F, ok := r.Owned.Load().FencedBy(move, ranges)
	if !ok {
		f, err := r.proposeFence(ctx, move, ranges, wait)
		if err == nil {
			F, err = f.await()
		}
		if Uncalm(err) {
			err = ErrUndecided
		}
		if err != nil {
			return 0, err
		}
	}
	return F, r.awaitResolved(ctx, ranges, wait)
}

// Cut is Fence and the last read of a move, from req.Since to F, in one: it reads while the fence
// is on its way into the log. What fn gets counts only if there is no error. F is the T of the
// result. Cut begins when nothing is prepared in the ranges; if that does not happen within twice
// the time, nothing is fenced (Uncalm).
func (r *Mover) Cut(
	ctx context.Context, req ReadRequest, wait time.Duration, fn func([]Version) error,
) (ReadResult, error) {
	if F, ok := r.Owned.Load().FencedBy(req.Move, req.Ranges); ok {
		if err := r.awaitResolved(ctx, req.Ranges, wait); err != nil {
			return ReadResult{}, err
		}
		req.Final, req.T = true, F
		return r.ReadVersions(ctx, req, fn)
	}
	f, err := r.proposeFence(ctx, req.Move, req.Ranges, wait)
	if err != nil {
		return ReadResult{}, err
	}
	res, rerr := r.readBelow(ctx, f, req, wait, fn)
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
	if F > res.T { // with two fences, F is the stamp of the one proposed first
		return ReadResult{}, ErrMoveVoid
	}
	res.T = F
	return res, nil
}

// readBelow reads up to the stamp of a proposed fence: once the log before the fence is applied,
// nothing can come below its stamp.
func (r *Mover) readBelow(
	ctx context.Context, f *fencing, req ReadRequest, wait time.Duration, fn func([]Version) error,
) (ReadResult, error) {
	if err := r.proposer.Applied.Wait(ctx, f.over, f.before); err != nil {
		return ReadResult{}, err
	}
	if err := r.awaitResolved(ctx, req.Ranges, wait); err != nil {
		return ReadResult{}, err
	}
	if !r.stopper.Begin() {
		return ReadResult{}, proposer.ErrNotLeader
	}
	defer r.stopper.End()
	return r.readVersions(ctx, req, r.Owned.Load().OrFirst(), f.F, fn)
}

// fencing is a fence that was proposed.
type fencing struct {
	r      *Mover
	move   uint64
	ranges []BucketRange
	p      raftgroup.Proposal
	F      txn.Timestamp
	before uint64          // the stamp of the last entry before it
	over   <-chan struct{} // its term
	term   uint64
}

func (r *Mover) proposeFence(
	ctx context.Context, move uint64, ranges []BucketRange, wait time.Duration,
) (*fencing, error) {
	switch {
	case !logentry.RangesInOrder(ranges):
		return nil, errRangeOrder()
	case r.proposer.Term() == 0:
		return nil, proposer.ErrNotLeader
	}
	term := r.proposer.Term()
	if err := r.knowGlobals(ctx); err != nil {
		return nil, err
	}
	open, err := r.awaitCalm(ctx, move, ranges, wait) // before the fence makes requests wait
	if err != nil {
		return nil, err
	}
	defer open()
	f := &fencing{r: r, move: move, ranges: ranges}
	e := logentry.Fence{Step: logentry.Step{Move: move, Ranges: ranges}}
	o := proposer.Entry{Body: e.Encode(), Stamped: func(F txn.Timestamp) {
		f.before, f.over, f.term = r.proposer.Last(), r.proposer.Over(), r.proposer.Term()
		if rule.MoveProposed {
			r.Owned.AddPending(owned.Pending{
				Change: owned.Change{Kind: logentry.KindFence, Move: move}, Ranges: ranges, F: F,
			})
		}
	}}
	if f.p, f.F, err = r.proposer.Propose(o); err != nil {
		return nil, err
	}
	r.cfg.Knobs.Fault("move.fencing")
	if f.term != term {
		_, err := f.await()
		return nil, errors.Join(proposer.ErrNotLeader, err)
	}
	return f, nil
}

// await waits until the fence is in the log, and returns its F.
func (f *fencing) await() (txn.Timestamp, error) {
	res, err := await(f.p)
	f.r.cfg.Knobs.Fault("move.fenced")
	if err != nil {
		return 0, errors.Join(err, f.r.forgetPending(owned.Change{Kind: logentry.KindFence, Move: f.move}))
	}
	if res == resVoid {
		return 0, ErrMoveVoid
	}
	if at, ok := f.r.Owned.Load().FencedBy(f.move, f.ranges); ok {
		return at, nil // the F of the first fence if there were two
	}
	return f.F, nil
}

// doubtAfter is how long a transaction has to be prepared until the gate is not closed for it,
// because its decision cannot be foreseen.
const doubtAfter = 10 * time.Second

// errUncalm means that there was no moment for a fence: nothing was fenced.
var errUncalm = pgerr.New(pgerr.LockNotAvailable, "transactions in the ranges are being prepared all the time")

// Uncalm reports whether Cut has fenced nothing, because transactions were prepared in the ranges
// all the time. It may be tried again with the same number and a longer time.
func Uncalm(err error) bool {
	return pgerr.Is(err, pgerr.LockNotAvailable) && pgerr.From(err).Message == errUncalm.Message
}

// awaitCalm waits for a moment at which nothing is prepared in ranges: first for the given time for
// one that comes by itself, then for the same time with the gate closed. The function that it
// returns opens the gate.
func (r *Mover) awaitCalm(
	ctx context.Context, move uint64, ranges []BucketRange, wait time.Duration,
) (open func(), err error) {
	open = func() {}
	if err = r.awaitResolved(ctx, ranges, wait); !errors.Is(err, ErrUndecided) {
		return open, err
	}
	if p, _, err := r.inTheWay(ranges, doubtAfter); p != nil || err != nil {
		return open, cmp.Or(err, error(errUncalm))
	}
	open, closed := r.Owned.CloseGate(move, ranges)
	if closed {
		r.cfg.Knobs.Fault("move.gated")
	}
	before, over := r.proposer.Position()
	err = r.proposer.Applied.Wait(ctx, over, before) // what had passed the gate is visible then
	if err == nil {
		err = r.awaitResolved(ctx, ranges, wait)
	}
	if err == nil {
		return open, nil
	}
	open()
	if errors.Is(err, ErrUndecided) {
		err = errUncalm
	}
	return func() {}, err
}
