package storage

import (
	"context"
	"errors"

	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/storage/proposer"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/rule"
)

// Committer brings a transaction into the log, and out of it: commit, prepare, decision,
// resolution, PREPARE TRANSACTION. It has what the log got so far. One goroutine uses it.
type Committer struct {
	t           *Tx
	parts       int  // part entries in the log
	implicit    bool // implicit commit: it is committed once all writers have prepared
	coordinator txn.FragmentID
	withPins    bool   // it is being prepared: pinned locks go into the log with the writes
	encoded     bool   // rest and delta are what a prepare entry contains
	rest        []byte // the last piece, which goes into the prepare or commit entry itself
	delta       []byte // statistics
}

// Fragment implements txn.Participant.
func (t *Tx) Fragment() txn.FragmentID { return t.r.cfg.Fragment }

// LowWater implements txn.Participant.
func (c *Committer) LowWater() txn.Timestamp { return c.t.r.proposer.LowWater() }

// Commit implements txn.Participant: one log entry, or parts and one entry for a write set beyond 4
// MiB. The context is ignored once the entry is in the log's queue. Write buffer and locks are gone
// afterwards, whatever the result, except after *txn.LowError.
func (c *Committer) Commit(ctx context.Context, req txn.CommitRequest) (txn.Timestamp, error) {
	if c.t.isByName() {
		return c.commitPrepared(ctx, req)
	}
	err := c.t.r.cfg.Clock.Check(max(req.Floor, req.At))
	if err == nil {
		err = c.encodeBuffer()
	}
	if err != nil {
		c.abandon()
		return 0, err
	}
	e := logentry.Commit{ID: c.t.id, Parts: c.parts, Stats: c.delta}
	p, stamp, err := c.t.r.offer(ctx, offer{
		Entry: proposer.Entry{Body: e.EncodeInto(c.rest), Term: c.t.term, Above: req.Floor, At: req.At},
		reads: c.validation(), tx: c.t,
	})
	var low *txn.LowError
	if errors.As(err, &low) {
		c.t.setPhase(phaseOpen)
		return 0, err
	}
	defer c.t.end()
	if err != nil {
		c.dropParts()
		return 0, err
	}
	res, err := await(p)
	if err == nil && res == resVoid {
		err = proposer.ErrTermOver
	}
	return stamp, unanswered(err, c.t.id)
}

// abandon ends a transaction that has nothing in the log that counts.
func (c *Committer) abandon() {
	if !c.t.isPrepared() {
		c.t.end()
	}
}

// Check implements txn.Participant: the reads here are validated at C, and stay valid, because
// the low-water timestamp and the read lease are at least C (T8).
func (c *Committer) Check(ctx context.Context, C txn.Timestamp) error {
	v := c.validation()
	if v == nil {
		return nil
	}
	if err := c.t.r.cfg.Clock.Check(C); err != nil {
		return err
	}
	if _, err := c.t.viewMark(); err != nil {
		return err // its locks are gone
	}
	if rule.T8ReadLease {
		if err := c.t.r.proposer.Cover(C); err != nil {
			return err
		}
	}
	if err := c.raiseLowWater(ctx, C); err != nil {
		return err
	}
	v.check = true
	return v.advance(ctx, C)
}

// raiseLowWater raises the low-water timestamp to C if what the transaction has read is owned and
// not fenced: a later fence is above C.
func (c *Committer) raiseLowWater(ctx context.Context, C txn.Timestamp) error {
	for {
		own, err := c.t.awaitIntact(ctx)
		if err != nil {
			return err
		}
		c.t.r.proposer.Lock()
		led, same := c.t.r.proposer.Term() != 0, c.t.r.Owned.Load() == own
		if led && same && rule.T8ReadLease {
			c.t.r.proposer.Raise(C)
		}
		c.t.r.proposer.Unlock()
		switch {
		case !led:
			return proposer.ErrNotLeader
		case same:
			return nil
		}
	}
}

// enter reserves the write buffer for its commit or prepare.
func (c *Committer) enter() error {
	c.t.mu.Lock()
	defer c.t.mu.Unlock()
	if err := c.t.begin(); err != nil {
		return err
	}
	if err := c.t.mayWrite(); err != nil {
		return err
	}
	c.t.phase = phaseBusy
	return nil
}

// reenter is enter for another attempt. A transaction that was rolled back in between has no locks
// any more.
func (c *Committer) reenter() error {
	c.t.mu.Lock()
	defer c.t.mu.Unlock()
	switch c.t.phase {
	case phaseOpen:
	case phaseDone:
		return usedAfterEnd(c.t.id)
	default:
		return nil // the transaction is still reserved
	}
	if err := c.t.mayWrite(); err != nil {
		return err
	}
	c.t.phase = phaseBusy
	return nil
}

// releaseResolved ends a transaction whose outcome the log has, whichever node proposed it.
func (r *Replica) releaseResolved(id txn.ID) {
	t := r.live.find(id)
	if t != nil {
		t.end()
	}
}
