package kv

import (
	"context"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
)

// preparedPart is the part of a prepared transaction in one fragment, as a participant of COMMIT
// PREPARED. What is prepared is in the log, so it does not matter which node leads or whether the
// leader changes.
type preparedPart struct {
	client   *Client
	fragment txn.FragmentID
	id       txn.ID
}

var _ txn.Participant = (*preparedPart)(nil)

// about makes a request about the prepared part.
func (p *preparedPart) about(r *pb.Request) *pb.Request {
	r.Fragment, r.Transaction = uint32(p.fragment), p.id[:]
	return r
}

// find waits for a leader that is ready; an error means that the transaction cannot be committed
// now.
func (p *preparedPart) find(ctx context.Context) error {
	r := &pb.Request{Op: &pb.Request_FindPrepared{FindPrepared: &pb.FindPreparedRequest{}}}
	_, err := p.client.Send(ctx, p.about(r))
	return err
}

func (p *preparedPart) detach() {
	detach := &pb.Request{Op: &pb.Request_DetachPrepared{DetachPrepared: &pb.DetachPreparedRequest{}}}
	_, _ = p.once(context.Background(), detach) // the log asks by itself in time
}

// Fragment implements txn.Participant.
func (p *preparedPart) Fragment() txn.FragmentID { return p.fragment }

// HasWrites implements txn.Participant.
func (p *preparedPart) HasWrites() bool { return true }

// HasPins implements txn.Participant.
func (p *preparedPart) HasPins() bool { return true }

// HasReads implements txn.Participant.
func (p *preparedPart) HasReads() bool { return false }

// LowWater implements txn.Participant.
func (p *preparedPart) LowWater() txn.Timestamp { return 0 }

// Check implements txn.Participant.
func (p *preparedPart) Check(context.Context, txn.Timestamp) error { return nil }

// once asks the present leader, and no other one if it does not answer.
func (p *preparedPart) once(ctx context.Context, r *pb.Request) (*pb.Response, error) {
	s, err := p.client.Find(ctx, p.fragment)
	if err != nil {
		return nil, err
	}
	return s.Send(ctx, p.about(r))
}

// Commit implements txn.Participant. After an error except 40003, the transaction is prepared as
// before.
func (p *preparedPart) Commit(ctx context.Context, req txn.CommitRequest) (txn.Timestamp, error) {
	commit := func(ctx context.Context) (C txn.Timestamp, err error) {
		a, err := p.once(ctx, &pb.Request{Op: &pb.Request_Commit{
			Commit: &pb.CommitRequest{Floor: uint64(req.Floor), At: uint64(req.At), Prepared: true},
		}})
		return txn.Timestamp(a.GetCommitted()), err
	}
	query := func(ctx context.Context) (out txn.Outcome, C txn.Timestamp, err error) {
		err = p.client.Ask(ctx, p.fragment, func(s Sender) (err error) {
			out, C, err = QueryOutcome(ctx, s, p.fragment, p.id)
			return err
		})
		return out, C, err
	}
	return commitUntilAnswered(ctx, p.id, commit, query)
}

// commitUntilAnswered commits the prepared transaction. If the answer is lost, it asks for the
// outcome. If the transaction is still prepared then, the unanswered request may still commit it a
// moment later: it is committed again, which takes effect once.
func commitUntilAnswered(
	ctx context.Context, id txn.ID,
	commit func(context.Context) (txn.Timestamp, error),
	query func(context.Context) (txn.Outcome, txn.Timestamp, error),
) (txn.Timestamp, error) {
	C, cause := commit(ctx)
	if cause == nil || !OutcomeOpen(cause) && !LeaderGone(cause) {
		return C, cause
	}
	ctx, cancel := Decisive(ctx)
	defer cancel()
	for pause := (Backoff{}); ; {
		out, C, err := query(ctx)
		switch {
		case err != nil:
			return 0, txn.Unanswered(id, cause)
		case out == txn.Committed:
			return C, nil
		case out != txn.InProgress || !OutcomeOpen(cause):
			return 0, errNotCommitted()
		}
		if C, err = commit(ctx); err == nil {
			return C, nil
		}
		if pause.Wait(ctx) != nil {
			return 0, txn.Unanswered(id, cause)
		}
	}
}

func errNotCommitted() error {
	return pgerr.New(pgerr.CannotConnectNow,
		"the prepared transaction was not committed, because the fragment's leader changed").
		WithHint("Try again.")
}

// Prepare implements txn.Participant.
func (p *preparedPart) Prepare(ctx context.Context, req txn.PrepareRequest) error {
	_, err := p.once(ctx, &pb.Request{Op: &pb.Request_Prepare{Prepare: &pb.PrepareRequest{
		C: uint64(req.C), Coordinator: uint32(req.Coordinator), Attempt: uint32(req.Attempt), Writers: req.Writers,
		Implicit: req.Implicit, Prepared: true,
	}}})
	if err == nil || !OutcomeOpen(err) && !LeaderGone(err) {
		return err
	}
	ctx, cancel := Decisive(ctx)
	defer cancel()
	yes := false
	err = p.client.Ask(ctx, p.fragment, func(s Sender) (err error) {
		yes, err = HasPrepared(ctx, s, p.fragment, p.id, req.C)
		return err
	})
	if err == nil && !yes {
		err = errNotCommitted()
	}
	return err
}

// Decide implements txn.Participant.
func (p *preparedPart) Decide(ctx context.Context, d txn.Decision) (out txn.Outcome, err error) {
	ctx, cancel := Decisive(ctx)
	defer cancel()
	err = p.client.Ask(ctx, p.fragment, func(s Sender) (err error) {
		out, err = Decide(ctx, s, p.fragment, d)
		return err
	})
	return out, err
}

// Resolve implements txn.Participant.
func (p *preparedPart) Resolve(ctx context.Context, d txn.Decision) error {
	return p.client.Ask(ctx, p.fragment, func(s Sender) error { return Resolve(ctx, s, p.fragment, d) })
}

// LogOutcome implements txn.Participant; the commit of a prepared transaction is never implicit.
func (p *preparedPart) LogOutcome(d txn.Decision, then func(txn.Outcome, error)) {
	go func() { then(d.Outcome, p.Resolve(context.Background(), d)) }()
}

// Forget implements txn.Participant.
func (p *preparedPart) Forget(ctx context.Context, d txn.Decision) {
	s, err := p.client.Find(ctx, p.fragment)
	if err == nil {
		_ = Forget(ctx, s, p.fragment, d) // what is not forgotten now is forgotten when it expires
	}
}

// Rollback implements txn.Participant: only ROLLBACK PREPARED drops a prepared transaction.
func (p *preparedPart) Rollback() {}
