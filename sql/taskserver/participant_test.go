package taskserver

import (
	"context"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/kv"
	"github.com/sherddb/sherd/txn"
)

// participant is the gateway's side of a commit.
type participant struct {
	x *transaction
	f txn.FragmentID
}

var _ txn.Participant = participant{}

func (p participant) buffer() *pb.WriteBuffer { return p.x.buffer(p.f) }

func (p participant) Fragment() txn.FragmentID { return p.f }
func (p participant) HasWrites() bool          { return p.buffer().HasWrites }
func (p participant) HasPins() bool            { return p.buffer().HasPins }
func (p participant) HasReads() bool           { return p.buffer().HasReads }
func (p participant) LowWater() txn.Timestamp  { return txn.Timestamp(p.buffer().LowWater) }

func (p participant) Commit(ctx context.Context, r txn.CommitRequest) (txn.Timestamp, error) {
	a, err := p.x.send(ctx, p.f, &pb.Request{Op: &pb.Request_Commit{
		Commit: &pb.CommitRequest{Floor: uint64(r.Floor), At: uint64(r.At), Prepared: p.x.held},
	}})
	return txn.Timestamp(a.GetCommitted()), err
}

func (p participant) Check(ctx context.Context, C txn.Timestamp) error {
	_, err := p.x.send(ctx, p.f, &pb.Request{Op: &pb.Request_Check{Check: &pb.CheckRequest{C: uint64(C)}}})
	return err
}

func (p participant) Prepare(ctx context.Context, r txn.PrepareRequest) error {
	_, err := p.x.send(ctx, p.f, &pb.Request{Op: &pb.Request_Prepare{Prepare: &pb.PrepareRequest{
		C: uint64(r.C), Coordinator: r.Coordinator, Attempt: uint32(r.Attempt), Writers: r.Writers, Implicit: r.Implicit,
		Prepared: p.x.held,
	}}})
	return err
}

func (p participant) Decide(ctx context.Context, d txn.Decision) (txn.Outcome, error) {
	return kv.Decide(ctx, p.x.w.sender(p.x.id), p.f, d)
}

func (p participant) Resolve(ctx context.Context, d txn.Decision) error {
	return kv.Resolve(ctx, p.x.w.sender(p.x.id), p.f, d)
}

// sender is the node that leads the fragments, as the gateway of a transaction sees it.
type sender struct {
	kv.Sender // streams are not used
	w         *world
	id        txn.ID
}

func (w *world) sender(id txn.ID) kv.Sender { return sender{w: w, id: id} }

// Send implements kv.Sender.
func (s sender) Send(ctx context.Context, r *pb.Request) (*pb.Response, error) {
	return s.w.send(ctx, r.Fragment, s.id, nil, r)
}

func (p participant) LogOutcome(d txn.Decision, then func(txn.Outcome, error)) {
	go func() {
		if d.Writers[d.ID.CoordinatorOf(len(d.Writers))] == p.f {
			then(p.Decide(context.Background(), d))
			return
		}
		then(d.Outcome, p.Resolve(context.Background(), d))
	}()
}

func (p participant) Forget(ctx context.Context, d txn.Decision) {
	_ = kv.Forget(ctx, p.x.w.sender(p.x.id), p.f, d)
}

func (p participant) Rollback() {
	if _, err := p.x.send(
		context.Background(), p.f, &pb.Request{Op: &pb.Request_End{End: &pb.EndRequest{}}},
	); err != nil {
		p.x.w.t.Errorf("rollback: %v", err)
	}
}

func (x *transaction) rollback() {
	for f := range x.buffers {
		participant{x, f}.Rollback()
	}
}
