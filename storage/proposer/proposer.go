package proposer

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/raftgroup"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/rule"
)

// ErrNotLeader means that the replica does not lead its fragment: nothing was done.
var ErrNotLeader = pgerr.New(pgerr.CannotConnectNow, "the fragment has no leader at present").
	WithHint("Try again in a moment.")

// ErrTermOver means that an entry's write buffer was of an earlier term than the present one.
var ErrTermOver = pgerr.New(pgerr.SerializationFailure,
	"could not serialize access: the fragment's leader changed during the transaction").
	WithHint("Try the transaction again.")

// A lease is extended to T + leaseStep or to the wall clock + leaseLead, whichever is later, so
// that fragments whose leader changes often do not run ahead of the clock (T4).
const (
	leaseStep = 20 * time.Millisecond
	leaseLead = 3 * time.Second
)

// Config is what a Proposer depends on. All fields but Fault are required.
type Config struct {
	Clock *txn.Clock
	// puts a stamped entry into the log's queue
	Enqueue func(term uint64, body []byte) raftgroup.Proposal
	Extend  func(until txn.Timestamp) error // logs a new lease expiry and waits until it is applied
	Stop    <-chan struct{}                 // closed when the replica closes
	Fault   func(point string)              // for tests: called before an entry is enqueued
}

// Proposer stamps the entries of one fragment. All methods may be called concurrently.
type Proposer struct {
	// Applied is the largest stamp that is applied and visible.
	Applied Applied

	cfg      Config
	lowWater atomic.Uint64 // nothing is stamped at or below it any more (T1, T2); only rises
	lease    atomic.Uint64 // the last lease expiry that was applied (T4)
	leaseMu  sync.Mutex    // held while the lease is extended
	term     atomic.Uint64 // in which this replica leads and serves, 0 otherwise; changed under mu
	over     atomic.Pointer[chan struct{}]

	mu     sync.Mutex // held while a stamp is assigned and its entry enqueued (T1)
	last   uint64     // largest stamp enqueued; guarded by mu
	recent recent     // the newest proposals; guarded by mu
}

// New makes a Proposer that leads no term.
func New(c Config) *Proposer {
	if c.Fault == nil {
		c.Fault = func(string) {}
	}
	p := &Proposer{cfg: c}
	p.Applied.stop = c.Stop
	over := make(chan struct{})
	close(over)
	p.over.Store(&over)
	return p
}

// Entry is an encoded entry that is to be stamped.
type Entry struct {
	Body  []byte
	Term  uint64        // of the write buffer it comes from, 0 if it comes from none
	Above txn.Timestamp // the stamp is above it, and
	// exactly this if it is not 0; refused with *txn.LowError at or below the low-water timestamp
	At txn.Timestamp
	// Stamped is called with the stamp before the entry is enqueued, with the lock held; nil: it is
	// not called.
	Stamped func(txn.Timestamp)
}

// Lock keeps entries from being stamped and the term from changing until Unlock.
func (p *Proposer) Lock() { p.mu.Lock() }

// Unlock ends what Lock has begun.
func (p *Proposer) Unlock() { p.mu.Unlock() }

// Propose stamps an entry and puts it into the log's queue.
func (p *Proposer) Propose(e Entry) (_ raftgroup.Proposal, stamp txn.Timestamp, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.Stamp(e)
}

// Stamp assigns the stamp of an entry and puts the entry into the log's queue. Called with the lock
// held.
func (p *Proposer) Stamp(e Entry) (_ raftgroup.Proposal, stamp txn.Timestamp, err error) {
	switch now := p.term.Load(); {
	case now == 0:
		return raftgroup.Proposal{}, 0, ErrNotLeader
	case e.Term != 0 && e.Term != now && rule.BufferTerm:
		return raftgroup.Proposal{}, 0, ErrTermOver
	}
	if rule.T2Floor && uint64(e.Above) > p.lowWater.Load() {
		// The low-water timestamp is never lowered, and all later stamps are above it. A
		// coordinator whose clock had jumped, and which now aborts, must not lead this fragment and
		// its readers far ahead.
		if err := p.cfg.Clock.Usable(e.Above); err != nil {
			return raftgroup.Proposal{}, 0, err
		}
		p.Raise(e.Above)
	}
	for {
		low := p.lowWater.Load()
		next := max(low+1, uint64(p.cfg.Clock.Now()))
		if e.At != 0 {
			if next = uint64(e.At); next <= low {
				return raftgroup.Proposal{}, 0, &txn.LowError{LowWater: txn.Timestamp(low)}
			}
		}
		sane := p.cfg.Clock.Sane()
		if sane == nil && next > low+1 {
			sane = p.cfg.Clock.Check(txn.Timestamp(next)) // Usable: it is of the clock
		}
		if sane != nil {
			return raftgroup.Proposal{}, 0, sane
		}
		if p.lowWater.CompareAndSwap(low, next) {
			if e.At == 0 {
				p.cfg.Clock.Observe(txn.Timestamp(next))
			} // else its other fragments are to get it before their clocks are there
			if e.Stamped != nil {
				e.Stamped(txn.Timestamp(next))
			}
			return p.enqueue(e.Body, next), txn.Timestamp(next), nil
		}
	}
}

