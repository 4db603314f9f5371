package locktable

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
)

// ErrTimeout is 55P03: the lock timeout of a transaction has passed.
var ErrTimeout = pgerr.New(pgerr.LockNotAvailable, "canceling statement due to lock timeout")

// acquire returns o's lock of key in at least req.Mode, and the mode in which o had it before, 0 if
// it had not. It waits for the transactions in the way, or fails with txn.ErrLocked if it must not.
// Other errors are 40P01 on a deadlock, ErrTimeout after the owner's lock timeout, and ctx's.
func (lt *Table) acquire(ctx context.Context, o *Owner, key []byte, req *txn.LockRequest) (*Lock, txn.LockMode, error) {
	s, hash := lt.stripe(key)
	s.mu.Lock()
	entry := lt.entry(s, hash, key)
	if entry == nil {
		l := &Lock{key: string(key), owner: o, mode: req.Mode}
		s.locks[l.key] = l
		s.mu.Unlock()
		return l, 0, nil
	}
	own := entry.of(o)
	if own != nil && own.mode >= req.Mode {
		s.mu.Unlock()
		return own, own.mode, nil
	}
	w := &request{owner: o, key: entry.key, mode: req.Mode, holds: own != nil}
	if entry.isFree(w, entry.waiting()) {
		entry.grant(w)
		lt.grantQueue(entry, nil) // a lock made stronger may be in the way of those that wait
		s.mu.Unlock()
		return w.lock, w.from, nil
	}
	if req.NoWait && !(req.Ending && entry.ending(w)) {
		s.mu.Unlock()
		return nil, 0, txn.ErrLocked
	}
	w.noWait = req.NoWait
	w.since, w.done = time.Now(), make(chan error, 1)
	w.wait = txn.Wait{
		Waiter: o.LockOwner(), Lock: "ShareLock", Key: bytes.Clone(lt.cfg.Given(key)), Fragment: lt.cfg.Fragment,
	}
	w.wait.End = func(err error) { lt.end(s, w, err) }
	entry.enqueue(w)
	lt.grantQueue(entry, w)
	s.mu.Unlock()
	return lt.wait(ctx, s, w)
}

// entry returns the entry of a key, made from compact sets if they have the key; nil if no owner
// has the lock. Called with the stripe's mu held.
func (lt *Table) entry(s *stripe, hash uint64, key []byte) *Lock {
	if entry := s.locks[string(key)]; entry != nil {
		return entry
	}
	return lt.unpack(s, hash, key)
}

