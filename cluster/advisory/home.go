package advisory

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/sql/locks"
	"github.com/sherddb/sherd/txn"
)

// gateway is a process whose sessions hold locks.
type gateway struct {
	node        uint32
	incarnation uint64
}

// tenure is this node's term of office as the home of a database's locks, with a lock table of its own.
type tenure struct {
	home    home
	began   time.Time // of the term, or noticed then
	manager *locks.Manager
	ctx     context.Context // ends with the term
	end     context.CancelFunc
	ready   chan struct{} // closed when all nodes have told what they hold

	mu       sync.Mutex
	sessions map[holderID]*holder  // guarded by mu
	heard    map[gateway]time.Time // guarded by mu
	over     bool                  // guarded by mu
	told     map[gateway]bool      // what they hold; guarded by mu
}

// holderID names a session of another process, or of this one.
type holderID struct {
	gateway
	session uint32
}

// holder is a session, with its transactions, in the lock table. Its fields are guarded by tenure.mu.
type holder struct {
	session *locks.Session
	txns    map[txn.ID]*locks.Owner
	held    map[lock]uint64 // with the count by which it was asked for
	waits   int
}

// lookHomes notices new terms of this node, ends those that are over, and lets go of what processes held that have gone.
func (n *Net) lookHomes() {
	n.homes.Lock()
	defer n.homes.Unlock()
	for d := range n.cfg.Catalog.View().Databases() {
		if h, ok := n.own(d.OID); ok && n.since[d.OID].home != h {
			n.since[d.OID] = timeOf{h, time.Now()}
		}
	}
	for database := range n.since {
		if n.cfg.Catalog.View().Database(database) == nil {
			delete(n.since, database)
		}
	}
	for database, t := range n.tenures {
		if h, ok := n.own(database); !ok || h != t.home {
			t.finish()
			delete(n.tenures, database)
			continue
		}
		t.dropGone(n)
	}
}

// own gives this node's present term as a home.
func (n *Net) own(database uint32) (home, bool) {
	f, ok := n.first(database)
	if !ok {
		return home{}, false
	}
	node, term, ok := n.cfg.Leader(f)
	return home{uint32(f), term}, ok && node == n.cfg.Self && term != 0
}

func (t *tenure) finish() {
	t.mu.Lock()
	t.over = true
	t.mu.Unlock()
	t.end()
}

