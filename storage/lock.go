package storage

import (
	"context"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
)

const lockStripes = 64

// lockTable holds the row locks of the leader. Locks are exclusive, granted in the order of arrival, and die with the term.
type lockTable struct {
	seed     maphash.Seed
	deadlock *txn.Detector
	stripes  [lockStripes]lockStripe
}

type lockStripe struct {
	mu    sync.Mutex
	locks map[string]*rowLock // guarded by mu
}

// rowLock is one held lock. The fields after queue belong to the holder: what it learned of the row under the lock, which
// nobody can change while it holds it.
type rowLock struct {
	key    string
	holder *Tx
	queue  []*lockWait // guarded by the stripe
	number int32       // place in the holder's list, counted from 1; guarded by the holder's mu

	known   bool // the fields below are filled in
	version txn.Timestamp
	size    int  // of the newest committed value, -1 if there is none
	traced  bool // version tells of a deletion too
}

type lockWait struct {
	t       *Tx
	granted chan *rowLock // nil: the term has ended
	wait    txn.Wait
}

func (lt *lockTable) init(d *txn.Detector) {
	lt.seed = maphash.MakeSeed()
	lt.deadlock = d
	for i := range lt.stripes {
		lt.stripes[i].locks = map[string]*rowLock{}
	}
}

func (lt *lockTable) stripe(key []byte) *lockStripe {
	return &lt.stripes[maphash.Bytes(lt.seed, key)%lockStripes]
}

// acquire gives t the lock of key, waiting for its holder. It fails with 40P01 on a deadlock, 55P03 after the transaction's
// lock timeout, and when ctx ends.
func (lt *lockTable) acquire(ctx context.Context, t *Tx, key []byte) (*rowLock, error) {
	s := lt.stripe(key)
	s.mu.Lock()
	l := s.locks[string(key)]
	if l == nil {
		l = &rowLock{key: string(key), holder: t}
		s.locks[l.key] = l
		s.mu.Unlock()
		return l, nil
	}
	if l.holder == t {
		s.mu.Unlock()
		return l, nil
	}
	w := &lockWait{t: t, granted: make(chan *rowLock, 1)}
	w.wait = txn.Wait{Waiter: t.party(), Lock: "ShareLock", Key: key, Fragment: t.r.cfg.Fragment}
	if err := lt.deadlock.Block(&w.wait, l.holder.party()); err != nil {
		s.mu.Unlock()
		return nil, err
	}
	l.queue = append(l.queue, w)
	s.mu.Unlock()
	defer lt.deadlock.Done(&w.wait)
	return lt.wait(ctx, s, key, w)
}

func (lt *lockTable) wait(ctx context.Context, s *lockStripe, key []byte, w *lockWait) (*rowLock, error) {
	var timeout <-chan time.Time
	if d := w.t.lockTimeout; d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		timeout = timer.C
	}
	var err error
	select {
	case l := <-w.granted:
		if l == nil {
			return nil, errStageLost
		}
		return l, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-timeout:
		err = pgerr.New(pgerr.LockNotAvailable, "canceling statement due to lock timeout")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case l := <-w.granted: // granted meanwhile: keep it, the rollback releases it
		if l != nil {
			return l, nil
		}
	default:
	}
	if l := s.locks[string(key)]; l != nil {
		l.queue = slices.DeleteFunc(l.queue, func(x *lockWait) bool { return x == w })
	}
	return nil, err
}

// heldBy gives t's lock of key, nil if it has none.
func (lt *lockTable) heldBy(t *Tx, key []byte) *rowLock {
	s := lt.stripe(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.locks[string(key)]; l != nil && l.holder == t {
		return l
	}
	return nil
}

// release gives t's lock l to the next in its queue.
func (lt *lockTable) release(t *Tx, l *rowLock) {
	s := &lt.stripes[maphash.String(lt.seed, l.key)%lockStripes]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.locks[l.key] != l || l.holder != t {
		return // the term has ended
	}
	if len(l.queue) == 0 {
		delete(s.locks, l.key)
		return
	}
	next := l.queue[0]
	nl := &rowLock{key: l.key, holder: next.t, queue: l.queue[1:]}
	s.locks[l.key] = nl
	for _, w := range nl.queue {
		_ = lt.deadlock.Block(&w.wait, next.t.party()) // who was granted it waits for nothing here
	}
	next.granted <- nl
}

// reset drops all locks at the end of a term.
func (lt *lockTable) reset() {
	for i := range lt.stripes {
		s := &lt.stripes[i]
		s.mu.Lock()
		for _, l := range s.locks {
			for _, w := range l.queue {
				w.granted <- nil
			}
		}
		s.locks = map[string]*rowLock{}
		s.mu.Unlock()
	}
}
