package tablelock

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/cluster/transport"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/locks"
)

// holderID names a transaction of another node.
type holderID struct {
	node        uint32
	incarnation uint64
	id          txn.ID
}

// holder has the locks of such a transaction here.
type holder struct {
	owner  *locks.Owner
	birth  uint64        // distinguishes it from an earlier one that was released
	taking chan struct{} // one at a time: a request whose caller is gone may still be running
	used   time.Time     // guarded by Net.mu
}

func (n *Net) idOf(ctx context.Context, o *pb.TableLockOwner) (holderID, error) {
	who, ok := transport.PeerOf(ctx)
	switch {
	case !ok:
		return holderID{}, status.Error(codes.PermissionDenied, "locks are for nodes of the cluster")
	case len(o.GetTransaction()) != len(txn.ID{}):
		return holderID{}, status.Error(codes.InvalidArgument, "no transaction is named")
	}
	return holderID{who.Node, o.Incarnation, txn.ID(o.Transaction)}, nil
}

// Take implements the service.
func (n *Net) Take(ctx context.Context, r *pb.TableLockRequest) (*pb.TableLockAnswer, error) {
	id, err := n.idOf(ctx, r.Owner)
	if err != nil {
		return nil, err
	}
	m := n.manager.Load()
	mode := locks.Mode(r.Mode)
	switch {
	case m == nil:
		return nil, status.Error(codes.Unavailable, "the node is starting")
	case !r.Barrier && (r.Mode < uint32(locks.AccessShare) || r.Mode > uint32(locks.AccessExclusive)):
		return nil, status.Errorf(codes.InvalidArgument, "no mode %d", r.Mode)
	}
	if _, err := n.cfg.Catalog.WaitVersion(ctx, r.CatalogVersion); err != nil {
		return nil, status.FromContextError(err).Err()
	}
	tag := locks.Table(r.Database, r.Table)
	if r.Barrier {
		n.mu.Lock()
		h := n.holders[id]
		n.mu.Unlock()
		o := m.NewSession(r.Owner.Session).Begin(id.id)
		if h != nil {
			o = h.owner // does not wait for what it holds itself
		}
		return answer(ctx, &pb.TableLockAnswer{}, o.Barrier(ctx, tag))
	}
	h := n.holder(m, id, r.Owner.Session)
	select {
	case h.taking <- struct{}{}:
		defer func() { <-h.taking }()
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	a := &pb.TableLockAnswer{Birth: h.birth, Mark: uint32(h.owner.Mark())}
	err = h.owner.Acquire(ctx, tag, locks.Request{
		Mode: mode, NoWait: r.NoWait, Deadlock: time.Duration(r.DeadlockMicros) * time.Microsecond, Log: r.Log,
	})
	if err == nil && ctx.Err() != nil {
		h.owner.RollbackTo(int(a.Mark)) // no caller waits for the answer
	}
	n.mu.Lock()
	gone := n.holders[id] != h
	n.mu.Unlock()
	if gone {
		h.owner.Release()
	}
	return answer(ctx, a, err)
}

// answer returns the answer to an attempt. If the request's time ends, it returns none: the asking
// node reports why the time was bounded, and its clock for that may run a moment longer.
func answer(ctx context.Context, a *pb.TableLockAnswer, err error) (*pb.TableLockAnswer, error) {
	switch {
	case errors.Is(err, locks.ErrNotAvailable):
		a.NotAvailable = true
	case err != nil && ctx.Err() != nil:
		return nil, status.FromContextError(ctx.Err()).Err()
	case err != nil:
		e := pgerr.From(err)
		a.Sqlstate, a.Message, a.Detail, a.Hint = e.Code, e.Message, e.Detail, e.Hint
	}
	return a, nil
}

// holder returns the holder of a transaction here; a new one has no locks.
func (n *Net) holder(m *locks.Manager, id holderID, session uint32) *holder {
	n.mu.Lock()
	defer n.mu.Unlock()
	h := n.holders[id]
	if h == nil {
		h = &holder{owner: m.NewSession(session).Begin(id.id), birth: rand.Uint64() | 1, taking: make(chan struct{}, 1)}
		n.holders[id] = h
	}
	h.used = time.Now()
	return h
}

// Confirm implements the service.
func (n *Net) Confirm(ctx context.Context, r *pb.TableLockOwner) (*pb.TableLockConfirmed, error) {
	id, err := n.idOf(ctx, r)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	a := &pb.TableLockConfirmed{}
	if h := n.holders[id]; h != nil {
		a.Birth, h.used = h.birth, time.Now()
	}
	return a, nil
}

// Release implements the service.
func (n *Net) Release(ctx context.Context, r *pb.TableLockRelease) (*pb.TableLockReleased, error) {
	id, err := n.idOf(ctx, r.Owner)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	h := n.holders[id]
	if r.Mark == 0 {
		delete(n.holders, id)
	}
	n.mu.Unlock()
	if h == nil {
		return &pb.TableLockReleased{}, nil
	}
	wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), catchUp)
	defer cancel()
	_, _ = n.cfg.Catalog.WaitVersion(wait, r.CatalogVersion)
	if r.Mark == 0 {
		h.owner.Release()
	} else if int(r.Mark) < h.owner.Mark() {
		h.owner.RollbackTo(int(r.Mark))
	}
	return &pb.TableLockReleased{}, nil
}

// DropGateway releases the locks here of transactions of a node's process that has ended or is
// silent.
func (n *Net) DropGateway(node uint32, incarnation uint64) {
	n.drop(func(id holderID) bool { return id.node == node && id.incarnation == incarnation })
}

func (n *Net) drop(which func(holderID) bool) {
	var gone []*holder
	n.mu.Lock()
	for id, h := range n.holders {
		if which(id) {
			gone = append(gone, h)
			delete(n.holders, id)
		}
	}
	n.mu.Unlock()
	for _, h := range gone {
		h.owner.Release()
	}
}

// AskForIdle asks other nodes about transactions that have held something here for a while, because
// the notice of their end may have been lost.
func (n *Net) AskForIdle(ctx context.Context, d time.Duration) {
	asked := map[uint32]*pb.TableLocksOpen{}
	n.mu.Lock()
	for id, h := range n.holders {
		if time.Since(h.used) > d {
			if asked[id.node] == nil {
				asked[id.node] = &pb.TableLocksOpen{}
			}
			asked[id.node].Transactions = append(asked[id.node].Transactions, id.id[:])
		}
	}
	n.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	for node, open := range asked {
		client, err := n.client(node)
		if err != nil {
			continue
		}
		a, err := client.Over(ctx, open)
		if err != nil {
			continue
		}
		over := map[string]bool{}
		for _, id := range a.Transactions {
			over[string(id)] = true
		}
		n.drop(func(id holderID) bool { return id.node == node && over[string(id.id[:])] })
	}
}

// Over implements the service.
func (n *Net) Over(_ context.Context, r *pb.TableLocksOpen) (*pb.TableLocksOver, error) {
	a := &pb.TableLocksOver{}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, id := range r.Transactions {
		if len(id) == len(txn.ID{}) && n.open[txn.ID(id)] == nil {
			a.Transactions = append(a.Transactions, id)
		}
	}
	return a, nil
}
