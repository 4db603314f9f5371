package locktable

import (
	"slices"
	"time"

	"github.com/sherddb/sherd/txn"
)

// Lock is one transaction's lock of one row. Most rows have one holder and no waiter, so that the
// rest is kept apart.
type Lock struct {
	key        string
	owner      *Owner
	contention *contention // of the entry in the table, nil if it is alone; guarded by the stripe

	// Row is for the holder alone: what it has learned of the row.
	Row Row

	mode     txn.LockMode // changed under the stripe, by the holder or while it waits
	pinned   bool         // guarded by the owner's mu
	onDisk   bool         // pinned, and its key is in the pin file; guarded by the owner's mu
	unpacked bool         // it was put into the table from the owner's set; set once
	// in the order in which the owner took its locks, from 1; guarded by the owner's mu
	number int32
}

// Row is what the holder of a lock has learned of the row. It counts while no other transaction can
// change the row (LK5).
type Row struct {
	Version txn.Timestamp
	Size    int32 // of the newest committed value, -1 if there is none
	Known   bool  // Version and Size are filled in
	Traced  bool  // Version counts a deletion too
}

// Key returns the key of the locked row.
func (l *Lock) Key() string { return l.key }

// Mode returns the mode in which the lock is held.
func (l *Lock) Mode() txn.LockMode { return l.mode }

// contention is what a locked row has beyond one holder.
type contention struct {
	holders []*Lock
	queue   []*request // holders that want more come first
}

// request is one request in a wait queue.
type request struct {
	owner *Owner
	key   string
	mode  txn.LockMode
	since time.Time
	done  chan error // one answer; nil: granted

	holds  bool            // the owner is a holder and wants more
	noWait bool            // it must not wait, except for transactions that are committing
	wait   txn.Wait        // as the detector knows it
	by     []txn.LockOwner // what was reported to the detector; guarded by the stripe
	lock   *Lock           // set before a grant is answered
	from   txn.LockMode
}

// The methods below are about one row. All are called with its stripe's mu held, on the holder that
// is the row's entry in the table.

// of returns o's lock, nil if it has none.
func (l *Lock) of(o *Owner) *Lock {
	if l.owner == o {
		return l
	}
	if l.contention != nil {
		for _, h := range l.contention.holders {
			if h.owner == o {
				return h
			}
		}
	}
	return nil
}

// waiting returns the length of the queue.
func (l *Lock) waiting() int {
	if l.contention == nil {
		return 0
	}
	return len(l.contention.queue)
}

// blockers calls fn with the owners that w waits for, until fn returns false. The first ahead
// requests of the queue are before w.
//
// An owner that waits for the request ahead of it need not report those for which that one waits:
// so a request whose mode is as strong as w's stands for all before it, and a long queue is a
// chain.
func (l *Lock) blockers(w *request, ahead int, fn func(*Owner) bool) {
	if !w.holds && ahead > 0 {
		for _, x := range slices.Backward(l.contention.queue[:ahead]) {
			if x.owner == w.owner || !x.mode.Conflicts(w.mode) {
				continue
			}
			if !fn(x.owner) || !x.holds && x.mode >= w.mode {
				return
			}
		}
	}
	if l.contention == nil {
		if l.owner != w.owner && l.mode.Conflicts(w.mode) {
			fn(l.owner)
		}
		return
	}
	for _, h := range l.contention.holders {
		if h.owner != w.owner && h.mode.Conflicts(w.mode) && !fn(h.owner) {
			return
		}
	}
}

// isFree reports whether w waits for no transaction.
func (l *Lock) isFree(w *request, ahead int) bool {
	free := true
	l.blockers(w, ahead, func(*Owner) bool { free = false; return false })
	return free
}

// ending reports whether w, if it came now, would wait only for transactions that are committing.
func (l *Lock) ending(w *request) bool {
	ending := true
	l.blockers(w, l.waiting(), func(o *Owner) bool { ending = o.ending.Load(); return ending })
	return ending
}

// grantable returns the first request that is free, nil if there is none.
func (l *Lock) grantable() *request {
	for i, w := range l.contention.queue {
		if l.isFree(w, i) {
			return w
		}
	}
	return nil
}

// grant makes w's owner a holder in w's mode; w itself may be in the queue.
func (l *Lock) grant(w *request) {
	if own := l.of(w.owner); own != nil {
		w.lock, w.from = own, own.mode
		own.mode = max(own.mode, w.mode)
		return
	}
	w.lock, w.from = &Lock{key: l.key, owner: w.owner, mode: w.mode}, 0
	l.contend()
	l.contention.join(w.lock)
}

// join makes x a holder. If another part of the same statement, which runs at the same time, waits
// for this lock, its request is now one for a stronger mode.
func (c *contention) join(x *Lock) {
	c.holders = append(c.holders, x)
	for _, w := range c.queue {
		if w.owner == x.owner {
			w.holds = true
		}
	}
}

func (l *Lock) contend() {
	if l.contention == nil {
		l.contention = &contention{holders: []*Lock{l}}
	}
}

// enqueue puts w at the end of the queue or, if its owner has the lock and wants a stronger mode,
// after the other such requests.
func (l *Lock) enqueue(w *request) {
	l.contend()
	q, i := l.contention.queue, l.waiting()
	if w.holds {
		for i = 0; i < len(q) && q[i].holds; i++ {
		}
	}
	l.contention.queue = slices.Insert(q, i, w)
}

// dequeue removes w from the queue.
func (l *Lock) dequeue(w *request) {
	l.contention.queue = slices.DeleteFunc(l.contention.queue, func(x *request) bool { return x == w })
}

// remove removes x from the holders.
func (c *contention) remove(x *Lock) {
	c.holders = slices.DeleteFunc(c.holders, func(h *Lock) bool { return h == x })
	for _, w := range c.queue {
		if w.owner == x.owner {
			w.holds = false
		}
	}
}

// simplify drops the contention if it has become one holder without waiters.
func (l *Lock) simplify() {
	if l.contention != nil && len(l.contention.holders) == 1 && len(l.contention.queue) == 0 {
		l.contention = nil
	}
}
