package fragment

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/cluster/transport"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/txn"
)

// Service is a Server as other nodes see it.
type Service struct {
	pb.UnimplementedFragmentsServer
	*Server
}

// Caller returns the node that makes a call.
func Caller(ctx context.Context) (uint32, error) {
	p, ok := transport.PeerOf(ctx)
	if !ok {
		return 0, status.Error(codes.PermissionDenied, "only nodes of the cluster may ask for fragments")
	}
	return p.Node, nil
}

// open checks the sender, its clock, and whether this node leads the fragment.
func (s Service) open(ctx context.Context, r *pb.Request) (*Call, error) {
	node, err := Caller(ctx)
	if err != nil {
		return nil, err
	}
	c := &Call{Fragment: txn.FragmentID(r.Fragment), node: node, incarnation: r.Incarnation, birth: r.Birth}
	if len(r.Transaction) == len(txn.ID{}) {
		c.ID = txn.ID(r.Transaction)
	}
	if !anyReplica(r) {
		c.Replica, c.Term, err = s.leads(r.Now, r.Fragment)
		return c, err
	}
	if err := s.merge(r.Now); err != nil {
		return nil, err
	}
	if c.Replica = s.cfg.Replicas.Get(c.Fragment); c.Replica == nil {
		return nil, errNotOpen
	}
	return c, nil
}

// Send implements nodepb.FragmentsServer.
func (s Service) Send(ctx context.Context, r *pb.Request) (a *pb.Response, err error) {
	defer Guard(s.cfg.Logger, &err)
	c, err := s.open(ctx, r)
	if err == nil {
		a, err = s.answer(ctx, c, r)
	}
	if status.Code(err) == codes.Unimplemented {
		return nil, err
	}
	if a == nil {
		a = &pb.Response{}
	}
	a.Failure, a.Now = failed(c, err), s.now()
	return a, nil
}

// Stream implements nodepb.FragmentsServer. The stream's flow-control window slows the sender down
// if the receiver is slow.
func (s Service) Stream(r *pb.Request, stream grpc.ServerStreamingServer[pb.Response]) (err error) {
	defer Guard(s.cfg.Logger, &err)
	c, err := s.open(stream.Context(), r)
	if err == nil {
		err = s.stream(stream.Context(), c, r, stream.Send)
	}
	if status.Code(err) == codes.Unimplemented {
		return err
	}
	return stream.Send(&pb.Response{Failure: failed(c, err), Now: s.now(), End: true})
}

func failed(c *Call, err error) *pb.Failure {
	if c != nil && c.Replica == nil {
		c = nil
	}
	return c.Failed(err)
}

// Snapshot implements nodepb.FragmentsServer. The fragments are asked in parallel, because each may
// wait for a quorum (T5).
func (s Service) Snapshot(ctx context.Context, m *pb.SnapshotRequest) (_ *pb.SnapshotAnswer, err error) {
	defer Guard(s.cfg.Logger, &err)
	if _, err := Caller(ctx); err != nil {
		return nil, err
	}
	type answer struct {
		t       txn.Timestamp
		term    uint64
		failure *pb.Failure
	}
	answers := make([]answer, len(m.Of))
	done := make(chan struct{}, len(m.Of))
	for i, of := range m.Of {
		ask := func() {
			a := &answers[i]
			c := &Call{Fragment: of.Fragment}
			var err error
			if a.t, err = s.snapshot(ctx, m.Now, of, c); err != nil {
				a.failure = failed(c, err)
			}
			a.term = c.Term
			done <- struct{}{}
		}
		if i == len(m.Of)-1 {
			ask()
		} else {
			go ask()
		}
	}
	for range m.Of {
		<-done
	}
	out := &pb.SnapshotAnswer{}
	var T txn.Timestamp
	for i, a := range answers {
		T = max(T, a.t)
		out.Terms = append(out.Terms, a.term)
		if a.failure != nil {
			out.Failures = append(out.Failures, &pb.SnapshotFailure{Fragment: m.Of[i].Fragment, Failure: a.failure})
		}
	}
	out.T, out.Now = uint64(T), s.now()
	return out, nil
}

func (s *Server) snapshot(ctx context.Context, now uint64, of *pb.SnapshotOf, c *Call) (T txn.Timestamp, err error) {
	if c.Replica, c.Term, err = s.leads(now, of.Fragment); err != nil {
		return 0, err
	}
	set, err := BucketsOf(of.Buckets)
	if err != nil {
		return 0, err
	}
	return c.Replica.SnapshotOf(ctx, set.Intervals())
}

// BucketsOf decodes ranges of buckets.
func BucketsOf(list []*pb.BucketRange) (shardmap.BucketSet, error) {
	ivs, err := intervalsOf(list)
	return shardmap.NewBucketSet(ivs...), err
}

func intervalsOf(list []*pb.BucketRange) ([]shardmap.Interval, error) {
	ivs := make([]shardmap.Interval, len(list))
	for i, r := range list {
		if r.Lo >= r.Hi || r.Hi > shardmap.BucketLimit {
			return nil, pgerr.New(pgerr.ProtocolViolation, "buckets %d to %d are none", r.Lo, r.Hi)
		}
		ivs[i] = shardmap.Interval{Lo: r.Lo, Hi: r.Hi}
	}
	return ivs, nil
}

// Guard, when deferred, makes a panic below a call the call's error: a fragment whose files are
// damaged must not take the process with it.
func Guard(logger *slog.Logger, err *error) {
	if p := recover(); p != nil {
		logger.Error("panic in a request of another node", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		*err = pgerr.New(pgerr.InternalError, "internal error: %v", p).
			WithHint("The log of the node that leads the fragment has the details.")
	}
}

func (s *Server) now() uint64 { return uint64(s.cfg.Clock.Now()) }
