package storage

import (
	"bytes"
	"context"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
)

const lockStripes = 64

// lockTable holds the row locks of the leader. They have PostgreSQL's modes, are granted in the order of arrival, and die with the term.
//
// A request waits for the holders whose modes conflict with its own and for the waiters ahead whose modes do. A transaction that holds the
// lock and wants it stronger waits for the other holders alone: to wait for those who wait for it would never end.
type lockTable struct {
	seed     maphash.Seed
	deadlock *txn.Detector
	stripes  [lockStripes]lockStripe
	sets     atomic.Pointer[[]*Tx] // transactions with a lockSet, nil: none; a new list for each change
	smu      sync.Mutex            // held while sets is changed
}

type lockStripe struct {
	mu    sync.Mutex
	locks map[string]*rowLock // one of the holders of each locked row; guarded by mu
}

// rowLock is one transaction's lock of one row. Most rows have one holder and nobody who waits, so that the rest is kept apart.
type rowLock struct {
	key   string
	t     *Tx
	crowd *crowd // of the holder in the table, nil if it is alone; guarded by the stripe

	// What the holder learned of the row, which counts while nobody else can change it: from SHARE on. For the holder alone.
	version txn.Timestamp
	size    int32 // of the newest committed value, -1 if there is none
	known   bool  // version and size are filled in
	traced  bool  // version tells of a deletion too

	mode   txn.LockMode // changed under the stripe, by the holder or while it waits
	pinned bool         // guarded by the holder's mu
	filed  bool         // pinned, and its key is in the file of such; guarded by the holder's mu
	inSet  bool         // it was put into the table from the holder's set; set once
	number int32        // in the order in which the holder took its locks, counted from 1; guarded by the holder's mu
}

// crowd is what a locked row has beyond one holder.
type crowd struct {
	holders []*rowLock
	queue   []*lockWait // holders who want more come first
}

// lockWait is one request in a queue.
type lockWait struct {
	t     *Tx
	key   string
	mode  txn.LockMode
	since time.Time
	done  chan error // one answer; nil: granted

	holds bool        // t is a holder and wants more
	brief bool        // it shall not wait, but for those that are committing
	wait  txn.Wait    // as the detector knows it
	by    []txn.Party // what the detector was told; guarded by the stripe
	lock  *rowLock    // set before a grant is told
	from  txn.LockMode
}

func (lt *lockTable) init(d *txn.Detector) {
	lt.seed = maphash.MakeSeed()
	lt.deadlock = d
	for i := range lt.stripes {
		lt.stripes[i].locks = map[string]*rowLock{}
	}
}

func (lt *lockTable) hashOf(key string) uint64 { return maphash.String(lt.seed, key) }

func (lt *lockTable) stripe(key []byte) (*lockStripe, uint64) {
	hash := maphash.Bytes(lt.seed, key)
	return &lt.stripes[hash%lockStripes], hash
}

func (lt *lockTable) stripeOf(l *rowLock) *lockStripe {
	return &lt.stripes[lt.hashOf(l.key)%lockStripes]
}

// acquire gives t the lock of key in at least req.Mode, and the mode in which t had it before, 0 if it had not. It waits for those in the way,
// or fails with txn.ErrLocked where it must not. Other errors are 40P01 on a deadlock, 55P03 after the transaction's lock timeout, and ctx's.
func (lt *lockTable) acquire(ctx context.Context, t *Tx, key []byte, req txn.LockRequest) (*rowLock, txn.LockMode, error) {
	s, hash := lt.stripe(key)
	s.mu.Lock()
	front := s.locks[string(key)]
	if front == nil {
		front = lt.show(s, hash, key)
	}
	if front == nil {
		l := &rowLock{key: string(key), t: t, mode: req.Mode}
		s.locks[l.key] = l
		s.mu.Unlock()
		return l, 0, nil
	}
	own := front.of(t)
	if own != nil && own.mode >= req.Mode {
		s.mu.Unlock()
		return own, own.mode, nil
	}
	w := &lockWait{t: t, key: front.key, mode: req.Mode, holds: own != nil}
	if front.free(w, front.waiting()) {
		front.grant(w)
		lt.settle(front, nil) // a lock made stronger may be in the way of those who wait
		s.mu.Unlock()
		return w.lock, w.from, nil
	}
	if req.NoWait && !(req.Ending && front.ending(w)) {
		s.mu.Unlock()
		return nil, 0, txn.ErrLocked
	}
	w.brief = req.NoWait
	w.since, w.done = time.Now(), make(chan error, 1)
	w.wait = txn.Wait{Waiter: t.party(), Lock: "ShareLock", Key: bytes.Clone(t.r.given(key)), Fragment: t.r.cfg.Fragment}
	w.wait.End = func(err error) { lt.end(s, w, err) }
	front.enqueue(w)
	lt.settle(front, w)
	s.mu.Unlock()
	return lt.wait(ctx, s, w)
}

// wait waits for the answer to w.
func (lt *lockTable) wait(ctx context.Context, s *lockStripe, w *lockWait) (*rowLock, txn.LockMode, error) {
	var timeout <-chan time.Time
	expired := error(errLockTimeout)
	d := w.t.timeout()
	if w.brief {
		d, expired = w.t.r.cfg.EndingWait, txn.ErrLocked
	}
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		timeout = timer.C
	}
	var err error
	select {
	case err := <-w.done:
		return w.lock, w.from, err
	case <-ctx.Done():
		err = ctx.Err()
	case <-timeout:
		err = expired
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case err := <-w.done: // answered meanwhile: a lock granted is kept, the rollback releases it
		return w.lock, w.from, err
	default:
	}
	if front := s.locks[w.key]; front != nil { // else the term has ended and w is answered
		lt.deadlock.Done(&w.wait)
		front.leave(w)
		lt.settle(front, nil)
	}
	return nil, 0, err
}

