package proposer

import (
	"context"
	"sync"
	"time"

	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/rule"
)

// Closed is a fact about the fragment's log: what is committed has no stamp above Last and at or
// below T, and never will have. It stays true under any leader, and whenever it arrives.
type Closed struct{ T, Last txn.Timestamp }

// CloseLag is how far behind its clock a leader closes timestamps that were not asked for: what is
// being committed now should not be refused because of it.
const CloseLag = 500 * time.Millisecond

// Close closes T, or more, at the leader (T9): the low-water timestamp is raised to it, so that
// nothing is stamped at or below it any more, and the replicated lease covers it, so that no later
// leader does so either. That needs no confirmed leadership: a leader that has been replaced
// without knowing it knows a lease above which its successors begin, and what it has in its own
// queue is at or below Last.
func (p *Proposer) Close(ctx context.Context, T txn.Timestamp) (Closed, error) {
	if err := p.cfg.Clock.Check(T); err != nil {
		return Closed{}, err
	}
	if p.cfg.Clock.Sane() == nil {
		T = max(T, p.cfg.Clock.Wall().Add(-CloseLag))
	}
	if rule.T9ReadLease && uint64(T) > p.Applied.Load() {
		if err := p.Cover(T); err != nil {
			return Closed{}, err
		}
	}
	if err := ctx.Err(); err != nil {
		return Closed{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.term.Load() == 0 {
		return Closed{}, ErrNotLeader
	}
	if rule.T9LowWater {
		p.Raise(T)
	}
	return Closed{T, txn.Timestamp(p.last)}, nil
}

// Learned has the closed timestamps that a replica was told of, above what it has applied. The zero
// value has none.
type Learned struct {
	mu    sync.Mutex
	upTo  txn.Timestamp // all at or below it has been applied here; guarded by mu
	ahead Closed        // its Last has not been applied; guarded by mu
}

// Learn adds what a leader has closed. applied is the largest stamp applied here.
func (l *Learned) Learn(c Closed, applied txn.Timestamp) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.advance(applied)
	switch {
	case c.Last <= applied || !rule.T9Applied:
		l.upTo = max(l.upTo, c.T)
	case c.T > l.ahead.T:
		l.ahead = c
	}
}

// advance counts what was ahead, once it has been applied. Called with mu held.
func (l *Learned) advance(applied txn.Timestamp) {
	if l.ahead.Last <= applied {
		l.upTo = max(l.upTo, l.ahead.T)
	}
}

// UpTo returns the largest timestamp at which a replica can be read that has applied so much.
// Stamps rise along the log (T1), a commit's version is its stamp, and a prepare's C is, so what
// was applied last is closed by itself.
func (l *Learned) UpTo(applied txn.Timestamp) txn.Timestamp {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.advance(applied)
	return max(applied, l.upTo)
}

// Closing reports whether T will be closed here once everything that a leader had proposed before
// it closed T has been applied.
func (l *Learned) Closing(T, applied txn.Timestamp) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ahead.Last > applied && T <= l.ahead.T
}
