package advisory

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/locks"
)

// lookAtTerms starts new terms of this node, ends those that are over, and releases the locks of
// processes that have ended.
func (n *Net) lookAtTerms() {
	n.leadershipsMu.Lock()
	defer n.leadershipsMu.Unlock()
	for d := range n.cfg.Catalog.View().Databases() {
		if h, ok := n.own(d.OID); ok && n.since[d.OID].leader != h {
			n.since[d.OID] = timeOf{h, time.Now()}
		}
	}
	for database := range n.since {
		if n.cfg.Catalog.View().Database(database) == nil {
			delete(n.since, database)
		}
	}
	for database, t := range n.leaderships {
		if h, ok := n.own(database); !ok || h != t.leader {
			t.finish()
			delete(n.leaderships, database)
			continue
		}
		t.dropGone(n.cfg.Self, n.cfg.Incarnations)
	}
}

// own returns this node's present term as a lock leader.
func (n *Net) own(database uint32) (leaderTerm, bool) {
	f, ok := n.first(database)
	if !ok {
		return leaderTerm{}, false
	}
	node, term, ok := n.cfg.Leader(f)
	return leaderTerm{uint32(f), term}, ok && node == n.cfg.Self && term != 0
}

// leadership returns this node's term as the lock leader of a database's locks, once all nodes have
// reported what they hold.
func (n *Net) leadership(ctx context.Context, database uint32) (*leadership, error) {
	t, err := n.present(database)
	if err != nil {
		return nil, err
	}
	select {
	case <-t.ready:
		return t, nil
	case <-t.ctx.Done():
		return nil, errElsewhere
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// present returns this node's term as the lock leader, even if it has just begun.
func (n *Net) present(database uint32) (*leadership, error) {
	h, ok := n.own(database)
	if !ok {
		return nil, errElsewhere
	}
	n.leadershipsMu.Lock()
	t := n.leaderships[database]
	if t == nil || t.leader != h {
		if t != nil {
			t.finish()
		}
		t = n.begin(database, h)
		n.leaderships[database] = t
	}
	n.leadershipsMu.Unlock()
	return t, nil
}

// begin begins a term. The caller holds leadershipsMu.
func (n *Net) begin(database uint32, h leaderTerm) *leadership {
	began := time.Now()
	if s := n.since[database]; s.leader == h {
		began = s.at
	}
	t := newLeadership(h, began, locks.NewManager(n.cfg.Detector, n.cfg.Logger))
	if n.alone() {
		n.gatherHere(t, database)
		close(t.ready)
		return t
	}
	go n.gather(t, database)
	return t
}

func (n *Net) gatherHere(t *leadership, database uint32) bool {
	held, count, ok := n.heldFor(database, t.leader)
	if ok {
		t.install(gateway{n.cfg.Self, n.cfg.Incarnation}, held, count)
	}
	return ok
}

// gather asks every node for the locks that it holds (A1).
func (n *Net) gather(t *leadership, database uint32) {
	if !n.gatherHere(t, database) {
		t.finish()
		return
	}
	var asking sync.WaitGroup
	for _, node := range n.cfg.Nodes() {
		if node != n.cfg.Self {
			asking.Go(func() { n.gatherAt(t, database, node) })
		}
	}
	asking.Wait()
	if t.ctx.Err() == nil {
		close(t.ready)
	}
}

// gatherAt asks a node until it answers, or until no session there can still rely on its locks.
func (n *Net) gatherAt(t *leadership, database, node uint32) {
	for t.ctx.Err() == nil && n.cfg.Catalog.View().Node(node) != nil {
		if n.question(t, database, node) {
			return
		}
		if time.Since(t.began) > grace {
			n.cfg.Logger.Info("advisory locks are given without a node that does not answer",
				"node", node, "database", database)
			return
		}
		_ = sleep(t.ctx, 5*pause)
	}
}

func (n *Net) question(t *leadership, database, node uint32) bool {
	ctx, cancel := context.WithTimeout(t.ctx, askTimeout)
	defer cancel()
	client, err := n.client(node)
	if err != nil {
		return false
	}
	a, err := client.Held(ctx, &pb.AdvisoryQuestion{
		Database: database, CatalogVersion: n.cfg.Catalog.View().Version(),
		Leader: &pb.AdvisoryLeader{Fragment: t.leader.fragment, Term: t.leader.term},
	}, grpc.WaitForReady(true))
	switch {
	case err != nil:
		return false
	case a.Refused: // this term is over, as will be noticed
		t.finish()
		return true
	}
	t.install(gateway{node, a.Incarnation}, fromLocks(database, a.Locks), a.Count)
	return true
}

// take takes a lock for a session of a process, and waits for it.
func (n *Net) take(
	ctx context.Context, g gateway, k lock, within txn.ID, r locks.Request, count uint64,
) (leaderTerm, error) {
	t, err := n.leadership(ctx, k.tag.Database)
	if err != nil {
		return leaderTerm{}, err
	}
	if err := t.take(ctx, g, k, within, r, count); err != nil {
		return leaderTerm{}, err
	}
	return t.leader, n.confirm(ctx, t)
}

// confirm checks that the term continues (A1). If it cannot, a granted lock is kept: the gateway
// either repeats its request or no longer lists the lock.
func (n *Net) confirm(ctx context.Context, t *leadership) error {
	if err := n.cfg.Confirm(ctx, txn.FragmentID(t.leader.fragment), t.leader.term); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return errElsewhere
	}
	return nil
}

// release releases locks of a process.
func (n *Net) release(g gateway, database uint32, gone []lock, count uint64) {
	n.leadershipsMu.Lock()
	t := n.leaderships[database]
	n.leadershipsMu.Unlock()
	if t != nil {
		t.release(g, gone, count)
	}
}

// kept handles the list of what a process holds, and returns which of these locks are not held
// here.
func (n *Net) kept(
	ctx context.Context, g gateway, database uint32, held, asked []lock, count uint64,
) (leaderTerm, []int, error) {
	t, err := n.present(database)
	if err != nil {
		return leaderTerm{}, nil, err
	}
	missing, ok := t.keep(g, held, asked, count)
	if !ok {
		return leaderTerm{}, nil, errElsewhere
	}
	return t.leader, missing, n.confirm(ctx, t)
}

// Locks lists the locks that are kept here.
func (n *Net) Locks() []locks.Lock {
	n.leadershipsMu.Lock()
	defer n.leadershipsMu.Unlock()
	var out []locks.Lock
	for _, t := range n.leaderships {
		if t.ctx.Err() == nil {
			out = append(out, t.manager.Locks()...)
		}
	}
	return out
}