// tenure gives this node's term as the home of a database's locks, once all nodes have told what they hold.
func (n *Net) tenure(ctx context.Context, database uint32) (*tenure, error) {
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

// present gives this node's term as the home, which may have just begun.
func (n *Net) present(database uint32) (*tenure, error) {
	h, ok := n.own(database)
	if !ok {
		return nil, errElsewhere
	}
	n.homes.Lock()
	t := n.tenures[database]
	if t == nil || t.home != h {
		if t != nil {
			t.finish()
		}
		t = n.begin(database, h)
		n.tenures[database] = t
	}
	n.homes.Unlock()
	return t, nil
}

// knows tells whether a process has told what it holds, or all have who may. The caller holds mu.
func (t *tenure) knows(g gateway) bool {
	select {
	case <-t.ready:
		return true
	default:
		return t.told[g]
	}
}

// begin begins a term. The caller holds homes.
func (n *Net) begin(database uint32, h home) *tenure {
	t := &tenure{
		home: h, began: time.Now(), manager: locks.NewManager(n.cfg.Detector, n.cfg.Logger), ready: make(chan struct{}),
		sessions: map[holderID]*holder{}, heard: map[gateway]time.Time{}, told: map[gateway]bool{},
	}
	if s := n.since[database]; s.home == h {
		t.began = s.at
	}
	t.ctx, t.end = context.WithCancel(context.Background())
	if n.alone() {
		n.gatherHere(t, database)
		close(t.ready)
		return t
	}
	go n.gather(t, database)
	return t
}

func (n *Net) gatherHere(t *tenure, database uint32) bool {
	held, count, ok := n.heldFor(database, t.home)
	if ok {
		t.install(gateway{n.cfg.Self, n.cfg.Incarnation}, held, count)
	}
	return ok
}

// gather has every node tell what it holds (A1).
func (n *Net) gather(t *tenure, database uint32) {
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

// gatherAt asks a node until it answers, or nobody who holds something there can still believe it.
func (n *Net) gatherAt(t *tenure, database, node uint32) {
	for t.ctx.Err() == nil && n.cfg.Catalog.View().Node(node) != nil {
		if n.question(t, database, node) {
			return
		}
		if time.Since(t.began) > grace {
			n.cfg.Logger.Info("advisory locks are given without a node that does not answer", "node", node, "database", database)
			return
		}
		_ = sleep(t.ctx, 5*pause)
	}
}

func (n *Net) question(t *tenure, database, node uint32) bool {
	ctx, cancel := context.WithTimeout(t.ctx, askTimeout)
	defer cancel()
	client, err := n.client(node)
	if err != nil {
		return false
	}
	a, err := client.Held(ctx, &pb.AdvisoryQuestion{
		Database: database, CatalogVersion: n.cfg.Catalog.View().Version(), Home: &pb.AdvisoryHome{Fragment: t.home.fragment, Term: t.home.term},
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

// install grants what a process holds. What stands in its way was given to somebody else since the process was not heard of for too long: it will hear.
func (t *tenure) install(g gateway, held []lock, count uint64) {
	now, done := context.WithCancel(context.Background())
	defer done()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.heard[g], t.told[g] = time.Now(), true
	for _, k := range held {
		h := t.holder(g, k.session)
		if err := h.acquire(now, k, locks.Request{Mode: k.mode, NoWait: true}, txn.ID{}); err == nil {
			h.held[k] = count
		}
	}
}

// holder gives a session in the lock table. The caller holds mu.
func (t *tenure) holder(g gateway, session uint32) *holder {
	id := holderID{g, session}
	h := t.sessions[id]
	if h == nil {
		h = &holder{session: t.manager.NewSession(session), txns: map[txn.ID]*locks.Owner{}, held: map[lock]uint64{}}
		t.sessions[id] = h
	}
	return h
}

// owner gives a transaction of the session.
func (h *holder) owner(id txn.ID) *locks.Owner {
	o := h.txns[id]
	if o == nil {
		o = h.session.Begin(id)
		h.txns[id] = o
	}
	return o
}

// acquire takes a lock that does not have to be waited for.
func (h *holder) acquire(ctx context.Context, k lock, r locks.Request, within txn.ID) error {
	return h.acquirer(k, within)(ctx, k.tag, r)
}

// acquirer gives what takes a lock. A session's own is waited for by its transaction.
func (h *holder) acquirer(k lock, within txn.ID) func(context.Context, locks.Tag, locks.Request) error {
	switch {
	case !k.txn.IsZero():
		return h.owner(k.txn).Acquire
	case within.IsZero():
		return h.session.Acquire
	}
	h.owner(within)
	return h.session.Acquire
}

// take takes a lock for a session of a process. It waits for it.
func (n *Net) take(ctx context.Context, g gateway, k lock, within txn.ID, r locks.Request, count uint64) (home, error) {
	t, err := n.tenure(ctx, k.tag.Database)
	if err != nil {
		return home{}, err
	}
	t.mu.Lock()
	h := t.holder(g, k.session)
	t.heard[g] = time.Now()
	if _, has := h.held[k]; has {
		h.held[k] = count
		t.mu.Unlock()
		return t.home, n.confirm(ctx, t)
	}
	h.waits++
	acquire := h.acquirer(k, within)
	t.mu.Unlock()
	waiting, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(t.ctx, func() { stop(errElsewhere) })()
	r.Mode, r.Timeout = k.mode, 0
	err = acquire(waiting, k.tag, r)
	t.mu.Lock()
	h.waits--
	switch {
	case err != nil:
	case h.twice(k): // a request whose caller had gone was still waiting
		h.held[k] = max(h.held[k], count)
	case t.over || ctx.Err() != nil:
		h.drop(k)
		err = errElsewhere
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
	default:
		h.held[k] = count
	}
	t.tidy(holderID{g, k.session}, h)
	t.mu.Unlock()
	if err != nil {
		return home{}, err
	}
	return t.home, n.confirm(ctx, t)
}

// confirm proves that the term goes on (A1). A lock that was granted is kept where it cannot: the gateway asks again, or lists it no more.
func (n *Net) confirm(ctx context.Context, t *tenure) error {
	if err := n.cfg.Confirm(ctx, txn.FragmentID(t.home.fragment), t.home.term); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return errElsewhere
	}
	return nil
}

// twice tells whether a lock that was granted now had been granted already; it is held once. The caller holds tenure.mu.
func (h *holder) twice(k lock) bool {
	_, has := h.held[k]
	if has && k.txn.IsZero() {
		h.session.Unlock(k.tag, k.mode)
	}
	return has
}

// drop lets go of a lock. The caller holds tenure.mu.
func (h *holder) drop(k lock) {
	delete(h.held, k)
	if k.txn.IsZero() {
		h.session.Unlock(k.tag, k.mode)
	} else if o := h.txns[k.txn]; o != nil {
		o.Drop(k.tag, k.mode)
	}
}

// tidy forgets transactions and sessions that hold nothing and wait for nothing. The caller holds mu.
func (t *tenure) tidy(id holderID, h *holder) {
	if h.waits > 0 {
		return
	}
	used := map[txn.ID]bool{}
	for k := range h.held {
		used[k.txn] = true
	}
	for x, o := range h.txns {
		if !used[x] {
			o.Release()
			delete(h.txns, x)
		}
	}
	if len(h.held) == 0 && t.sessions[id] == h {
		delete(t.sessions, id)
	}
}

// release lets go of locks of a process, but for what it has asked for since.
func (n *Net) release(g gateway, database uint32, gone []lock, count uint64) {
	n.homes.Lock()
	t := n.tenures[database]
	n.homes.Unlock()
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, k := range gone {
		id := holderID{g, k.session}
		if h := t.sessions[id]; h != nil {
			if at, has := h.held[k]; has && at <= count {
				h.drop(k)
				t.tidy(id, h)
			}
		}
	}
}

// kept lets go of what a process does not list, and tells which of what it lists it does not have (A5).
func (n *Net) kept(ctx context.Context, g gateway, database uint32, held, asked []lock, count uint64) (home, []int, error) {
	t, err := n.present(database)
	if err != nil {
		return home{}, nil, err
	}
	listed := map[lock]bool{}
	for _, k := range asked {
		listed[k] = true
	}
	var missing []int
	t.mu.Lock()
	if !t.knows(g) || t.over {
		t.mu.Unlock()
		return home{}, nil, errElsewhere
	}
	t.heard[g] = time.Now()
	for i, k := range held {
		listed[k] = true
		h := t.sessions[holderID{g, k.session}]
		if h == nil {
			missing = append(missing, i)
		} else if _, has := h.held[k]; !has {
			missing = append(missing, i)
		}
	}
	for id, h := range t.sessions {
		if id.gateway != g {
			continue
		}
		for k, at := range h.held {
			if !listed[k] && at <= count {
				h.drop(k)
			}
		}
		t.tidy(id, h)
	}
	t.mu.Unlock()
	return t.home, missing, n.confirm(ctx, t)
}

// dropGone lets go of what processes held that have ended, or were not heard of for the grace.
func (t *tenure) dropGone(n *Net) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for g, at := range t.heard {
		now, silent := n.cfg.Incarnations(g.node), time.Since(at)
		if ended := now != 0 && now != g.incarnation && silent > restarted; g.node == n.cfg.Self || silent < grace && !ended {
			continue
		}
		delete(t.heard, g)
		for id, h := range t.sessions {
			if id.gateway == g {
				for k := range h.held {
					h.drop(k)
				}
				t.tidy(id, h)
			}
		}
	}
}

// Locks lists the locks that are kept here.
func (n *Net) Locks() []locks.Lock {
	n.homes.Lock()
	defer n.homes.Unlock()
	var out []locks.Lock
	for _, t := range n.tenures {
		if t.ctx.Err() == nil {
			out = append(out, t.manager.Locks()...)
		}
	}
	return out
}
