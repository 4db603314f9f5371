package advisory

import (
	"context"
	"sync"
	"time"

	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/locks"
)

// gateway is a process whose sessions hold locks.
type gateway struct {
	node        uint32
	incarnation uint64
}

// leadership is this node's term as the lock leader of a database's locks, with a lock table
// of its own.
type leadership struct {
	leader  leaderTerm
	began   time.Time // of the term, or noticed then
	manager *locks.Manager
	ctx     context.Context // ends with the term
	end     context.CancelFunc
	ready   chan struct{} // closed when all nodes have reported what they hold

	mu        sync.Mutex
	sessions  map[holderID]*holder  // guarded by mu
	lastHeard map[gateway]time.Time // guarded by mu
	over      bool                  // guarded by mu
	reported  map[gateway]bool      // processes that have reported what they hold; guarded by mu
}

// holderID names a session of another process, or of this one.
type holderID struct {
	gateway
	session uint32
}

// holder is a session, with its transactions, in the lock table. Its fields are guarded by
// leadership.mu.
type holder struct {
	session *locks.Session
	txns    map[txn.ID]*locks.Owner
	held    map[lock]uint64 // with the count of the request
	waits   int
}

func newLeadership(h leaderTerm, began time.Time, manager *locks.Manager) *leadership {
	t := &leadership{
		leader: h, began: began, manager: manager, ready: make(chan struct{}),
		sessions: map[holderID]*holder{}, lastHeard: map[gateway]time.Time{}, reported: map[gateway]bool{},
	}
	t.ctx, t.end = context.WithCancel(context.Background())
	return t
}

func (t *leadership) finish() {
	t.mu.Lock()
	t.over = true
	t.mu.Unlock()
	t.end()
}

// knows reports whether a process has reported its locks, or all processes that must report have.
// The caller holds mu.
func (t *leadership) knows(g gateway) bool {
	select {
	case <-t.ready:
		return true
	default:
		return t.reported[g]
	}
}

// install grants the locks that a process reports. If one conflicts with a lock of another session,
// that was granted because the process was not heard from for too long; the process will learn that
// its lock is lost.
func (t *leadership) install(g gateway, held []lock, count uint64) {
	now, done := context.WithCancel(context.Background())
	defer done()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lastHeard[g], t.reported[g] = time.Now(), true
	for _, k := range held {
		h := t.holder(g, k.session)
		if err := h.acquire(now, k, locks.Request{Mode: k.mode, NoWait: true}, txn.ID{}); err == nil {
			h.held[k] = count
		}
	}
}

// holder returns a session in the lock table. The caller holds mu.
func (t *leadership) holder(g gateway, session uint32) *holder {
	id := holderID{g, session}
	h := t.sessions[id]
	if h == nil {
		h = &holder{session: t.manager.NewSession(session), txns: map[txn.ID]*locks.Owner{}, held: map[lock]uint64{}}
		t.sessions[id] = h
	}
	return h
}

// owner returns a transaction of the session.
func (h *holder) owner(id txn.ID) *locks.Owner {
	o := h.txns[id]
	if o == nil {
		o = h.session.Begin(id)
		h.txns[id] = o
	}
	return o
}

// acquire takes a lock without waiting.
func (h *holder) acquire(ctx context.Context, k lock, r locks.Request, within txn.ID) error {
	return h.acquirer(k, within)(ctx, k.tag, r)
}

// acquirer returns the function that takes a lock. The session's transaction waits for a lock of
// the session itself.
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

// take takes a lock for a session of a process, and waits for it.
func (t *leadership) take(ctx context.Context, g gateway, k lock, within txn.ID, r locks.Request, count uint64) error {
	t.mu.Lock()
	h := t.holder(g, k.session)
	t.lastHeard[g] = time.Now()
	if _, has := h.held[k]; has {
		h.held[k] = count
		t.mu.Unlock()
		return nil
	}
	h.waits++
	acquire := h.acquirer(k, within)
	t.mu.Unlock()
	waiting, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(t.ctx, func() { stop(errElsewhere) })()
	r.Mode, r.Timeout = k.mode, 0
	err := acquire(waiting, k.tag, r)
	t.mu.Lock()
	defer t.mu.Unlock()
	h.waits--
	switch {
	case err != nil:
	case h.twice(k): // an earlier request, whose caller has gone, was still waiting
		h.held[k] = max(h.held[k], count)
	case t.over || ctx.Err() != nil:
		h.drop(k)
		err = errElsewhere
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
	default:
		h.held[k] = count
		// After a long wait without locks the process may have been forgotten. Record it again, so
		// that its locks are dropped when it ends.
		t.lastHeard[g] = time.Now()
	}
	t.tidy(holderID{g, k.session}, h)
	return err
}

// twice reports whether a lock that was granted now was held already; it is held once. The caller
// holds leadership.mu.
func (h *holder) twice(k lock) bool {
	_, has := h.held[k]
	if has && k.txn.IsZero() {
		h.session.Unlock(k.tag, k.mode)
	}
	return has
}

// drop releases a lock. The caller holds leadership.mu.
func (h *holder) drop(k lock) {
	delete(h.held, k)
	if k.txn.IsZero() {
		h.session.Unlock(k.tag, k.mode)
	} else if o := h.txns[k.txn]; o != nil {
		o.Drop(k.tag, k.mode)
	}
}

// tidy forgets transactions and sessions that hold nothing and wait for nothing. The caller holds
// mu.
func (t *leadership) tidy(id holderID, h *holder) {
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

// release releases locks of a process, except what it has asked for since.
func (t *leadership) release(g gateway, gone []lock, count uint64) {
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

// keep releases locks that a process does not list and has not asked for since, and returns the
// listed locks that are missing here (A5). ok is false if the process has not reported its locks
// yet.
func (t *leadership) keep(g gateway, held, asked []lock, count uint64) (missing []int, ok bool) {
	listed := map[lock]bool{}
	for _, k := range asked {
		listed[k] = true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.knows(g) || t.over {
		return nil, false
	}
	t.lastHeard[g] = time.Now()
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
	return missing, true
}

// dropGone releases the locks of processes that have ended, or were not heard from for the grace
// period.
func (t *leadership) dropGone(self uint32, incarnations func(node uint32) uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for g, at := range t.lastHeard {
		now, silent := incarnations(g.node), time.Since(at)
		if ended := now != 0 && now != g.incarnation && silent > restarted; g.node == self || silent < grace && !ended {
			continue
		}
		delete(t.lastHeard, g)
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
