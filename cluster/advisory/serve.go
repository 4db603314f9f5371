package advisory

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/cluster/transport"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/locks"
)

func toTxn(id txn.ID) []byte {
	if id.IsZero() {
		return nil
	}
	return id[:]
}

func fromTxn(b []byte) (id txn.ID) {
	copy(id[:], b)
	return id
}

func toLock(k lock) *pb.AdvisoryLock {
	return &pb.AdvisoryLock{
		Session: k.session, Transaction: toTxn(k.txn), Class: k.tag.Class,
		Object: k.tag.Object, Sub: uint32(k.tag.Sub), Mode: uint32(k.mode),
	}
}

func toLocks(list []lock) []*pb.AdvisoryLock {
	out := make([]*pb.AdvisoryLock, len(list))
	for i, k := range list {
		out[i] = toLock(k)
	}
	return out
}

func fromLock(database uint32, l *pb.AdvisoryLock) lock {
	return lock{
		session: l.GetSession(), txn: fromTxn(l.GetTransaction()), mode: locks.Mode(l.GetMode()),
		tag: locks.Tag{Kind: locks.Advisory, Sub: uint8(l.GetSub()),
			Database: database, Class: l.GetClass(), Object: l.GetObject()},
	}
}

func fromLocks(database uint32, list []*pb.AdvisoryLock) []lock {
	out := make([]lock, len(list))
	for i, l := range list {
		out[i] = fromLock(database, l)
	}
	return out
}

func sender(ctx context.Context, incarnation uint64) (gateway, error) {
	who, ok := transport.PeerOf(ctx)
	if !ok {
		return gateway{}, status.Error(codes.PermissionDenied, "locks are for nodes of the cluster")
	}
	return gateway{who.Node, incarnation}, nil
}

// Take implements the service.
func (n *Net) Take(ctx context.Context, r *pb.AdvisoryTake) (*pb.AdvisoryTaken, error) {
	g, err := sender(ctx, r.Incarnation)
	if err != nil {
		return nil, err
	}
	k := fromLock(r.Database, r.Lock)
	if k.mode != locks.Share && k.mode != locks.Exclusive {
		return nil, status.Errorf(codes.InvalidArgument, "no mode %d of advisory locks", k.mode)
	}
	if _, err := n.cfg.Catalog.WaitVersion(ctx, r.CatalogVersion); err != nil {
		return nil, status.FromContextError(err).Err()
	}
	h, err := n.take(ctx, g, k, fromTxn(r.Within), locks.Request{
		NoWait: r.NoWait, Deadlock: time.Duration(r.DeadlockMicros) * time.Microsecond, Log: r.Log,
	}, r.Count)
	a := &pb.AdvisoryTaken{}
	switch {
	case err == nil:
		a.Leader = toLeader(h)
	case errors.Is(err, locks.ErrNotAvailable):
		a.NotAvailable = true
	case errors.Is(err, errElsewhere):
	case ctx.Err() != nil:
		return nil, status.FromContextError(ctx.Err()).Err()
	default:
		e := pgerr.From(err)
		a.Sqlstate, a.Message, a.Detail, a.Hint = e.Code, e.Message, e.Detail, e.Hint
	}
	return a, nil
}

func toLeader(h leaderTerm) *pb.AdvisoryLeader {
	return &pb.AdvisoryLeader{Fragment: h.fragment, Term: h.term}
}

// Release implements the service.
func (n *Net) Release(ctx context.Context, r *pb.AdvisoryKeep) (*pb.AdvisoryReleased, error) {
	g, err := sender(ctx, r.Incarnation)
	if err != nil {
		return nil, err
	}
	n.release(g, r.Database, fromLocks(r.Database, r.Locks), r.Count)
	return &pb.AdvisoryReleased{}, nil
}

// Keep implements the service.
func (n *Net) Keep(ctx context.Context, r *pb.AdvisoryKeep) (*pb.AdvisoryKept, error) {
	g, err := sender(ctx, r.Incarnation)
	if err != nil {
		return nil, err
	}
	if _, err := n.cfg.Catalog.WaitVersion(ctx, r.CatalogVersion); err != nil {
		return nil, status.FromContextError(err).Err()
	}
	h, missing, err := n.kept(ctx, g, r.Database, fromLocks(r.Database, r.Locks),
		fromLocks(r.Database, r.Asked), r.Count)
	a := &pb.AdvisoryKept{}
	switch {
	case errors.Is(err, errElsewhere):
		return a, nil
	case err != nil:
		return nil, status.Error(codes.Unavailable, err.Error())
	}
	a.Leader = toLeader(h)
	for _, i := range missing {
		a.Missing = append(a.Missing, uint32(i))
	}
	return a, nil
}

// Held implements the service.
func (n *Net) Held(ctx context.Context, r *pb.AdvisoryQuestion) (*pb.AdvisoryHeld, error) {
	if _, err := sender(ctx, 0); err != nil {
		return nil, err
	}
	if _, err := n.cfg.Catalog.WaitVersion(ctx, r.CatalogVersion); err != nil {
		return nil, status.FromContextError(err).Err()
	}
	held, count, ok := n.heldFor(r.Database, leaderTerm{r.Leader.GetFragment(), r.Leader.GetTerm()})
	return &pb.AdvisoryHeld{Refused: !ok, Incarnation: n.cfg.Incarnation, Locks: toLocks(held), Count: count}, nil
}
