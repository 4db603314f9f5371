package storage

import (
	"context"
	"errors"

	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/storage/proposer"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/rule"
)

// Fragment implements txn.Participant.
func (t *Tx) Fragment() txn.FragmentID { return t.r.cfg.Fragment }

// Promised implements txn.Participant.
func (t *Tx) Promised() txn.Timestamp { return t.r.proposer.LowWater() }

// Commit implements txn.Participant: one log entry, or parts and one entry for a write set beyond 4
// MiB. The context is ignored once the entry is in the log's queue. Write buffer and locks are gone
// afterwards, whatever the result, except after *txn.LowError.
func (t *Tx) Commit(ctx context.Context, req txn.CommitRequest) (txn.Timestamp, error) {
	if t.isHeld() {
		return t.commitHeld(ctx, req)
	}
	err := t.r.cfg.Clock.Check(max(req.Floor, req.At))
	if err == nil {
		err = t.encodeStage()
	}
	if err != nil {
		t.abandon()
		return 0, err
	}
	e := logentry.Commit{ID: t.id, Parts: t.parts, Stats: t.delta}
	p, stamp, err := t.r.offer(ctx, offer{
		Entry: proposer.Entry{Body: e.EncodeInto(t.rest), Term: t.term, Above: req.Floor, At: req.At},
		reads: t.validation(), tx: t,
	})
	var low *txn.LowError
	if errors.As(err, &low) {
		t.setPhase(phaseOpen)
		return 0, err
	}
	defer t.end()
	if err != nil {
		t.dropParts()
		return 0, err
	}
	res, err := await(p)
	if err == nil && res == resVoid {
		err = proposer.ErrTermOver
	}
	return stamp, unanswered(err, t.id)
}

// abandon ends a transaction that has nothing in the log that counts.
func (t *Tx) abandon() {
	if !t.isPrepared() {
		t.end()
	}
}

// Check implements txn.Participant: the reads here are validated at C, and stay valid, because
// promised and the ceiling are at least C (T8).
func (t *Tx) Check(ctx context.Context, C txn.Timestamp) error {
	v := t.validation()
	if v == nil {
		return nil
	}
	if err := t.r.cfg.Clock.Check(C); err != nil {
		return err
	}
	if _, err := t.viewMark(); err != nil {
		return err // its locks are gone
	}
	if rule.T8Ceiling {
		if err := t.r.proposer.Cover(C); err != nil {
			return err
		}
	}
	if err := t.promise(ctx, C); err != nil {
		return err
	}
	v.check = true
	return v.advance(ctx, C)
}

// promise raises promised to C if what the transaction has read is owned and not fenced: a later
// fence is above C.
func (t *Tx) promise(ctx context.Context, C txn.Timestamp) error {
	for {
		own, err := t.intactFor(ctx)
		if err != nil {
			return err
		}
		t.r.proposer.Lock()
		led, same := t.r.proposer.Term() != 0, t.r.Owned.Load() == own
		if led && same && rule.T8Ceiling {
			t.r.proposer.Raise(C)
		}
		t.r.proposer.Unlock()
		switch {
		case !led:
			return proposer.ErrNotLeader
		case same:
			return nil
		}
	}
}

// enter reserves the write buffer for its commit or prepare.
func (t *Tx) enter() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.begin(); err != nil {
		return err
	}
	if err := t.mayWrite(); err != nil {
		return err
	}
	t.phase = phaseBusy
	return nil
}

// reenter is enter for another attempt. A transaction that was rolled back in between has no locks
// any more.
func (t *Tx) reenter() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch t.phase {
	case phaseOpen:
	case phaseDone:
		return t.usedAfterEnd()
	default:
		return nil // the transaction is still reserved
	}
	if err := t.mayWrite(); err != nil {
		return err
	}
	t.phase = phaseBusy
	return nil
}

// releaseSettled ends a transaction whose outcome the log has, whichever node proposed it.
func (r *Replica) releaseSettled(id txn.ID) {
	t := r.live.find(id)
	if t != nil {
		t.end()
	}
}
