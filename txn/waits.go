package txn

import (
	"slices"
	"time"
)

// Waiting is a wait as it is now: what pg_locks and pg_blocking_pids tell of it.
type Waiting struct {
	Waiter   Party
	Lock     string // the mode
	Object   string // empty for a row lock
	Key      []byte // of the row, for a row lock
	Fragment FragmentID
	Since    time.Time
	Blockers []Party
}

// Waits lists all waits, the oldest first.
func (d *Detector) Waits() []Waiting {
	d.mu.Lock()
	var out []Waiting
	add := func(w *Wait) {
		out = append(out, Waiting{
			Waiter: w.Waiter, Lock: w.Lock, Object: w.Object, Key: w.Key, Fragment: w.Fragment, Since: w.since, Blockers: slices.Clone(w.blockers),
		})
	}
	for _, ws := range d.byID {
		for _, w := range ws {
			add(w)
		}
	}
	for _, ws := range d.bySession {
		for _, w := range ws {
			if w.Waiter.ID.IsZero() { // else it is listed already
				add(w)
			}
		}
	}
	d.mu.Unlock()
	slices.SortFunc(out, func(a, b Waiting) int { return a.Since.Compare(b.Since) })
	return out
}

// Blockers gives whom the waits of a transaction are for.
func (d *Detector) Blockers(id ID) []Party {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []Party
	for _, w := range d.byID[id] {
		for _, p := range w.blockers {
			if !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	return out
}
