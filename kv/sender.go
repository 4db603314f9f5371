package kv

import (
	"context"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/txn"
)

// Sender sends requests to the replicas of one node. The Sender fills in the request's clock and
// process; a request must not be sent to two nodes at the same time.
type Sender interface {
	// Send returns the answer to a request. With an error, the response may still say what is left
	// of the transaction's part.
	Send(ctx context.Context, r *pb.Request) (*pb.Response, error)
	// Stream calls emit with each response to a request that has many. A nil error means that emit
	// got all of them.
	Stream(ctx context.Context, r *pb.Request, emit func(*pb.Response) error) error
	// Part makes a transaction's part in a fragment that the node leads; 57P03 if it has no replica.
	Part(f txn.FragmentID, id txn.ID, o txn.Options) (Part, error)
	// Snapshot returns the timestamp of a statement that may reach these buckets of fragments that
	// the node leads, by the map of an epoch. failed are the fragments that returned none.
	Snapshot(ctx context.Context, shares []shardmap.Share, epoch uint64) (
		T txn.Timestamp, failed map[txn.FragmentID]error, err error)
}

// DecisionOf returns the message of a decision.
func DecisionOf(d txn.Decision) *pb.Decision {
	return &pb.Decision{C: uint64(d.C), Outcome: uint32(d.Outcome), Writers: d.Writers}
}

// Decide writes a decision into the log of the coordinator fragment, and returns the decision that
// counts.
func Decide(ctx context.Context, s Sender, f txn.FragmentID, d txn.Decision) (txn.Outcome, error) {
	a, err := s.Send(ctx, &pb.Request{
		Fragment: uint32(f), Transaction: d.ID[:], Op: &pb.Request_Decide{Decide: DecisionOf(d)},
	})
	return txn.Outcome(a.GetOutcome().GetOutcome()), err
}

// Resolve sends the coordinator's decision to a writer.
func Resolve(ctx context.Context, s Sender, f txn.FragmentID, d txn.Decision) error {
	_, err := s.Send(ctx, &pb.Request{
		Fragment: uint32(f), Transaction: d.ID[:], Op: &pb.Request_Resolve{Resolve: DecisionOf(d)},
	})
	return err
}

// Forget lets the coordinator fragment forget a commit.
func Forget(ctx context.Context, s Sender, f txn.FragmentID, d txn.Decision) error {
	_, err := s.Send(ctx, &pb.Request{
		Fragment: uint32(f), Transaction: d.ID[:], Op: &pb.Request_Forget{Forget: DecisionOf(d)},
	})
	return err
}

// QueryOutcome asks what a fragment knows about a transaction, and changes nothing.
func QueryOutcome(ctx context.Context, s Sender, f txn.FragmentID, id txn.ID) (txn.Outcome, txn.Timestamp, error) {
	a, err := s.Send(ctx, &pb.Request{
		Fragment: uint32(f), Transaction: id[:], Op: &pb.Request_QueryOutcome{QueryOutcome: &pb.QueryOutcomeRequest{}},
	})
	out := a.GetOutcome()
	return txn.Outcome(out.GetOutcome()), txn.Timestamp(out.GetC()), err
}

// HasPrepared asks a writer whether it has prepared at C; once the answer is no, it stays no.
func HasPrepared(ctx context.Context, s Sender, f txn.FragmentID, id txn.ID, C txn.Timestamp) (bool, error) {
	a, err := s.Send(ctx, &pb.Request{
		Fragment: uint32(f), Transaction: id[:],
		Op: &pb.Request_HasPrepared{HasPrepared: &pb.HasPreparedRequest{C: uint64(C)}},
	})
	return a.GetYes(), err
}

// End drops a transaction's write buffer and pinned snapshots in a fragment.
func End(ctx context.Context, s Sender, f txn.FragmentID, id txn.ID) error {
	_, err := s.Send(ctx, &pb.Request{
		Fragment: uint32(f), Transaction: id[:], Op: &pb.Request_End{End: &pb.EndRequest{}},
	})
	return err
}

// DropPrepared is ROLLBACK PREPARED in a fragment.
func DropPrepared(ctx context.Context, s Sender, f txn.FragmentID, id txn.ID) error {
	_, err := s.Send(ctx, &pb.Request{
		Fragment: uint32(f), Transaction: id[:], Op: &pb.Request_DropPrepared{DropPrepared: &pb.DropPreparedRequest{}},
	})
	return err
}