// end answers w with an error, unless it has its answer.
func (lt *lockTable) end(s *lockStripe, w *lockWait, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	front := s.locks[w.key]
	if front == nil || front.crowd == nil || !slices.Contains(front.crowd.queue, w) {
		return
	}
	lt.deadlock.Done(&w.wait)
	front.leave(w)
	w.done <- err
	lt.settle(front, nil)
}

var errLockTimeout = pgerr.New(pgerr.LockNotAvailable, "canceling statement due to lock timeout")

// force gives t the lock of key whatever others hold: those of prepared transactions did not exclude each other when they were made.
func (lt *lockTable) force(t *Tx, key []byte, mode txn.LockMode) *rowLock {
	s, hash := lt.stripe(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	front := s.locks[string(key)]
	if front == nil {
		front = lt.show(s, hash, key)
	}
	if front == nil {
		l := &rowLock{key: string(key), t: t, mode: mode}
		s.locks[l.key] = l
		return l
	}
	w := &lockWait{t: t, mode: mode}
	front.grant(w)
	return w.lock
}

// heldBy gives t's lock of key, nil if it has none. One that is in t's set is given without what t has learned of the row. Called with t's mu
// held.
func (lt *lockTable) heldBy(t *Tx, key []byte) *rowLock {
	s, hash := lt.stripe(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.locks[string(key)]; l != nil {
		return l.of(t)
	}
	if t.set == nil {
		return nil
	}
	x := t.set.state(hash)
	if x.mode == 0 {
		return nil
	}
	return &rowLock{key: string(key), t: t, mode: x.mode, pinned: x.pinned}
}

// release takes l back and grants what others wait for.
func (lt *lockTable) release(l *rowLock) {
	s := lt.stripeOf(l)
	s.mu.Lock()
	defer s.mu.Unlock()
	front := s.locks[l.key]
	if front == nil || front.of(l.t) != l {
		return // the term has ended
	}
	c := front.crowd
	if c == nil {
		delete(s.locks, l.key)
		return
	}
	c.remove(l)
	if front == l {
		front.crowd = nil
		if front = lt.nextFront(c); front == nil {
			delete(s.locks, l.key)
			return
		}
		front.crowd = c
		s.locks[front.key] = front
	}
	lt.settle(front, nil)
}

// nextFront gives a holder to stand in the table, granting the lock to the first waiter if nobody holds it; nil if nobody wants it.
func (lt *lockTable) nextFront(c *crowd) *rowLock {
	if len(c.holders) > 0 {
		return c.holders[0]
	}
	if len(c.queue) == 0 {
		return nil
	}
	w := c.queue[0]
	c.queue = slices.Delete(c.queue, 0, 1)
	w.lock = &rowLock{key: w.key, t: w.t, mode: w.mode}
	c.join(w.lock)
	lt.granted(w)
	return w.lock
}

// granted tells w that it has got its lock.
func (lt *lockTable) granted(w *lockWait) {
	lt.deadlock.Done(&w.wait)
	w.done <- nil
}

// weaken takes l back to a weaker mode.
func (lt *lockTable) weaken(l *rowLock, mode txn.LockMode) {
	s := lt.stripeOf(l)
	s.mu.Lock()
	defer s.mu.Unlock()
	l.mode = mode
	if front := s.locks[l.key]; front != nil {
		lt.settle(front, nil)
	}
}

// settle grants what can be granted after a change at a row, and tells the detector whom the others wait for now; last is told last, so that
// it is the victim of a circle that its arrival closes. Called with the stripe's mu held.
func (lt *lockTable) settle(front *rowLock, last *lockWait) {
	for front.crowd != nil {
		w := front.grantable()
		if w != nil {
			front.grant(w)
			lt.granted(w)
		} else if w = lt.tell(front, last); w == nil {
			front.thin()
			return
		}
		front.leave(w)
	}
}

// tell tells the detector what has changed about the waits for a row. It gives the one that closes a circle, which has its answer.
func (lt *lockTable) tell(front *rowLock, last *lockWait) *lockWait {
	for i, w := range front.crowd.queue {
		if w != last && !lt.tellOne(front, i) {
			return w
		}
	}
	if i := slices.Index(front.crowd.queue, last); i >= 0 && !lt.tellOne(front, i) {
		return last
	}
	return nil
}

func (lt *lockTable) tellOne(front *rowLock, i int) bool {
	w := front.crowd.queue[i]
	var room [4]txn.Party
	by := room[:0]
	front.blockers(w, i, func(t *Tx) bool { by = append(by, t.party()); return true })
	if slices.Equal(by, w.by) {
		return true
	}
	w.by = slices.Clone(by)
	err := lt.deadlock.Block(&w.wait, w.by...)
	if err != nil {
		w.done <- err
	}
	return err == nil
}

// reset drops all locks at the end of a term.
func (lt *lockTable) reset() {
	lt.smu.Lock()
	lt.sets.Store(nil)
	lt.smu.Unlock()
	for i := range lt.stripes {
		s := &lt.stripes[i]
		s.mu.Lock()
		for _, front := range s.locks {
			if front.crowd == nil {
				continue
			}
			for _, w := range front.crowd.queue {
				lt.deadlock.Done(&w.wait)
				w.done <- errStageLost
			}
		}
		s.locks = map[string]*rowLock{}
		s.mu.Unlock()
	}
}