// wait waits for the answer to w.
func (lt *Table) wait(ctx context.Context, s *stripe, w *request) (*Lock, txn.LockMode, error) {
	var timeout <-chan time.Time
	expired := error(ErrTimeout)
	d := w.owner.Timeout()
	if w.noWait {
		d, expired = lt.cfg.EndingWait, txn.ErrLocked
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
	if entry := s.locks[w.key]; entry != nil { // else the term has ended and w is answered
		lt.cfg.Detector.Done(&w.wait)
		entry.dequeue(w)
		lt.grantQueue(entry, nil)
	}
	return nil, 0, err
}

// end answers w with an error, unless it has its answer.
func (lt *Table) end(s *stripe, w *request, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	entry := s.locks[w.key]
	if entry == nil || entry.contention == nil || !slices.Contains(entry.contention.queue, w) {
		return
	}
	lt.cfg.Detector.Done(&w.wait)
	entry.dequeue(w)
	w.done <- err
	lt.grantQueue(entry, nil)
}

// force returns o's lock of key, whatever others hold: the locks of prepared transactions did not
// exclude each other when they were made.
func (lt *Table) force(o *Owner, key []byte, mode txn.LockMode) *Lock {
	s, hash := lt.stripe(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	entry := lt.entry(s, hash, key)
	if entry == nil {
		l := &Lock{key: string(key), owner: o, mode: mode}
		s.locks[l.key] = l
		return l
	}
	w := &request{owner: o, mode: mode}
	entry.grant(w)
	return w.lock
}

// find returns o's lock of key, nil if it has none. A lock in o's set is returned without what o
// has learned of the row.
func (lt *Table) find(o *Owner, key []byte) *Lock {
	s, hash := lt.stripe(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.locks[string(key)]; l != nil {
		return l.of(o)
	}
	set := o.set.Load()
	if set == nil {
		return nil
	}
	x := set.state(hash)
	if x.mode == 0 {
		return nil
	}
	return &Lock{key: string(key), owner: o, mode: x.mode, pinned: x.pinned}
}

// release takes l back and grants what others wait for.
func (lt *Table) release(l *Lock) {
	s := lt.stripeOf(l)
	s.mu.Lock()
	defer s.mu.Unlock()
	entry := s.locks[l.key]
	if entry == nil || entry.of(l.owner) != l {
		return // the term has ended
	}
	c := entry.contention
	if c == nil {
		delete(s.locks, l.key)
		return
	}
	c.remove(l)
	if entry == l {
		entry.contention = nil
		if entry = lt.nextEntry(c); entry == nil {
			delete(s.locks, l.key)
			return
		}
		entry.contention = c
		s.locks[entry.key] = entry
	}
	lt.grantQueue(entry, nil)
}

// nextEntry returns a holder to be the row's entry, and grants the lock to the first request if
// there is no holder; nil if no owner wants it.
func (lt *Table) nextEntry(c *contention) *Lock {
	if len(c.holders) > 0 {
		return c.holders[0]
	}
	if len(c.queue) == 0 {
		return nil
	}
	w := c.queue[0]
	c.queue = slices.Delete(c.queue, 0, 1)
	w.lock = &Lock{key: w.key, owner: w.owner, mode: w.mode}
	c.join(w.lock)
	lt.answer(w, nil)
	return w.lock
}

// answer ends the wait of w; nil: it has got its lock.
func (lt *Table) answer(w *request, err error) {
	lt.cfg.Detector.Done(&w.wait)
	w.done <- err
}

// weaken takes l back to a weaker mode.
func (lt *Table) weaken(l *Lock, mode txn.LockMode) {
	s := lt.stripeOf(l)
	s.mu.Lock()
	defer s.mu.Unlock()
	l.mode = mode
	if entry := s.locks[l.key]; entry != nil {
		lt.grantQueue(entry, nil)
	}
}

// grantQueue grants what can be granted after a change at a row, and reports to the detector for
// what the others wait now; last is reported last, so that it is the victim of a cycle that its
// arrival closes (LK4). Called with the stripe's mu held.
func (lt *Table) grantQueue(entry *Lock, last *request) {
	for entry.contention != nil {
		w := entry.grantable()
		if w != nil {
			entry.grant(w)
			lt.answer(w, nil)
		} else if w = lt.reportWaits(entry, last); w == nil {
			entry.simplify()
			return
		}
		entry.dequeue(w)
	}
}

// reportWaits reports to the detector what has changed about the waits for a row. It returns the
// request that closes a cycle, which has its answer.
func (lt *Table) reportWaits(entry *Lock, last *request) *request {
	for i, w := range entry.contention.queue {
		if w != last && !lt.reportWait(entry, i) {
			return w
		}
	}
	if i := slices.Index(entry.contention.queue, last); i >= 0 && !lt.reportWait(entry, i) {
		return last
	}
	return nil
}

func (lt *Table) reportWait(entry *Lock, i int) bool {
	w := entry.contention.queue[i]
	var room [4]txn.LockOwner
	by := room[:0]
	entry.blockers(w, i, func(o *Owner) bool { by = append(by, o.LockOwner()); return true })
	if slices.Equal(by, w.by) {
		return true
	}
	w.by = slices.Clone(by)
	err := lt.cfg.Detector.Block(&w.wait, w.by...)
	if err != nil {
		w.done <- err
	}
	return err == nil
}
