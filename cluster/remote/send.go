package remote

import (
	"context"

	"github.com/sherddb/sherd/cluster/failure"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/kv"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/txn"
)

var _ kv.Sender = (*Node)(nil)

// sign fills in what each request says of its sender.
func (n *Node) sign(r *pb.Request) {
	r.Now, r.Incarnation = uint64(n.nodes.cfg.Clock.Now()), n.nodes.cfg.Incarnation
}

// Send implements kv.Sender for another node. With NoAnswer it is not known whether the request had
// an effect.
func (n *Node) Send(ctx context.Context, r *pb.Request) (*pb.Response, error) {
	n.sign(r)
	if lasting(r) {
		var cancel context.CancelFunc
		ctx, cancel = unhurried(ctx)
		defer cancel()
	}
	a, err := n.client.Send(ctx, r)
	if err != nil {
		return nil, n.CallError(err)
	}
	if err := n.Merge(a.Now); err != nil && !tookEffect(r) {
		return a, err
	}
	return a, failure.Decode(a.Failure, txn.FragmentID(r.Fragment))
}

// lasting reports whether a request must not be cut off by the end of a statement, because its
// outcome would not be known.
func lasting(r *pb.Request) bool {
	switch r.Op.(type) {
	case *pb.Request_Commit, *pb.Request_Prepare, *pb.Request_PrepareTransaction, *pb.Request_CompletePrepared,
		*pb.Request_DropPrepared, *pb.Request_DetachPrepared:
		return true
	}
	return false
}

// tookEffect reports whether a request has taken effect if there is no failure, whatever the node's
// clock says: an error would tell the client that a successful commit had failed, or hide that the
// outcome is not known. The liveness messages name the node that is ahead.
func tookEffect(r *pb.Request) bool {
	switch r.Op.(type) {
	case *pb.Request_Commit, *pb.Request_Prepare, *pb.Request_Decide, *pb.Request_Recover, *pb.Request_QueryOutcome,
		*pb.Request_RollbackTo, *pb.Request_End:
		return true
	}
	return false
}

// Stream implements kv.Sender for another node.
func (n *Node) Stream(ctx context.Context, r *pb.Request, emit func(*pb.Response) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	n.sign(r)
	s, err := n.client.Stream(ctx, r)
	if err != nil {
		return n.CallError(err)
	}
	for {
		a, err := s.Recv()
		if err != nil {
			return n.CallError(err)
		}
		if err := failure.Decode(a.Failure, txn.FragmentID(r.Fragment)); err != nil {
			return err
		}
		if a.End {
			return n.Merge(a.Now)
		}
		if err := emit(a); err != nil {
			return err
		}
	}
}

// Snapshot returns the timestamp of a statement that may reach buckets of some fragments, which the
// node leads, by the map of an epoch; failed are the fragments that could not return one.
func (n *Node) Snapshot(ctx context.Context, shares []shardmap.Share, epoch uint64) (
	T txn.Timestamp, failed map[txn.FragmentID]error, err error,
) {
	req := &pb.SnapshotRequest{Now: uint64(n.nodes.cfg.Clock.Now())}
	for _, s := range shares {
		of := &pb.SnapshotOf{Fragment: s.Fragment, Epoch: epoch}
		for _, iv := range s.Buckets.Intervals() {
			of.Buckets = append(of.Buckets, &pb.BucketRange{Lo: iv.Lo, Hi: iv.Hi})
		}
		req.Of = append(req.Of, of)
	}
	a, err := n.client.Snapshot(ctx, req)
	if err != nil {
		if ctx.Err() != nil {
			return 0, nil, ctx.Err()
		}
		return 0, nil, n.CallError(err)
	}
	if err := n.Merge(a.Now); err != nil {
		return 0, nil, err
	}
	for _, x := range a.Failures {
		if failed == nil {
			failed = map[txn.FragmentID]error{}
		}
		failed[txn.FragmentID(x.Fragment)] = failure.Decode(x.Failure, txn.FragmentID(x.Fragment))
	}
	return txn.Timestamp(a.T), failed, nil
}
