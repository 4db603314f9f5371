package locks

import (
	"context"
	"slices"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
)

// wait is a request that waits in an object's queue.
type wait struct {
	txn.Wait
	tag     Tag
	owner   *Owner   // the future holder
	session *Session // the requesting session
	mode    Mode
	since   time.Time
	granted chan struct{}
	ended   chan error // one error: of a cycle over several nodes
	done    bool       // granted or given up; guarded by the object's stripe
}

// enqueue takes the lock if no other session stands in the way; otherwise it adds a wait to the
// queue. With NoWait it never adds a wait, and on 40P01 it does neither. The stripe is held.
func (m *Manager) enqueue(o *object, owner *Owner, session *Session, r Request) (*wait, error) {
	at := o.placeFor(session)
	if !o.blocked(session, r.Mode) && !behind(o.queue[:at], session, r.Mode) {
		o.grant(owner, r.Mode)
		m.passed(o, session, r.Mode)
		return nil, nil
	}
	if r.NoWait {
		return nil, ErrNotAvailable
	}
	w := &wait{
		Wait: txn.Wait{Waiter: session.lockOwner(), Lock: r.Mode.String(), Object: o.tag.String()},
		tag:  o.tag, owner: owner, session: session, mode: r.Mode, since: time.Now(), granted: make(chan struct{}),
		ended: make(chan error, 1),
	}
	w.End = func(err error) {
		select {
		case w.ended <- err:
		default:
		}
	}
	err := m.detector.Block(&w.Wait, o.blockersOf(w, at)...)
	if err != nil && at > 0 {
		// Behind the others it would never be granted; before them it may be, and takes nothing
		// that they have.
		first := o.blockersOf(w, 0)
		if len(first) == 0 {
			o.grant(owner, r.Mode)
			m.passed(o, session, r.Mode)
			return nil, nil
		}
		if again := m.detector.Block(&w.Wait, first...); again == nil {
			at, err = 0, nil
		}
	}
	if err != nil {
		return nil, err
	}
	o.queue = slices.Insert(o.queue, at, w)
	session.waiting.Store(w)
	m.passed(o, session, r.Mode)
	return w, nil
}

// placeFor returns the place of a session's request in the queue: before the first wait for a lock
// that the session holds, otherwise at the end.
func (o *object) placeFor(session *Session) int {
	var mine Set
	for _, h := range o.holds {
		if h.owner.session.Load() == session {
			mine |= h.modes
		}
	}
	if mine == 0 {
		return len(o.queue)
	}
	for i, w := range o.queue {
		if conflicts[w.mode]&mine != 0 {
			return i
		}
	}
	return len(o.queue)
}

// blocked reports whether another session holds a mode that excludes mode.
func (o *object) blocked(session *Session, mode Mode) bool {
	if o.granted&conflicts[mode] == 0 {
		return false
	}
	for _, h := range o.holds {
		if h.modes&conflicts[mode] != 0 && h.owner.session.Load() != session {
			return true
		}
	}
	return false
}

// behind reports whether one of the waits excludes mode: the first to come is granted first.
func behind(queue []*wait, session *Session, mode Mode) bool {
	for _, w := range queue {
		if w.session != session && w.mode.Conflicts(mode) {
			return true
		}
	}
	return false
}

// blockersOf returns the lock owners for which w waits at a place in the queue: holders, and the
// waits before it.
func (o *object) blockersOf(w *wait, at int) []txn.LockOwner {
	var out []txn.LockOwner
	for _, h := range o.holds {
		if h.modes&conflicts[w.mode] != 0 && h.owner.session.Load() != w.session {
			out = append(out, h.owner.lockOwner())
		}
	}
	for _, x := range o.queue[:at] {
		if x != w && x.session != w.session && x.mode.Conflicts(w.mode) {
			out = append(out, x.Waiter)
		}
	}
	return out
}

// passed informs the detector of the waits that a session has passed in the queue. If that closes a
// cycle, the detector keeps their earlier entries, and the waits find the cycle when they look
// again.
func (m *Manager) passed(o *object, session *Session, mode Mode) {
	for at, w := range o.queue {
		if w.session == session || !w.mode.Conflicts(mode) {
			continue
		}
		all := o.blockersOf(w, at)
		if m.detector.Block(&w.Wait, all...) != nil {
			before := slices.DeleteFunc(all, func(p txn.LockOwner) bool { return p == session.lockOwner() })
			_ = m.detector.Block(&w.Wait, before...)
		}
	}
}

// promote grants the waits that nothing blocks any more. The stripe is held.
func (o *object) promote() {
	kept := o.queue[:0]
	for _, w := range o.queue {
		if o.blocked(w.session, w.mode) || behind(kept, w.session, w.mode) {
			kept = append(kept, w)
			continue
		}
		o.grant(w.owner, w.mode)
		w.done = true
		close(w.granted)
	}
	clear(o.queue[len(kept):])
	o.queue = kept
}

// await waits until w is granted. A lock that is granted although the wait has failed is kept.
func (m *Manager) await(ctx context.Context, s *stripe, o *object, w *wait, r Request) (err error) {
	defer w.session.waiting.Store(nil)
	var timeout <-chan time.Time
	if r.Timeout > 0 {
		t := time.NewTimer(r.Timeout)
		defer t.Stop()
		timeout = t.C
	}
	recheck := time.NewTimer(max(r.Deadlock, time.Millisecond))
	defer recheck.Stop()
	log := r.Log
	defer func() {
		if waited := time.Since(w.since); log && waited >= r.Deadlock {
			m.logger.Info(
				"the wait for a lock is over", "pid", w.session.pid, "lock", w.Lock, "object", w.Object, "waited",
				waited, "error", err,
			)
		}
	}()
	for {
		select {
		case <-w.granted:
			m.detector.Done(&w.Wait)
			return nil
		case <-recheck.C:
			if err = m.again(s, o, w, r); err == nil {
				r.Log = false // it is logged once
				recheck.Reset(max(r.Deadlock, time.Second))
				continue
			}
		case err = <-w.ended:
		case <-timeout:
			err = pgerr.New(pgerr.LockNotAvailable, "canceling statement due to lock timeout")
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		if m.giveUp(s, o, w) {
			return err
		}
		m.detector.Done(&w.Wait)
		return nil
	}
}

// again looks for a cycle that closed after the wait began.
func (m *Manager) again(s *stripe, o *object, w *wait, r Request) error {
	if r.Log {
		m.logger.Info("still waiting for a lock", "pid", w.session.pid, "lock", w.Lock, "object", w.Object,
			"waited", time.Since(w.since), "blocked_by", m.Blocking(w.session.pid))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.done {
		return nil
	}
	return m.detector.Block(&w.Wait, o.blockersOf(w, slices.Index(o.queue, w))...)
}

// giveUp removes w from the queue; it returns false if w has been granted meanwhile.
func (m *Manager) giveUp(s *stripe, o *object, w *wait) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.done {
		return false
	}
	w.done = true
	m.detector.Done(&w.Wait)
	o.queue = slices.DeleteFunc(o.queue, func(x *wait) bool { return x == w })
	o.promote() // the waits behind it may go
	o.tidy(s)
	return true
}
