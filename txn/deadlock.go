package txn

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
)

// LockOwner holds a lock or waits for one: a transaction, and its session if there is one. Without
// an ID it is the session itself, in any transaction: the owner of the session's advisory locks.
type LockOwner struct {
	ID      ID
	Session uint32 // the backend's process number, 0: none
}

// is reports whether the waiter w stands for p.
func (p LockOwner) is(w LockOwner) bool {
	if p.ID.IsZero() {
		return p.Session != 0 && p.Session == w.Session
	}
	return p.ID == w.ID
}

func (p LockOwner) String() string {
	if p.Session != 0 {
		return fmt.Sprintf("process %d", p.Session)
	}
	return fmt.Sprintf("transaction %d", p.ID.XID())
}

// Wait is one wait for a lock of any kind. The lock table that keeps the lock makes it.
type Wait struct {
	Waiter LockOwner
	Lock   string // as pg_locks names the mode: ShareLock, AccessExclusiveLock …
	// As in "relation 16385 of database 16384"; empty for a row lock, which waits for the blocking
	// transaction.
	Object string

	Key      []byte // of the row, for a row lock
	Fragment FragmentID

	// End is called to end the wait because of a cycle over several nodes: the lock table answers
	// the waiter with err, unless the wait is over. It may be called late, from any goroutine, and
	// without the detector's locks. If it is nil, the wait cannot be ended so.
	End func(err error)

	number   uint64      // counted by the detector; guarded by its mu
	since    time.Time   // when it was first noted; guarded by the detector's mu
	blockers []LockOwner // likewise
	noted    bool        // likewise
	search   uint64      // the last search that visited it; likewise
}

// Detector finds deadlocks among the waits of one process: it knows which lock owner waits for
// which, over all fragments and all kinds of locks. FindCycles uses its waits to find deadlocks
// over several processes. The lock tables report to it; it calls none of them, so they may report
// under their own mutexes.
type Detector struct {
	mu        sync.Mutex
	byID      map[ID][]*Wait     // guarded by mu
	bySession map[uint32][]*Wait // guarded by mu
	searches  uint64             // guarded by mu
	numbers   uint64             // of waits; guarded by mu
}

// NewDetector makes an empty detector.
func NewDetector() *Detector {
	return &Detector{byID: map[ID][]*Wait{}, bySession: map[uint32][]*Wait{}}
}

// Block sets the blockers of w: when the wait begins, and again whenever they change. Blockers are
// holders whose locks conflict and waiters ahead in the queue. If that closes a cycle Block returns
// a *DeadlockError and forgets the wait: it is over, and the lock table answers the waiter.
func (d *Detector) Block(w *Wait, blockers ...LockOwner) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	w.blockers = blockers
	d.searches++
	if cycle := d.cycle(w, w.Waiter); cycle != nil {
		d.remove(w)
		return deadlock(cycle)
	}
	if !w.noted {
		d.numbers++
		w.noted, w.since, w.number = true, time.Now(), d.numbers
		if !w.Waiter.ID.IsZero() {
			d.byID[w.Waiter.ID] = append(d.byID[w.Waiter.ID], w)
		}
		if w.Waiter.Session != 0 {
			d.bySession[w.Waiter.Session] = append(d.bySession[w.Waiter.Session], w)
		}
	}
	return nil
}

// Done ends a wait. It does nothing if the wait has ended.
func (d *Detector) Done(w *Wait) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.remove(w)
}

// remove forgets w. The caller holds mu.
func (d *Detector) remove(w *Wait) {
	if w.noted {
		w.noted = false
		drop(d.byID, w.Waiter.ID, w)
		drop(d.bySession, w.Waiter.Session, w)
	}
}

func drop[K comparable](m map[K][]*Wait, k K, w *Wait) {
	ws := m[k]
	for i := range ws {
		if ws[i] == w {
			ws = append(ws[:i], ws[i+1:]...)
			break
		}
	}
	if len(ws) == 0 {
		delete(m, k)
	} else {
		m[k] = ws
	}
}

// blocked is one step of a cycle: a wait, and the blocker with which the cycle continues.
type blocked struct {
	wait *Wait
	by   LockOwner
}

// cycle returns the steps from w to a wait for start, or nil if there are none. The caller holds
// mu.
func (d *Detector) cycle(w *Wait, start LockOwner) []blocked {
	w.search = d.searches
	for _, b := range w.blockers {
		if b.is(start) {
			return []blocked{{w, b}}
		}
		for _, next := range d.waitsOf(b) {
			if next.search == d.searches {
				continue
			}
			if rest := d.cycle(next, start); rest != nil {
				return append([]blocked{{w, b}}, rest...)
			}
		}
	}
	return nil
}

// waitsOf returns the waits of a lock owner. The caller holds mu.
func (d *Detector) waitsOf(p LockOwner) []*Wait {
	if p.ID.IsZero() {
		return d.bySession[p.Session]
	}
	return d.byID[p.ID]
}

// DeadlockError is 40P01: the wait that began last would never have ended. It wraps the client's
// *pgerr.Error, to which upper layers add the place in the statement.
type DeadlockError struct {
	Waits []*Wait // the cycle, beginning with the victim; not to be changed
	Err   *pgerr.Error
}

func (e *DeadlockError) Error() string { return e.Err.Error() }

// Unwrap returns the client's error.
func (e *DeadlockError) Unwrap() error { return e.Err }

func deadlock(cycle []blocked) error {
	e := &DeadlockError{}
	var lines []string
	for _, s := range cycle {
		e.Waits = append(e.Waits, s.wait)
		lines = append(lines, s.String())
	}
	e.Err = pgerr.New(pgerr.DeadlockDetected, "deadlock detected").WithDetail("%s", strings.Join(lines, "\n")).
		WithHint("See server log for query details.")
	return e
}

// String describes the step in PostgreSQL's words.
func (s blocked) String() string {
	object := s.wait.Object
	if object == "" {
		object = fmt.Sprintf("transaction %d", s.by.ID.XID())
	}
	by := s.by.String()
	waiter := s.wait.Waiter.String()
	return fmt.Sprintf(
		"%s waits for %s on %s; blocked by %s.", strings.ToUpper(waiter[:1])+waiter[1:], s.wait.Lock, object, by,
	)
}
