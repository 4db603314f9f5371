package txn

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
)

// Party is who holds or waits for a lock: a transaction, and the session it belongs to where there is one. Without an ID it is the session
// itself, whatever transaction it is in: the holder of a session's advisory lock.
type Party struct {
	ID      ID
	Session uint32 // the backend's process number, 0: none
}

// is tells whether the waiter w stands for p.
func (p Party) is(w Party) bool {
	if p.ID.IsZero() {
		return p.Session != 0 && p.Session == w.Session
	}
	return p.ID == w.ID
}

func (p Party) String() string {
	if p.Session != 0 {
		return fmt.Sprintf("process %d", p.Session)
	}
	return fmt.Sprintf("transaction %d", p.ID.XID())
}

// Wait is one wait for a lock of any kind, made by whoever keeps the lock.
type Wait struct {
	Waiter Party
	Lock   string // as pg_locks names the mode: ShareLock, AccessExclusiveLock …
	Object string // as in "relation 16385 of database 16384"; empty for a row lock, which waits for the blocking transaction

	Key      []byte // of the row, for a row lock
	Fragment FragmentID

	// End is called where a circle over several nodes ends the wait: the keeper answers the waiter with err, unless the wait is over. It may be called
	// late, from any goroutine, and without the detector's locks. nil: the wait cannot be ended so.
	End func(err error)

	number   uint64    // counted by the detector; guarded by its mu
	since    time.Time // noted first; guarded by the detector's mu
	blockers []Party   // likewise
	noted    bool      // likewise
	search   uint64    // the last search that came by; likewise
}

// Detector finds deadlocks among the waits of one process: it holds who waits for whom, over all fragments and all kinds of locks. What it tells of them
// lets FindCircles find those over several processes.
// The keepers of locks tell it; it calls none of them, so they may do so under their own mutexes.
type Detector struct {
	mu        sync.Mutex
	byID      map[ID][]*Wait     // guarded by mu
	bySession map[uint32][]*Wait // guarded by mu
	searches  uint64             // guarded by mu
	numbers   uint64             // of waits; guarded by mu
}

// NewDetector makes an empty one.
func NewDetector() *Detector {
	return &Detector{byID: map[ID][]*Wait{}, bySession: map[uint32][]*Wait{}}
}

// Block notes whom w waits for: when the wait begins, and again whenever that changes. Blockers are holders whose locks conflict and waiters
// ahead in the queue. If that closes a circle it returns a *DeadlockError, and notes nothing: the wait is over, and its keeper tells the
// waiter.
func (d *Detector) Block(w *Wait, blockers ...Party) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	w.blockers = blockers
	d.searches++
	if circle := d.circle(w, w.Waiter); circle != nil {
		d.remove(w)
		return deadlock(circle)
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

// Done ends a wait; nothing if it has ended.
func (d *Detector) Done(w *Wait) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.remove(w)
}

// remove forgets w. Called with mu held.
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

// blocked is one step of a circle: a wait, and the one of its blockers that the circle goes on with.
type blocked struct {
	wait *Wait
	by   Party
}

// circle gives the steps from w to whoever is waited for by start, nil if there is no way. Called with mu held.
func (d *Detector) circle(w *Wait, start Party) []blocked {
	w.search = d.searches
	for _, b := range w.blockers {
		if b.is(start) {
			return []blocked{{w, b}}
		}
		for _, next := range d.waitsOf(b) {
			if next.search == d.searches {
				continue
			}
			if rest := d.circle(next, start); rest != nil {
				return append([]blocked{{w, b}}, rest...)
			}
		}
	}
	return nil
}

// waitsOf gives the waits of a party. Called with mu held.
func (d *Detector) waitsOf(p Party) []*Wait {
	if p.ID.IsZero() {
		return d.bySession[p.Session]
	}
	return d.byID[p.ID]
}

// DeadlockError is 40P01: the wait that was begun last would never have ended. It carries the *pgerr.Error that clients see, to which upper
// layers add where in the statement it happened.
type DeadlockError struct {
	Waits []*Wait // the circle, from the victim's on; not to be changed
	Err   *pgerr.Error
}

func (e *DeadlockError) Error() string { return e.Err.Error() }

// Unwrap gives what clients see.
func (e *DeadlockError) Unwrap() error { return e.Err }

func deadlock(circle []blocked) error {
	e := &DeadlockError{}
	var lines []string
	for _, s := range circle {
		e.Waits = append(e.Waits, s.wait)
		lines = append(lines, s.String())
	}
	e.Err = pgerr.New(pgerr.DeadlockDetected, "deadlock detected").WithDetail("%s", strings.Join(lines, "\n")).
		WithHint("See server log for query details.")
	return e
}

// String gives the step in PostgreSQL's words.
func (s blocked) String() string {
	object := s.wait.Object
	if object == "" {
		object = fmt.Sprintf("transaction %d", s.by.ID.XID())
	}
	by := s.by.String()
	waiter := s.wait.Waiter.String()
	return fmt.Sprintf("%s waits for %s on %s; blocked by %s.", strings.ToUpper(waiter[:1])+waiter[1:], s.wait.Lock, object, by)
}
