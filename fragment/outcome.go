package fragment

import (
	"context"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/txn"
)

func outcome(a *pb.OutcomeAnswer, err error) (*pb.Response, error) {
	return &pb.Response{Result: &pb.Response_Outcome{Outcome: a}}, err
}

// recoverOutcome returns the outcome at C; if the transaction is open, the query aborts it (T7).
func (c *Call) recoverOutcome(ctx context.Context, m *pb.RecoverRequest) (*pb.Response, error) {
	out, err := c.Replica.Outcomes.Outcome(ctx, c.ID, txn.Timestamp(m.C))
	return outcome(&pb.OutcomeAnswer{Outcome: uint32(out), C: m.C}, err)
}

// queryOutcome returns what is known of a transaction, and changes nothing.
func (c *Call) queryOutcome() (*pb.Response, error) {
	out, C, err := c.Replica.Outcomes.Query(c.ID)
	return outcome(&pb.OutcomeAnswer{Outcome: uint32(out), C: uint64(C)}, err)
}

func (c *Call) hasPrepared(m *pb.HasPreparedRequest) (*pb.Response, error) {
	return yes(c.Replica.Outcomes.HasPrepared(c.ID, txn.Timestamp(m.C)))
}

// inDoubt returns what the fragment knows about a transaction that is prepared.
func (c *Call) inDoubt() (*pb.Response, error) {
	a := &pb.InDoubtAnswer{}
	if d, coordinator, ok := c.Replica.Outcomes.Prepared(c.ID); ok {
		a.Prepared, a.C, a.Coordinator, a.Writers = true, uint64(d.C), coordinator, d.Writers
		_, _, a.Implicit = c.Replica.Outcomes.ImplicitCommit(c.ID)
	}
	return &pb.Response{Result: &pb.Response_InDoubt{InDoubt: a}}, nil
}
