package taskserver

import (
	"context"

	"github.com/sherddb/sherd/cluster/failure"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/txn"
)

// participant is the gateway's side of a commit.
type participant struct {
	x *transaction
	f txn.FragmentID
}

var _ txn.Participant = participant{}

func (p participant) stage() *pb.Stage { return p.x.stage(p.f) }

func (p participant) Fragment() txn.FragmentID { return p.f }
func (p participant) HasWrites() bool          { return p.stage().HasWrites }
func (p participant) HasPins() bool            { return p.stage().HasPins }
func (p participant) HasReads() bool           { return p.stage().HasReads }
func (p participant) Promised() txn.Timestamp  { return txn.Timestamp(p.stage().Promised) }

func (p participant) failed(f *pb.Failure, err error) error {
	if err != nil {
		return err
	}
	return failure.Decode(f, p.f)
}

func (p participant) Commit(ctx context.Context, r txn.CommitRequest) (txn.Timestamp, error) {
	a, err := p.x.w.client.Commit(ctx, &pb.CommitRequest{Header: p.x.header(p.f), Floor: uint64(r.Floor), At: uint64(r.At)})
	return txn.Timestamp(a.GetC()), p.failed(a.GetFailure(), err)
}

func (p participant) Check(ctx context.Context, C txn.Timestamp) error {
	a, err := p.x.w.client.Check(ctx, &pb.CheckRequest{Header: p.x.header(p.f), C: uint64(C)})
	return p.failed(a.GetFailure(), err)
}

func (p participant) Prepare(ctx context.Context, r txn.PrepareRequest) error {
	a, err := p.x.w.client.Prepare(ctx, &pb.PrepareRequest{
		Header: p.x.header(p.f), C: uint64(r.C), Anchor: r.Anchor, Attempt: uint32(r.Attempt), Writers: r.Writers, Implied: r.Implied,
	})
	return p.failed(a.GetFailure(), err)
}

func (p participant) decision(d txn.Decision) *pb.DecisionRequest {
	return &pb.DecisionRequest{Header: p.x.header(p.f), C: uint64(d.C), Outcome: uint32(d.Outcome), Writers: d.Writers}
}

func (p participant) Decide(ctx context.Context, d txn.Decision) (txn.Outcome, error) {
	a, err := p.x.w.client.Decide(ctx, p.decision(d))
	return txn.Outcome(a.GetOutcome()), p.failed(a.GetFailure(), err)
}

func (p participant) Resolve(ctx context.Context, d txn.Decision) error {
	a, err := p.x.w.client.Resolve(ctx, p.decision(d))
	return p.failed(a.GetFailure(), err)
}

func (p participant) Settle(d txn.Decision, then func(txn.Outcome, error)) {
	go func() {
		if d.Writers[d.ID.AnchorOf(len(d.Writers))] == p.f {
			then(p.Decide(context.Background(), d))
			return
		}
		then(d.Outcome, p.Resolve(context.Background(), d))
	}()
}

func (p participant) Forget(ctx context.Context, d txn.Decision) {
	_, _ = p.x.w.client.Forget(ctx, p.decision(d))
}

func (p participant) Rollback() {
	a, err := p.x.w.client.Return(context.Background(), &pb.ReturnRequest{Header: p.x.header(p.f), End: true})
	if err := p.failed(a.GetFailure(), err); err != nil {
		p.x.w.t.Errorf("rollback: %v", err)
	}
}

func (x *transaction) rollback() {
	for f := range x.stages {
		participant{x, f}.Rollback()
	}
}
