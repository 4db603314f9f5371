package storage

import "slices"

// The functions in this file are about one row. All are called with its stripe's mu held, on the
// holder that is the row's entry in the table.

// of returns t's lock, nil if it has none.
func (l *rowLock) of(t *Tx) *rowLock {
	if l.t == t {
		return l
	}
	if l.crowd != nil {
		for _, h := range l.crowd.holders {
			if h.t == t {
				return h
			}
		}
	}
	return nil
}

// waiting returns the length of the queue.
func (l *rowLock) waiting() int {
	if l.crowd == nil {
		return 0
	}
	return len(l.crowd.queue)
}

// blockers calls fn with the transactions that w waits for, until fn returns false. The first ahead
// waiters of the queue are before w.
//
// A transaction that waits for the waiter ahead of it need not report those for which that one
// waits: so a waiter whose mode is as strong as w's stands for all before it, and a long queue is a
// chain.
func (l *rowLock) blockers(w *lockWait, ahead int, fn func(*Tx) bool) {
	if !w.holds && ahead > 0 {
		for _, x := range slices.Backward(l.crowd.queue[:ahead]) {
			if x.t == w.t || !x.mode.Conflicts(w.mode) {
				continue
			}
			if !fn(x.t) || !x.holds && x.mode >= w.mode {
				return
			}
		}
	}
	if l.crowd == nil {
		if l.t != w.t && l.mode.Conflicts(w.mode) {
			fn(l.t)
		}
		return
	}
	for _, h := range l.crowd.holders {
		if h.t != w.t && h.mode.Conflicts(w.mode) && !fn(h.t) {
			return
		}
	}
}

// free reports whether w waits for no transaction.
func (l *rowLock) free(w *lockWait, ahead int) bool {
	free := true
	l.blockers(w, ahead, func(*Tx) bool { free = false; return false })
	return free
}

// ending reports whether w, if it came now, would wait only for transactions that are committing.
func (l *rowLock) ending(w *lockWait) bool {
	ending := true
	l.blockers(w, l.waiting(), func(t *Tx) bool { ending = t.ending.Load(); return ending })
	return ending
}

// grantable returns the first waiter that is free, nil if there is none.
func (l *rowLock) grantable() *lockWait {
	for i, w := range l.crowd.queue {
		if l.free(w, i) {
			return w
		}
	}
	return nil
}

// grant makes w's transaction a holder in w's mode; w itself may be in the queue.
func (l *rowLock) grant(w *lockWait) {
	if own := l.of(w.t); own != nil {
		w.lock, w.from = own, own.mode
		own.mode = max(own.mode, w.mode)
		return
	}
	w.lock, w.from = &rowLock{key: l.key, t: w.t, mode: w.mode}, 0
	l.gather()
	l.crowd.join(w.lock)
}

// join makes x a holder. If another part of the same statement, which runs at the same time, waits
// for this lock, its request is now one for a stronger mode.
func (c *crowd) join(x *rowLock) {
	c.holders = append(c.holders, x)
	for _, w := range c.queue {
		if w.t == x.t {
			w.holds = true
		}
	}
}

func (l *rowLock) gather() {
	if l.crowd == nil {
		l.crowd = &crowd{holders: []*rowLock{l}}
	}
}

// enqueue puts w at the end of the queue or, if its transaction has the lock and wants a stronger
// mode, after the other such requests.
func (l *rowLock) enqueue(w *lockWait) {
	l.gather()
	q, i := l.crowd.queue, l.waiting()
	if w.holds {
		for i = 0; i < len(q) && q[i].holds; i++ {
		}
	}
	l.crowd.queue = slices.Insert(q, i, w)
}

// leave removes w from the queue.
func (l *rowLock) leave(w *lockWait) {
	l.crowd.queue = slices.DeleteFunc(l.crowd.queue, func(x *lockWait) bool { return x == w })
}

// remove removes x from the holders.
func (c *crowd) remove(x *rowLock) {
	c.holders = slices.DeleteFunc(c.holders, func(h *rowLock) bool { return h == x })
	for _, w := range c.queue {
		if w.t == x.t {
			w.holds = false
		}
	}
}

// thin drops the crowd when it has become one holder without waiters.
func (l *rowLock) thin() {
	if l.crowd != nil && len(l.crowd.holders) == 1 && len(l.crowd.queue) == 0 {
		l.crowd = nil
	}
}
