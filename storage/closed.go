package storage

import (
	"context"
	"sync"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage/ownership"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/rule"
)

// Closed is a fact about the fragment's log: what is committed has no stamp above Last and at or below T, and never will have. It stays true whoever
// leads, and whenever it arrives.
type Closed struct{ T, Last txn.Timestamp }

// closings are what a replica has been told.
type closings struct {
	mu    sync.Mutex
	upTo  txn.Timestamp // all at or below it has been applied here; guarded by mu
	ahead Closed        // of which Last has not; guarded by mu
}

// closeLag is how far behind its clock a leader closes unasked: what is being committed now should not be refused for it.
const closeLag = 500 * time.Millisecond

// CloseAt closes T, or more, at the leader (T9): promised is raised to it, so that nothing is stamped at or below it any more, and the replicated
// ceiling covers it, so that no later leader does so either. That needs no confirmed leadership: a leader that has been replaced without knowing it
// knows a ceiling that its successors begin above, and what it has in its own queue is at or below Last.
func (r *Replica) CloseAt(ctx context.Context, T txn.Timestamp) (Closed, error) {
	if err := r.cfg.Clock.Check(T); err != nil {
		return Closed{}, err
	}
	if r.cfg.Clock.Sane() == nil {
		T = max(T, r.cfg.Clock.Wall().Add(-closeLag))
	}
	if rule.T9Ceiling && uint64(T) > r.applied.Load() {
		if err := r.cover(T); err != nil {
			return Closed{}, err
		}
	}
	if err := ctx.Err(); err != nil {
		return Closed{}, err
	}
	r.pmu.Lock()
	defer r.pmu.Unlock()
	if r.term.Load() == 0 {
		return Closed{}, errNoLeader
	}
	if rule.T9Promised {
		r.raise(uint64(T))
	}
	return Closed{T, txn.Timestamp(r.lastProposed)}, nil
}

// LearnClosed takes what a leader has said.
func (r *Replica) LearnClosed(c Closed) {
	applied := txn.Timestamp(r.applied.Load())
	r.closed.mu.Lock()
	defer r.closed.mu.Unlock()
	r.closed.take(applied)
	switch {
	case c.Last <= applied || !rule.T9Applied:
		r.closed.upTo = max(r.closed.upTo, c.T)
	case c.T > r.closed.ahead.T:
		r.closed.ahead = c
	}
}

// take counts what lies ahead where it has been applied. Called with mu held.
func (c *closings) take(applied txn.Timestamp) {
	if c.ahead.Last <= applied {
		c.upTo = max(c.upTo, c.ahead.T)
	}
}

// Servable gives the largest timestamp at which this replica can be read, whether it leads or not: all at or below it has been applied, and nothing
// will ever be stamped there. Stamps rise along the log (T1), a commit's version is its stamp, and a prepare's C is: so what was applied last is
// closed by itself. Undecided and installing transactions are for the reader to wait for (T3). 0: it cannot be read at present.
func (r *Replica) Servable() txn.Timestamp {
	if r.db.Torn() {
		return 0
	}
	applied := txn.Timestamp(r.applied.Load())
	r.closed.mu.Lock()
	defer r.closed.mu.Unlock()
	r.closed.take(applied)
	return max(applied, r.closed.upTo)
}

// Closing reports whether T will be closed here when what a leader had proposed before it closed T has been applied.
func (r *Replica) Closing(T txn.Timestamp) bool {
	applied := txn.Timestamp(r.applied.Load())
	r.closed.mu.Lock()
	defer r.closed.mu.Unlock()
	return r.closed.ahead.Last > applied && T <= r.closed.ahead.T
}

// NotClosed tells whether an error says that a replica cannot serve a timestamp (yet). Nothing was read.
func NotClosed(err error) bool { return err == errNotClosed }

var errNotClosed = pgerr.New(pgerr.CannotConnectNow, "the replica does not have everything up to the time to be read").WithHint("Try again in a moment.")

// ClosedView opens a view at T, which is closed, whether the replica leads or not. id is the reader's, ranges are those that it reads: as far as the
// replica knows they can be read at T, else it waits or fails as Admit does. A scan of a local index does not find out by itself: what an earlier stay of a
// bucket has left looks like what there is where the replica has not heard that it came back.
func (r *Replica) ClosedView(ctx context.Context, id txn.ID, T txn.Timestamp, ranges []BucketRange) (*View, error) {
	restores := r.db.Replacements()
	if servable := r.Servable(); servable == 0 || T > servable && rule.T9Closed {
		return nil, errNotClosed
	}
	// After T was found to be closed: an entry about buckets that is not in it is stamped above T.
	own, err := r.awaitOwned(ctx, T, func(o *ownedBuckets) (ownership.Verdict, ownership.Piece) {
		return o.About(ranges, func(p *ownership.Piece) ownership.Verdict { return p.Read(T) })
	})
	if err != nil {
		return nil, err
	}
	v := &View{r: r, t: newTx(r, id), T: T, own: own, b: r.db.At(T), restores: restores}
	v.over = r.termOver() // of a leader's; a follower waits a little for what is undecided
	if err := v.kept(nil); err != nil {
		v.Close()
		return nil, err
	}
	return v, nil
}
