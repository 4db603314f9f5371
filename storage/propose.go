package storage

import (
	"context"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/raftgroup"
	"github.com/sherddb/sherd/txn"
)

// raise lifts promised to t (T1, T2).
func (r *Replica) raise(t uint64) {
	for {
		p := r.promised.Load()
		if t <= p || r.promised.CompareAndSwap(p, t) {
			return
		}
	}
}

// propose stamps an encoded entry above everything promised and puts it into the log's queue, under one lock (T1). The term
// is that of the stage it comes from, 0 if it comes from none.
func (r *Replica) propose(b []byte, term uint64, above txn.Timestamp) (raftgroup.Proposal, txn.Timestamp, error) {
	r.pmu.Lock()
	defer r.pmu.Unlock()
	now := r.term.Load()
	if now == 0 {
		return raftgroup.Proposal{}, 0, errNoLeader
	}
	if term != 0 && term != now {
		return raftgroup.Proposal{}, 0, errStageLost
	}
	r.raise(uint64(above))
	var stamp uint64
	for {
		p := r.promised.Load()
		stamp = max(p+1, uint64(r.cfg.Clock.Now()))
		if r.promised.CompareAndSwap(p, stamp) {
			break
		}
	}
	r.cfg.Clock.Observe(txn.Timestamp(stamp))
	return r.enqueue(b, stamp), txn.Timestamp(stamp), nil
}

// proposeAt enqueues a prepare, whose stamp is its C; a C at or below promised is refused with *txn.LowError.
func (r *Replica) proposeAt(b []byte, term uint64, C txn.Timestamp) (raftgroup.Proposal, error) {
	r.pmu.Lock()
	defer r.pmu.Unlock()
	if now := r.term.Load(); now == 0 {
		return raftgroup.Proposal{}, errNoLeader
	} else if term != now {
		return raftgroup.Proposal{}, errStageLost
	}
	for {
		p := r.promised.Load()
		if uint64(C) <= p {
			return raftgroup.Proposal{}, &txn.LowError{Promised: txn.Timestamp(p)}
		}
		if r.promised.CompareAndSwap(p, uint64(C)) {
			break
		}
	}
	return r.enqueue(b, uint64(C)), nil
}

func (r *Replica) enqueue(b []byte, stamp uint64) raftgroup.Proposal {
	setStamp(b, txn.Timestamp(stamp))
	r.lastProposed = stamp
	r.fault("propose")
	return r.group.Propose(b)
}

// run proposes an entry that comes from no stage and waits until it is applied.
func (r *Replica) run(e *entry, above txn.Timestamp) (result, txn.Timestamp, error) {
	p, stamp, err := r.propose(e.encode(), 0, above)
	if err != nil {
		return 0, 0, err
	}
	res, err := await(p)
	return res, stamp, err
}

// await waits for a proposal to be applied. It takes no context: the log answers soon or not at all, and a caller that left
// would not know the outcome.
func await(p raftgroup.Proposal) (result, error) {
	resp, _, err := p.Done()
	if err != nil {
		return 0, err
	}
	res, ok := resp.(result)
	if !ok || res == resRejected {
		return 0, pgerr.New(pgerr.SerializationFailure, "the fragment's leader changed during the statement").WithHint("Try again.")
	}
	return res, nil
}

// admit makes T servable here: promised is raised to it (T2), the ceiling extended to it if need be (T4), and everything
// proposed at or below it is applied (T3).
func (r *Replica) admit(ctx context.Context, T txn.Timestamp) error {
	if uint64(T) <= r.applied.Load() {
		if r.term.Load() == 0 {
			return errNoLeader
		}
		return nil // promised is at least applied, and entries apply in the order of their stamps
	}
	if err := r.cfg.Clock.Check(T); err != nil {
		return err
	}
	if err := r.cover(T); err != nil {
		return err
	}
	r.pmu.Lock()
	if r.term.Load() == 0 {
		r.pmu.Unlock()
		return errNoLeader
	}
	r.raise(uint64(T))
	last := r.lastProposed
	r.pmu.Unlock()
	return r.waitApplied(ctx, min(last, uint64(T)))
}

// cover extends the ceiling to T: to max(T + 20 ms, wall clock + 3 s), so that flapping leaders do not run away (T4).
func (r *Replica) cover(T txn.Timestamp) error {
	if r.covered(T) {
		return nil
	}
	r.cmu.Lock()
	defer r.cmu.Unlock()
	if r.covered(T) {
		return nil
	}
	to := max(T.Add(ceilingStep), r.cfg.Clock.Wall().Add(ceilingLead))
	_, _, err := r.run(&entry{kind: kindCeiling, ts: to}, 0)
	return err
}

func (r *Replica) covered(T txn.Timestamp) bool {
	return uint64(T) <= max(r.ceiling.Load(), r.applied.Load())
}
