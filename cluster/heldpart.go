package cluster

import (
	"context"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
)

// heldPart is the part of a prepared transaction in one fragment, as a participant of COMMIT
// PREPARED. What is prepared is in the log, so it does not matter which node leads or whether the
// leader changes.
type heldPart struct {
	host     *Host
	fragment txn.FragmentID
	id       txn.ID
}

var _ txn.Participant = (*heldPart)(nil)

// do calls do with the prepared part.
func (p *heldPart) do(ctx context.Context, do func(heldStage) error) error {
	return p.host.ask(ctx, p.fragment, func(l leader) error {
		s, err := l.HeldStage(p.id)
		if err != nil {
			return err
		}
		return do(s)
	})
}

// find waits for the leader; an error means that the transaction cannot be committed now.
func (p *heldPart) find(ctx context.Context) error {
	return p.do(ctx, func(heldStage) error { return nil })
}

func (p *heldPart) detach() {
	l, err := p.host.leader(context.Background(), p.fragment)
	if err != nil {
		return
	}
	if s, err := l.HeldStage(p.id); err == nil {
		s.Detach()
	}
}

// Fragment implements txn.Participant.
func (p *heldPart) Fragment() txn.FragmentID { return p.fragment }

// HasWrites implements txn.Participant.
func (p *heldPart) HasWrites() bool { return true }

// HasPins implements txn.Participant.
func (p *heldPart) HasPins() bool { return true }

// HasReads implements txn.Participant.
func (p *heldPart) HasReads() bool { return false }

// Promised implements txn.Participant.
func (p *heldPart) Promised() txn.Timestamp { return 0 }

// Check implements txn.Participant.
func (p *heldPart) Check(context.Context, txn.Timestamp) error { return nil }

// once asks the present leader, and no other one if it does not answer.
func (p *heldPart) once(ctx context.Context, do func(heldStage) error) error {
	l, err := p.host.leader(ctx, p.fragment)
	if err != nil {
		return err
	}
	s, err := l.HeldStage(p.id)
	if err != nil {
		return err
	}
	return do(s)
}

// Commit implements txn.Participant. After an error except 40003, the transaction is prepared as
// before.
func (p *heldPart) Commit(ctx context.Context, req txn.CommitRequest) (txn.Timestamp, error) {
	commit := func(ctx context.Context) (C txn.Timestamp, err error) {
		err = p.once(ctx, func(s heldStage) (err error) {
			C, err = s.Commit(ctx, req)
			return err
		})
		return C, err
	}
	recall := func(ctx context.Context) (out txn.Outcome, C txn.Timestamp, err error) {
		err = p.host.ask(ctx, p.fragment, func(l leader) (err error) {
			out, C, err = l.Recall(ctx, p.id)
			return err
		})
		return out, C, err
	}
	return commitUntilAnswered(ctx, p.id, commit, recall)
}

// commitUntilAnswered commits the prepared transaction. If the answer is lost, it asks for the
// outcome. If the transaction is still prepared then, the unanswered request may still commit it a
// moment later: it is committed again, which takes effect once.
func commitUntilAnswered(
	ctx context.Context, id txn.ID,
	commit func(context.Context) (txn.Timestamp, error), recall func(context.Context) (txn.Outcome, txn.Timestamp, error),
) (txn.Timestamp, error) {
	C, cause := commit(ctx)
	if cause == nil || !cutOff(cause) && !moved(cause) {
		return C, cause
	}
	ctx, cancel := decisive(ctx)
	defer cancel()
	for pause := (patience{}); ; {
		out, C, err := recall(ctx)
		switch {
		case err != nil:
			return 0, txn.Unanswered(id, cause)
		case out == txn.Committed:
			return C, nil
		case out != txn.InProgress || !cutOff(cause):
			return 0, errNotCommitted()
		}
		if C, err = commit(ctx); err == nil {
			return C, nil
		}
		if pause.wait(ctx) != nil {
			return 0, txn.Unanswered(id, cause)
		}
	}
}

func errNotCommitted() error {
	return pgerr.New(pgerr.CannotConnectNow, "the prepared transaction was not committed, because the fragment's leader changed").
		WithHint("Try again.")
}

// Prepare implements txn.Participant.
func (p *heldPart) Prepare(ctx context.Context, req txn.PrepareRequest) error {
	err := p.once(ctx, func(s heldStage) error { return s.Prepare(ctx, req) })
	if err == nil || !cutOff(err) && !moved(err) {
		return err
	}
	ctx, cancel := decisive(ctx)
	defer cancel()
	yes := false
	err = p.host.ask(ctx, p.fragment, func(l leader) (err error) {
		yes, err = l.HasPrepared(ctx, p.id, req.C)
		return err
	})
	if err == nil && !yes {
		err = errNotCommitted()
	}
	return err
}

// Decide implements txn.Participant.
func (p *heldPart) Decide(ctx context.Context, d txn.Decision) (out txn.Outcome, err error) {
	ctx, cancel := decisive(ctx)
	defer cancel()
	err = p.do(ctx, func(s heldStage) (err error) {
		out, err = s.Decide(ctx, d)
		return err
	})
	return out, err
}

// Resolve implements txn.Participant.
func (p *heldPart) Resolve(ctx context.Context, d txn.Decision) error {
	return p.host.ask(ctx, p.fragment, func(l leader) error {
		if s, err := l.HeldStage(p.id); err == nil {
			return s.Resolve(ctx, d)
		}
		return l.Resolve(ctx, d)
	})
}

// Settle implements txn.Participant; the commit of a prepared transaction is never implicit.
func (p *heldPart) Settle(d txn.Decision, then func(txn.Outcome, error)) {
	go func() { then(d.Outcome, p.Resolve(context.Background(), d)) }()
}

// Forget implements txn.Participant.
func (p *heldPart) Forget(ctx context.Context, d txn.Decision) {
	_ = p.once(ctx, func(s heldStage) error { // what is not forgotten now is forgotten when it expires
		s.Forget(ctx, d)
		return nil
	})
}

// Rollback implements txn.Participant: only ROLLBACK PREPARED drops a prepared transaction.
func (p *heldPart) Rollback() {}
