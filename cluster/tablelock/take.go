package tablelock

import (
	"context"
	"errors"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/locks"
)

// taken is what a transaction of this node may hold on other nodes.
type taken struct {
	owner *pb.TableLockOwner

	mu    sync.Mutex
	asked map[uint32]bool // nodes; guarded by mu
	log   []grant         // guarded by mu
}

// grant is a lock that a node has granted, or a node that was skipped.
type grant struct {
	node  uint32
	place int    // in the log of the transaction's own locks, before it was taken
	mark  uint32 // likewise at the node
	birth uint64 // of the holder there
	left  time.Time
}

// errGone ends a call to a node that has fallen silent.
var errGone = errors.New("tablelock: the node does not answer")

// TakeAll asks every other node for a lock, and calls local when it is this node's turn. After an
// error the locks taken so far remain, until ReleaseAll.
func (n *Net) TakeAll(ctx context.Context, l locks.ClusterRequest, local func() error) error {
	t := n.of(l)
	done := false
	for _, node := range n.nodes() {
		if node >= n.cfg.Self && !done {
			done = true
			if err := local(); err != nil {
				return err
			}
		}
		if node == n.cfg.Self {
			continue
		}
		if err := n.takeAt(ctx, t, node, l); err != nil {
			return err
		}
	}
	if !done {
		return local()
	}
	return nil
}

func (n *Net) takeAt(ctx context.Context, t *taken, node uint32, l locks.ClusterRequest) error {
	t.mu.Lock()
	t.asked[node] = true
	t.mu.Unlock()
	g := grant{node: node, place: l.Place}
	left, err := n.reach(ctx, node, func(ctx context.Context, c pb.TableLocksClient) error {
		a, err := c.Take(ctx, n.request(t, l))
		if err != nil {
			return err
		}
		g.mark, g.birth = a.Mark, a.Birth
		return refusal(a)
	})
	if err != nil {
		return err
	}
	if left {
		n.cfg.Logger.Info("a lock of a table is taken without a node that is silent",
			"node", node, "table", l.Tag.Object)
		g.left = time.Now()
	}
	t.mu.Lock()
	t.log = append(t.log, g)
	t.mu.Unlock()
	return nil
}

