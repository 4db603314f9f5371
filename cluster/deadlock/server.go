package deadlock

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/txn"
)

// Waits implements the service.
func (s *Detector) Waits(_ context.Context, r *pb.WaitsRequest) (*pb.WaitsAnswer, error) {
	of := make([]txn.LockOwner, len(r.Of))
	for i, w := range r.Of {
		of[i] = fromWaiter(w)
	}
	a := &pb.WaitsAnswer{}
	for _, w := range s.cfg.Waits.WaitsOf(of) {
		a.Waits = append(a.Waits, toWait(&w))
	}
	return a, nil
}

// EndWait implements the service.
func (s *Detector) EndWait(_ context.Context, r *pb.EndWaitRequest) (*pb.EndWaitAnswer, error) {
	if len(r.Circle) == 0 {
		return nil, status.Error(codes.InvalidArgument, "no wait is named")
	}
	var c txn.Cycle
	for _, w := range fromWaits(r.Circle) {
		c = append(c, txn.Edge{Waiting: w})
	}
	return &pb.EndWaitAnswer{Ended: s.cfg.Waits.Break(c[0].Number, c[0].Waiter, c.Err())}, nil
}

func toCycle(c txn.Cycle) []*pb.LockWait {
	out := make([]*pb.LockWait, len(c))
	for i := range c {
		out[i] = toWait(&c[i].Waiting)
		out[i].Blockers = nil // it is the next one that counts
	}
	return out
}

func toWait(w *txn.Waiting) *pb.LockWait {
	return &pb.LockWait{
		Number: w.Number, Waiter: toWaiter(w.Waiter), Lock: w.Lock,
		Object: w.Object, Key: w.Key, Fragment: uint32(w.Fragment), Blockers: toWaiters(w.Blockers),
	}
}

func fromWaits(waits []*pb.LockWait) []txn.Waiting {
	out := make([]txn.Waiting, len(waits))
	for i, w := range waits {
		out[i] = txn.Waiting{
			Number: w.Number, Waiter: fromWaiter(w.Waiter), Lock: w.Lock,
			Object: w.Object, Key: w.Key, Fragment: txn.FragmentID(w.Fragment),
		}
		for _, b := range w.Blockers {
			out[i].Blockers = append(out[i].Blockers, fromWaiter(b))
		}
	}
	return out
}

func toWaiters(owners []txn.LockOwner) []*pb.Waiter {
	out := make([]*pb.Waiter, len(owners))
	for i, p := range owners {
		out[i] = toWaiter(p)
	}
	return out
}

func toWaiter(p txn.LockOwner) *pb.Waiter {
	w := &pb.Waiter{Session: p.Session}
	if !p.ID.IsZero() {
		w.Transaction = p.ID[:]
	}
	return w
}

func fromWaiter(w *pb.Waiter) txn.LockOwner {
	p := txn.LockOwner{Session: w.GetSession()}
	copy(p.ID[:], w.GetTransaction())
	return p
}
