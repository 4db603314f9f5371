package storage

import (
	"context"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/raftgroup"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/rule"
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

// offer is an entry for the log's queue.
type offer struct {
	body  []byte
	term  uint64        // of the stage it comes from, 0 if it comes from none
	above txn.Timestamp // the stamp is above it …
	at    txn.Timestamp // … or exactly this, 0: the next; refused with *txn.LowError where that is promised away
	reads *validation   // nil: nothing to validate
	tx    *Tx           // what it has here must be owned and unfenced; nil: it needs nothing
	// stamped is called with the stamp of a fence, or of what ends a move, before the entry is enqueued; nil: nothing has to be done then.
	stamped func(txn.Timestamp)
}

// offer stamps an entry and puts it into the log's queue, under one lock (T1); reads are validated up to the stamp (T8).
func (r *Replica) offer(ctx context.Context, o offer) (raftgroup.Proposal, txn.Timestamp, error) {
	if o.reads != nil {
		return r.offerValidated(ctx, o)
	}
	for {
		own, err := o.tx.intactFor(ctx)
		if err != nil {
			return raftgroup.Proposal{}, 0, err
		}
		r.pmu.Lock()
		if o.tx == nil || r.own.Load() == own { // changes of ownership are shown under pmu
			defer r.pmu.Unlock()
			return r.stamp(o)
		}
		r.pmu.Unlock()
	}
}

// stamp is offer with pmu held.
func (r *Replica) stamp(o offer) (p raftgroup.Proposal, stamp txn.Timestamp, err error) {
	switch now := r.term.Load(); {
	case now == 0:
		return p, 0, errNoLeader
	case o.term != 0 && o.term != now && rule.StageTerm:
		return p, 0, errStageLost
	}
	if rule.T2Floor && uint64(o.above) > r.promised.Load() {
		// What has been promised is never taken back, and everything later is above it: a C that a coordinator picked while its clock had jumped, and wants aborted, would
		// lead this fragment away, and whoever hears of it.
		if err := r.cfg.Clock.Usable(o.above); err != nil {
			return p, 0, err
		}
		r.raise(uint64(o.above))
	}
	for {
		promised := r.promised.Load()
		next := max(promised+1, uint64(r.cfg.Clock.Now()))
		if o.at != 0 {
			if next = uint64(o.at); next <= promised {
				return p, 0, &txn.LowError{Promised: txn.Timestamp(promised)}
			}
		}
		sane := r.cfg.Clock.Sane()
		if sane == nil && next > promised+1 {
			sane = r.cfg.Clock.Check(txn.Timestamp(next)) // Usable: it is of the clock
		}
		if sane != nil {
			return p, 0, sane
		}
		if r.promised.CompareAndSwap(promised, next) {
			if o.at == 0 {
				r.cfg.Clock.Observe(txn.Timestamp(next))
			} // else its other fragments are to get it before their clocks are there
			if o.stamped != nil {
				o.stamped(txn.Timestamp(next))
			}
			return r.enqueue(o.body, next), txn.Timestamp(next), nil
		}
	}
}

func (r *Replica) enqueue(b []byte, stamp uint64) raftgroup.Proposal {
	logentry.SetStamp(b, txn.Timestamp(stamp))
	r.lastProposed = stamp
	r.inflight.add(stamp, b, r.applied.Load())
	r.fault("propose")
	if r.cfg.Transport == nil {
		return r.group.Propose(b)
	}
	return r.group.ProposeIn(r.term.Load(), b)
}

// run proposes an encoded entry that comes from no stage and waits until it is applied.
func (r *Replica) run(body []byte, above txn.Timestamp) (result, txn.Timestamp, error) {
	p, stamp, err := r.offer(context.Background(), offer{body: body, above: above})
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
	switch res, ok := resp.(result); {
	case res == resUnknown:
		return 0, errUnknownHere
	case !ok || res == resRejected:
		return 0, errTermEnded
	default:
		return res, nil
	}
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
	if rule.T4Ceiling {
		if err := r.cover(T); err != nil {
			return err
		}
	}
	r.pmu.Lock()
	if r.term.Load() == 0 {
		r.pmu.Unlock()
		return errNoLeader
	}
	if rule.T2Read {
		r.raise(uint64(T))
	}
	last, over := r.lastProposed, r.termOver()
	r.pmu.Unlock()
	if !rule.T3Proposed {
		return nil
	}
	return r.applied.wait(ctx, over, min(last, uint64(T)))
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
	wall := r.cfg.Clock.Wall()
	if err := r.cfg.Clock.Usable(wall); err != nil {
		return err
	}
	to := max(T.Add(ceilingStep), wall.Add(ceilingLead))
	_, _, err := r.run((&logentry.ReadLease{Until: to}).Encode(), 0)
	return err
}

func (r *Replica) covered(T txn.Timestamp) bool {
	return uint64(T) <= max(r.ceiling.Load(), r.applied.Load())
}

// errUnknownHere is the answer for an entry that is in the log and that a replica without room has not applied.
var errUnknownHere = pgerr.New(pgerr.StatementCompletionUnknown,
	"the fragment's replica was closed while its disk was full; the outcome is unknown")

var errTermEnded = pgerr.New(pgerr.SerializationFailure, "the fragment's leader changed during the statement").WithHint("Try again.")