// BarrierAll waits at every other node until all transactions that hold the table now have released
// it. Those that come later know the present definitions.
func (n *Net) BarrierAll(ctx context.Context, l locks.ClusterRequest) error {
	t := &taken{owner: n.ownerOf(l)}
	for _, node := range n.nodes() {
		if node == n.cfg.Self {
			continue
		}
		_, err := n.reach(ctx, node, func(ctx context.Context, c pb.TableLocksClient) error {
			r := n.request(t, l)
			r.Barrier = true
			a, err := c.Take(ctx, r)
			if err != nil {
				return err
			}
			return refusal(a)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (n *Net) ownerOf(l locks.ClusterRequest) *pb.TableLockOwner {
	return &pb.TableLockOwner{Transaction: l.Owner[:], Incarnation: n.cfg.Incarnation, Session: l.PID}
}

func (n *Net) of(l locks.ClusterRequest) *taken {
	n.mu.Lock()
	defer n.mu.Unlock()
	t := n.open[l.Owner]
	if t == nil {
		t = &taken{owner: n.ownerOf(l), asked: map[uint32]bool{}}
		n.open[l.Owner] = t
	}
	return t
}

func (n *Net) request(t *taken, l locks.ClusterRequest) *pb.TableLockRequest {
	return &pb.TableLockRequest{
		Owner: t.owner, CatalogVersion: n.cfg.Catalog.View().Version(),
		Database: l.Tag.Database, Table: l.Tag.Object, Mode: uint32(l.Request.Mode),
		NoWait: l.Request.NoWait, DeadlockMicros: l.Request.Deadlock.Microseconds(), Log: l.Request.Log,
	}
}

// refused is an error in a node's answer, as opposed to a failure to reach the node.
type refused struct{ err error }

func (r refused) Error() string { return r.err.Error() }

func refusal(a *pb.TableLockAnswer) error {
	switch {
	case a.NotAvailable:
		return refused{locks.ErrNotAvailable}
	case a.Sqlstate != "":
		e := pgerr.New(a.Sqlstate, "%s", a.Message)
		e.Detail, e.Hint = a.Detail, a.Hint
		return refused{e}
	}
	return nil
}

// reach calls f, and repeats the call until it gets through. left reports that the node is silent
// and was skipped.
func (n *Net) reach(
	ctx context.Context, node uint32, f func(context.Context, pb.TableLocksClient) error,
) (left bool, err error) {
	failing := time.Now()
	for {
		if n.cfg.Liveness.Alive(node) {
			start := time.Now()
			err := n.call(ctx, node, f)
			var no refused
			switch {
			case err == nil:
				return false, nil
			case errors.As(err, &no):
				return false, no.err
			case status.Code(err) == codes.Unimplemented:
				return false, pgerr.New(pgerr.ObjectNotInPrerequisiteState,
					"%s is of a release that cannot lock tables for other nodes", n.name(node)).
					WithHint("Upgrade it first.")
			case time.Since(start) > look:
				failing = time.Now() // it has waited there
			}
		} else if n.silent(ctx, node) {
			return true, nil
		}
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		if time.Since(failing) > n.cfg.NodeTimeout {
			return false, pgerr.New(pgerr.CannotConnectNow,
				"%s does not answer, and its transactions may still use the table", n.name(node)).
				WithHint("Start the node, or stop its process: it is left out some seconds after its last heartbeat. " +
					"sherd.nodes shows which nodes answer.")
		}
		select {
		case <-time.After(look):
		case <-ctx.Done():
		}
	}
}

// call ends if the node falls silent.
func (n *Net) call(ctx context.Context, node uint32, f func(context.Context, pb.TableLocksClient) error) error {
	client, err := n.client(node)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan error, 1)
	go func() { done <- f(ctx, client) }()
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-tick.C:
			if !n.cfg.Liveness.Alive(node) {
				cancel(errGone)
			}
		}
	}
}

func (n *Net) name(node uint32) string {
	if x := n.cfg.Catalog.View().Node(node); x != nil {
		return "node " + x.Name + " (" + x.NodeAddr + ")"
	}
	return "a node that has left the cluster"
}

// ConfirmAll checks, before a transaction commits, that it has held its locks on other nodes all
// along.
func (n *Net) ConfirmAll(ctx context.Context, owner txn.ID) error {
	n.mu.Lock()
	t := n.open[owner]
	n.mu.Unlock()
	if t == nil {
		return nil
	}
	t.mu.Lock()
	by := map[uint32][]grant{}
	for _, g := range t.log {
		by[g.node] = append(by[g.node], g)
	}
	t.mu.Unlock()
	if len(by) == 0 {
		return nil
	}
	for _, node := range n.nodes() {
		if node == n.cfg.Self {
			continue
		}
		if err := n.confirmAt(ctx, t, node, by[node]); err != nil {
			return err
		}
	}
	return nil
}

func (n *Net) confirmAt(ctx context.Context, t *taken, node uint32, grants []grant) error {
	if len(grants) == 0 {
		return n.lost(node, "has joined")
	}
	births := map[uint64]bool{}
	for _, g := range grants {
		if !g.left.IsZero() {
			if n.answered(node, g.left) {
				return n.lost(node, "has come back")
			}
			continue
		}
		births[g.birth] = true
	}
	if len(births) == 0 {
		return nil
	}
	var birth uint64
	left, err := n.reach(ctx, node, func(ctx context.Context, c pb.TableLocksClient) error {
		ctx, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		a, err := c.Confirm(ctx, t.owner)
		birth = a.GetBirth()
		return err
	})
	if err == nil && !left && (len(births) > 1 || !births[birth]) {
		return n.lost(node, "has let go of the transaction's locks")
	}
	return err
}

// answered reports whether a node was heard from after a time.
func (n *Net) answered(node uint32, after time.Time) bool {
	for _, h := range n.cfg.Liveness.Health() {
		if h.Node == node {
			return h.LastSeen.After(after)
		}
	}
	return false
}

func (n *Net) lost(node uint32, why string) error {
	return pgerr.New(pgerr.SerializationFailure, "could not keep a table locked over all nodes").
		WithDetail("%s %s during the transaction.", n.name(node), why).WithHint("Run the transaction again.")
}

// RollbackTo releases what was taken since a position in the log of the transaction's own locks.
func (n *Net) RollbackTo(owner txn.ID, place int) {
	n.mu.Lock()
	t := n.open[owner]
	n.mu.Unlock()
	if t == nil {
		return
	}
	marks := map[uint32]uint32{}
	t.mu.Lock()
	for i, g := range t.log {
		if g.place < place {
			continue
		}
		for _, g := range t.log[i:] {
			if _, ok := marks[g.node]; !ok && g.left.IsZero() {
				marks[g.node] = g.mark
			}
		}
		t.log = t.log[:i]
		break
	}
	t.mu.Unlock()
	for node, mark := range marks {
		if mark == 0 { // the holder goes, and another may come
			t.mu.Lock()
			delete(t.asked, node)
			t.mu.Unlock()
		}
	}
	n.release(t, marks)
}

// ReleaseAll releases everything that a transaction may hold on other nodes.
func (n *Net) ReleaseAll(owner txn.ID) {
	n.mu.Lock()
	t := n.open[owner]
	delete(n.open, owner)
	n.mu.Unlock()
	if t == nil {
		return
	}
	marks := map[uint32]uint32{}
	t.mu.Lock()
	for node := range t.asked {
		marks[node] = 0
	}
	t.mu.Unlock()
	n.release(t, marks)
}

// release notifies the nodes, and waits for them a moment. A node that misses the notice asks later.
func (n *Net) release(t *taken, marks map[uint32]uint32) {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	version := n.cfg.Catalog.View().Version()
	var telling sync.WaitGroup
	for node, mark := range marks {
		if !n.cfg.Liveness.Alive(node) {
			continue
		}
		telling.Go(func() {
			if client, err := n.client(node); err == nil {
				_, _ = client.Release(ctx, &pb.TableLockRelease{Owner: t.owner, CatalogVersion: version, Mark: mark})
			}
		})
	}
	telling.Wait()
}