func (p *Proposer) enqueue(b []byte, stamp uint64) raftgroup.Proposal {
	logentry.SetStamp(b, txn.Timestamp(stamp))
	p.last = stamp
	p.recent.add(stamp, b, p.Applied.Load())
	p.cfg.Fault("propose")
	return p.cfg.Enqueue(p.term.Load(), b)
}

// Raise raises the low-water timestamp to T: nothing is stamped at or below it any more (T1, T2).
func (p *Proposer) Raise(T txn.Timestamp) {
	for {
		low := p.lowWater.Load()
		if uint64(T) <= low || p.lowWater.CompareAndSwap(low, uint64(T)) {
			return
		}
	}
}

// LowWater returns the low-water timestamp.
func (p *Proposer) LowWater() txn.Timestamp { return txn.Timestamp(p.lowWater.Load()) }

// Last returns the largest stamp enqueued. Called with the lock held.
func (p *Proposer) Last() uint64 { return p.last }

// Position returns the largest stamp enqueued, and a channel that is closed when the present term
// is over.
func (p *Proposer) Position() (last uint64, over <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last, p.Over()
}

// Term returns the term in which this replica leads and serves, 0 if it does not.
func (p *Proposer) Term() uint64 { return p.term.Load() }

// Over returns a channel that is closed when the present term is over; it is closed already if this
// replica does not lead.
func (p *Proposer) Over() <-chan struct{} { return *p.over.Load() }

// Prepare brings the timestamps to those with which a term begins (T4): the low-water timestamp is
// not below the lease. Called with the lock held, after an entry of the term has been applied.
func (p *Proposer) Prepare() {
	if p.Raise(txn.Timestamp(p.Applied.Load())); rule.T4ReadLease {
		p.Raise(txn.Timestamp(p.lease.Load()))
	}
	p.cfg.Clock.Observe(p.LowWater())
	p.last = p.Applied.Load()
	p.recent = recent{cut: p.last}
}

// Begin begins a term. Called with the lock held.
func (p *Proposer) Begin(term uint64) {
	if p.term.Load() != 0 {
		close(*p.over.Load())
	}
	over := make(chan struct{})
	p.over.Store(&over)
	p.term.Store(term)
}

// End ends the term, if there is one. Called with the lock held.
func (p *Proposer) End() {
	if p.term.Swap(0) != 0 {
		close(*p.over.Load())
	}
}

// Admit makes T readable here: the low-water timestamp is raised to it (T2), the lease is extended
// to it if necessary (T4), and everything proposed at or below it is applied (T3).
func (p *Proposer) Admit(ctx context.Context, T txn.Timestamp) error {
	if uint64(T) <= p.Applied.Load() {
		if p.term.Load() == 0 {
			return ErrNotLeader
		}
		// the low-water timestamp is at least applied, and entries apply in the order of their
		// stamps
		return nil
	}
	if err := p.cfg.Clock.Check(T); err != nil {
		return err
	}
	if rule.T4ReadLease {
		if err := p.Cover(T); err != nil {
			return err
		}
	}
	p.mu.Lock()
	if p.term.Load() == 0 {
		p.mu.Unlock()
		return ErrNotLeader
	}
	if rule.T2Read {
		p.Raise(T)
	}
	last, over := p.last, p.Over()
	p.mu.Unlock()
	if !rule.T3Proposed {
		return nil
	}
	return p.Applied.Wait(ctx, over, min(last, uint64(T)))
}

// Cover extends the read lease beyond T (T4).
func (p *Proposer) Cover(T txn.Timestamp) error {
	if p.covered(T) {
		return nil
	}
	p.leaseMu.Lock()
	defer p.leaseMu.Unlock()
	if p.covered(T) {
		return nil
	}
	wall := p.cfg.Clock.Wall()
	if err := p.cfg.Clock.Usable(wall); err != nil {
		return err
	}
	return p.cfg.Extend(max(T.Add(leaseStep), wall.Add(leaseLead)))
}

func (p *Proposer) covered(T txn.Timestamp) bool {
	return uint64(T) <= max(p.lease.Load(), p.Applied.Load())
}

// Publish records the stamp and the lease expiry of what was applied, and wakes those that wait for
// it.
func (p *Proposer) Publish(stamp, lease txn.Timestamp) {
	p.Applied.Store(uint64(stamp))
	p.lease.Store(uint64(lease))
	p.Raise(stamp)
	p.Applied.wake()
}

// NewestStamp returns a stamp at or above all that is committed here.
func (p *Proposer) NewestStamp() txn.Timestamp {
	return max(p.LowWater(), txn.Timestamp(p.Applied.Load()), p.cfg.Clock.Last())
}
