package txn

import (
	"slices"
	"time"
)

// Waiting is a wait at one moment, for pg_locks and pg_blocking_pids.
type Waiting struct {
	Number   uint64 // identifies the wait at its detector
	Waiter   LockOwner
	Lock     string // the mode
	Object   string // empty for a row lock
	Key      []byte // of the row, for a row lock
	Fragment FragmentID
	Since    time.Time
	Blockers []LockOwner
}

// now returns the present state of w. The caller holds the detector's mu.
func (w *Wait) now() Waiting {
	return Waiting{
		Number: w.number, Waiter: w.Waiter, Lock: w.Lock, Object: w.Object, Key: w.Key, Fragment: w.Fragment,
		Since:    w.since,
		Blockers: slices.Clone(w.blockers),
	}
}

// Waits lists all waits, the oldest first.
func (d *Detector) Waits() []Waiting {
	d.mu.Lock()
	var out []Waiting
	d.each(func(w *Wait) { out = append(out, w.now()) })
	d.mu.Unlock()
	slices.SortFunc(out, func(a, b Waiting) int { return a.Since.Compare(b.Since) })
	return out
}

// Lasting lists the waits that began before a time.
func (d *Detector) Lasting(before time.Time) []Waiting {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []Waiting
	d.each(func(w *Wait) {
		if w.since.Before(before) {
			out = append(out, w.now())
		}
	})
	return out
}

// WaitsOf returns the waits of lock owners, of their blockers, and so on: up to some ten thousand.
func (d *Detector) WaitsOf(owners []LockOwner) []Waiting {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []Waiting
	d.searches++
	add := func(owners []LockOwner) {
		for _, p := range owners {
			for _, w := range d.waitsOf(p) {
				if w.search != d.searches {
					w.search = d.searches
					out = append(out, w.now())
				}
			}
		}
	}
	add(owners)
	for at := 0; at < len(out) && len(out) < maxOwners; at++ {
		add(out[at].Blockers)
	}
	return out
}

// Break ends a wait with an error if it still is one of waiter. It reports whether it was.
func (d *Detector) Break(number uint64, waiter LockOwner, err error) bool {
	d.mu.Lock()
	var found *Wait
	for _, w := range d.waitsOf(waiter) {
		if w.number == number && w.Waiter == waiter && w.End != nil {
			found = w
		}
	}
	d.mu.Unlock()
	if found == nil {
		return false
	}
	found.End(err)
	return true
}

// each calls f for all waits. The caller holds mu.
func (d *Detector) each(f func(*Wait)) {
	for _, ws := range d.byID {
		for _, w := range ws {
			f(w)
		}
	}
	for _, ws := range d.bySession {
		for _, w := range ws {
			if w.Waiter.ID.IsZero() { // otherwise byID has it
				f(w)
			}
		}
	}
}

// Blockers returns the blockers of a transaction's waits.
func (d *Detector) Blockers(id ID) []LockOwner {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []LockOwner
	for _, w := range d.byID[id] {
		for _, p := range w.blockers {
			if !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	return out
}
