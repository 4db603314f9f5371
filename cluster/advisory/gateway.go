package advisory

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/locks"
)

// gate is the state of this node's sessions for the locks of a database. Its fields are guarded by
// Net.mu.
type gate struct {
	known leaderTerm    // the newest known lock leader; grants of earlier ones are refused (A2)
	held  map[lock]lock // by sessions here; locks of a transaction without its session (key)
	asked map[lock]int  // locks that sessions here ask for
	sure  time.Time     // when the Keep was sent after which the lock leader confirmed all held locks
	dirty bool          // the lock leader may have locks that were released
	turn  chan struct{} // one Keep at a time
}

// key identifies a lock for its release.
func (k lock) key() lock {
	if !k.txn.IsZero() {
		k.session = 0
	}
	return k
}

func (n *Net) gate(database uint32) *gate {
	g := n.gates[database]
	if g == nil {
		g = &gate{held: map[lock]lock{}, asked: map[lock]int{}, turn: make(chan struct{}, 1)}
		n.gates[database] = g
	}
	return g
}

// Acquire takes a lock at its lock leader, and waits for it there. The error is
// locks.ErrNotAvailable, 40P01, 57P03, or the context's cause.
func (n *Net) Acquire(ctx context.Context, l locks.AdvisoryRequest) error {
	k := lock{session: l.PID, txn: l.Owner, tag: l.Tag, mode: l.Request.Mode}
	n.mu.Lock()
	g := n.gate(l.Tag.Database)
	g.asked[k]++
	n.mu.Unlock()
	defer func() {
		n.mu.Lock()
		if g.asked[k]--; g.asked[k] == 0 {
			delete(g.asked, k)
		}
		g.dirty = true
		n.mu.Unlock()
	}()
	failing := time.Now()
	for waited := false; ; {
		start := time.Now()
		at, err := n.takeOnce(ctx, k, l)
		if long := time.Since(start) > tick; err == nil && long && !waited {
			// The request has waited, so the time of the grant is unknown; a grant counted from the
			// time of the request might be treated as lost at once (A3).
			waited = true
			continue
		}
		switch {
		case err == nil && n.granted(g, k, at, start):
			return nil
		case err != nil && !errors.Is(err, errElsewhere):
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case time.Since(start) > tick:
			failing = time.Now() // it has waited there
		case time.Since(failing) > timeout:
			return pgerr.New(pgerr.CannotConnectNow, "advisory locks cannot be taken at present").
				WithDetail("The node that leads the database's first fragment does not answer, or there is none.").
				WithHint("sherd.fragments and sherd.nodes show what is missing.")
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// granted records a lock that a lock leader has granted, unless a later lock leader has asked
// meanwhile.
func (n *Net) granted(g *gate, k lock, at leaderTerm, sent time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if at.before(g.known) {
		return false
	}
	if len(g.held) == 0 {
		g.sure = sent
	}
	g.known = at
	n.add(g, k)
	return true
}

// takeOnce asks the node that is the lock leader according to this node.
func (n *Net) takeOnce(ctx context.Context, k lock, l locks.AdvisoryRequest) (leaderTerm, error) {
	f, ok := n.first(k.tag.Database)
	if !ok {
		return leaderTerm{}, pgerr.New(pgerr.InvalidCatalogName, "the database does not exist any more")
	}
	node, _, ok := n.cfg.Leader(f)
	if !ok {
		return leaderTerm{}, errElsewhere
	}
	n.mu.Lock()
	n.count++
	count := n.count
	n.mu.Unlock()
	if node == n.cfg.Self {
		return n.take(ctx, gateway{n.cfg.Self, n.cfg.Incarnation}, k, l.Within, l.Request, count)
	}
	client, err := n.client(node)
	if err != nil {
		return leaderTerm{}, errElsewhere
	}
	a, err := client.Take(ctx, &pb.AdvisoryTake{
		Incarnation: n.cfg.Incarnation, Database: k.tag.Database,
		CatalogVersion: n.cfg.Catalog.View().Version(), Lock: toLock(k), Within: toTxn(l.Within),
		NoWait: l.Request.NoWait, DeadlockMicros: l.Request.Deadlock.Microseconds(), Log: l.Request.Log, Count: count,
	})
	switch {
	case status.Code(err) == codes.Unimplemented:
		return leaderTerm{}, pgerr.New(pgerr.ObjectNotInPrerequisiteState,
			"a node is of a release that cannot keep advisory locks for others").
			WithHint("Upgrade it first.")
	case err != nil: // whether it was granted shows when it is asked for again
		return leaderTerm{}, errElsewhere
	case a.NotAvailable:
		return leaderTerm{}, locks.ErrNotAvailable
	case a.Sqlstate != "":
		e := pgerr.New(a.Sqlstate, "%s", a.Message)
		e.Detail, e.Hint = a.Detail, a.Hint
		return leaderTerm{}, e
	case a.Leader == nil:
		return leaderTerm{}, errElsewhere
	}
	return leaderTerm{a.Leader.Fragment, a.Leader.Term}, nil
}

// ReleaseAll releases locks, and waits a moment for the lock leader to confirm. If the lock leader
// does not answer, it is notified later (A5).
func (n *Net) ReleaseAll(list []locks.Kept) {
	by := map[uint32][]lock{}
	n.mu.Lock()
	for _, x := range list {
		g := n.gates[x.Tag.Database]
		if g == nil {
			continue
		}
		key := lock{session: x.PID, txn: x.Owner, tag: x.Tag, mode: x.Mode}
		if k, held := g.held[key]; held {
			n.remove(g, k)
			by[x.Tag.Database] = append(by[x.Tag.Database], k)
		}
	}
	count := n.count
	n.mu.Unlock()
	for database, gone := range by {
		n.releaseAt(database, gone, count)
	}
}

func (n *Net) releaseAt(database uint32, gone []lock, count uint64) {
	f, ok := n.first(database)
	if !ok {
		return
	}
	node, _, ok := n.cfg.Leader(f)
	switch {
	case !ok:
	case node == n.cfg.Self:
		n.release(gateway{n.cfg.Self, n.cfg.Incarnation}, database, gone, count)
	default:
		ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
		defer cancel()
		if client, err := n.client(node); err == nil {
			_, _ = client.Release(ctx, &pb.AdvisoryKeep{Incarnation: n.cfg.Incarnation,
				Database: database, Locks: toLocks(gone), Count: count})
		}
	}
}

// add records that a lock is held. The caller holds mu.
func (n *Net) add(g *gate, k lock) {
	if _, has := g.held[k.key()]; has {
		return
	}
	g.held[k.key()] = k
	u := n.users[k.user()]
	if u == nil {
		u = &use{database: k.tag.Database}
		n.users[k.user()] = u
	}
	u.locks++
	n.some.Store(true)
}

// remove records that a lock is not held any more. The caller holds mu.
func (n *Net) remove(g *gate, k lock) {
	delete(g.held, k.key())
	g.dirty = true
	if u := n.users[k.user()]; u != nil {
		if u.locks--; u.locks == 0 {
			delete(n.users, k.user())
		}
	}
	n.some.Store(len(n.users)+len(n.lostBy) > 0)
}

// Confirm checks, before a transaction commits, that the lock leader has kept what the transaction
// and its session hold: 40001 if not (A4).
func (n *Net) Confirm(ctx context.Context, pid uint32, id txn.ID) error {
	if !n.some.Load() {
		return nil
	}
	for _, u := range []user{{session: pid}, {txn: id}} {
		if err := n.confirmFor(ctx, u); err != nil {
			return err
		}
	}
	return nil
}

func (n *Net) confirmFor(ctx context.Context, u user) error {
	for {
		n.mu.Lock()
		held := n.users[u]
		_, lost := n.lostBy[u]
		n.mu.Unlock()
		switch {
		case lost:
			return pgerr.New(pgerr.SerializationFailure, "an advisory lock of the transaction was lost").
				WithDetail("The node that kept it was not reached for too long, or this one was not.").
				WithHint("Run the transaction again.")
		case held == nil:
			return nil
		}
		if n.keep(ctx, held.database) == nil {
			n.mu.Lock()
			_, lost = n.lostBy[u]
			n.mu.Unlock()
			if !lost {
				return nil
			}
			continue
		}
		n.expire(held.database)
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// heldFor returns the locks of sessions here, for a new lock leader; from then on grants of earlier
// lock leaders are refused (A2). It returns false if a later lock leader has asked.
func (n *Net) heldFor(database uint32, h leaderTerm) (held []lock, count uint64, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	g := n.gate(database)
	if h.before(g.known) {
		return nil, 0, false
	}
	g.known = h
	return slices.Collect(maps.Values(g.held)), n.count, true
}
