package advisory

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	pb "github.com/sherddb/sherd/cluster/nodepb"
)

// keptLost is how long a lost lock is remembered.
const keptLost = time.Hour

// keepAll renews the locks of sessions here at their lock leaders.
func (n *Net) keepAll(ctx context.Context) {
	n.mu.Lock()
	var databases []uint32
	for database, g := range n.gates {
		switch {
		case len(g.held)+len(g.asked) == 0 && n.cfg.Catalog.View().Database(database) == nil:
			delete(n.gates, database)
		case len(g.held) > 0 || g.dirty:
			databases = append(databases, database)
		}
	}
	for u, at := range n.lostBy {
		if time.Since(at) > keptLost {
			delete(n.lostBy, u)
		}
	}
	n.some.Store(len(n.users)+len(n.lostBy) > 0)
	n.mu.Unlock()
	var keeping sync.WaitGroup
	for _, database := range databases {
		keeping.Go(func() {
			if n.keep(ctx, database) != nil {
				n.expire(database)
			}
		})
	}
	keeping.Wait()
}

// keep renews the locks that sessions here have in a database. A lock that the lock leader does not
// have is lost. An error means that the lock leader was not reached.
func (n *Net) keep(ctx context.Context, database uint32) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	n.mu.Lock()
	g := n.gate(database)
	n.mu.Unlock()
	select {
	case g.turn <- struct{}{}:
		defer func() { <-g.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	sent := time.Now()
	n.mu.Lock()
	held, asked, count := slices.Collect(maps.Values(g.held)), slices.Collect(maps.Keys(g.asked)), n.count
	g.dirty = false
	n.mu.Unlock()
	at, missing, err := n.keepOnce(ctx, database, held, asked, count)
	n.mu.Lock()
	switch {
	case err != nil:
	case at.before(g.known):
		err = errElsewhere
	default:
		g.known, g.sure = at, sent
	}
	if err != nil {
		g.dirty = true
		n.mu.Unlock()
		return err
	}
	var lost []lock
	for _, i := range missing {
		if _, still := g.held[held[i].key()]; still { // it was not released meanwhile
			lost = append(lost, held[i])
		}
	}
	pids := n.lose(g, lost)
	n.mu.Unlock()
	n.end(pids)
	return nil
}

func (n *Net) keepOnce(
	ctx context.Context, database uint32, held, asked []lock, count uint64,
) (leaderTerm, []int, error) {
	f, ok := n.first(database)
	if !ok {
		return leaderTerm{}, nil, errElsewhere
	}
	node, _, ok := n.cfg.Leader(f)
	if !ok {
		return leaderTerm{}, nil, errElsewhere
	}
	if node == n.cfg.Self {
		return n.kept(ctx, gateway{n.cfg.Self, n.cfg.Incarnation}, database, held, asked, count)
	}
	client, err := n.client(node)
	if err != nil {
		return leaderTerm{}, nil, err
	}
	a, err := client.Keep(ctx, &pb.AdvisoryKeep{
		Incarnation: n.cfg.Incarnation, Database: database, CatalogVersion: n.cfg.Catalog.View().Version(),
		Locks: toLocks(held), Asked: toLocks(asked),
		Count: count,
	})
	switch {
	case err != nil:
		return leaderTerm{}, nil, err
	case a.Leader == nil:
		return leaderTerm{}, nil, errElsewhere
	}
	var missing []int
	for _, i := range a.Missing {
		if int(i) < len(held) {
			missing = append(missing, int(i))
		}
	}
	return leaderTerm{a.Leader.Fragment, a.Leader.Term}, missing, nil
}

// expire treats locks as lost if no lock leader has confirmed them for the lease (A3).
func (n *Net) expire(database uint32) {
	n.mu.Lock()
	g := n.gates[database]
	var pids []uint32
	if g != nil && len(g.held) > 0 && time.Since(g.sure) > lease {
		pids = n.lose(g, slices.Collect(maps.Values(g.held)))
	}
	n.mu.Unlock()
	n.end(pids)
}

// lose records lost locks, and returns the sessions that must be terminated. The caller holds mu.
func (n *Net) lose(g *gate, lost []lock) (pids []uint32) {
	for _, k := range lost {
		n.lostBy[k.user()] = time.Now()
		n.remove(g, k)
		n.cfg.Logger.Warn("an advisory lock was lost",
			"process", k.session, "transaction", k.txn.String(), "lock", k.tag.String(), "mode", k.mode.String())
		if k.txn.IsZero() {
			pids = append(pids, k.session)
		}
	}
	return pids
}

func (n *Net) end(pids []uint32) {
	if f := n.lost.Load(); f != nil {
		for _, pid := range pids {
			(*f)(pid)
		}
	}
}
