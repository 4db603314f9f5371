package txn

import (
	"fmt"
	"strings"
	"sync"

	"github.com/sherddb/sherd/internal/pgerr"
)

// Detector finds deadlocks among the transactions of one process: it holds who waits for whom, over all fragments. A
// transaction waits for one lock at a time in each of its fragments, and each lock has one holder.
type Detector struct {
	mu    sync.Mutex
	waits map[ID][]edge // guarded by mu
}

// edge is one wait: for holder, at a place that tells it from the waiter's other waits.
type edge struct {
	holder ID
	place  any
}

// NewDetector makes an empty one.
func NewDetector() *Detector { return &Detector{waits: map[ID][]edge{}} }

// Wait notes that waiter waits for holder at place. It returns 40P01, and notes nothing, if that closes a circle.
func (d *Detector) Wait(waiter, holder ID, place any) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if path := d.path(holder, waiter, map[ID]bool{}); path != nil {
		return deadlock(append([]ID{waiter}, path...))
	}
	d.waits[waiter] = append(d.waits[waiter], edge{holder, place})
	return nil
}

// Change notes that the lock waited for at place has passed to another holder. The new holder has just been granted it, so
// it waits for nothing there; a circle shows at its next wait.
func (d *Detector) Change(waiter, holder ID, place any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, e := range d.waits[waiter] {
		if e.place == place {
			d.waits[waiter][i].holder = holder
		}
	}
}

// Done ends the wait at place.
func (d *Detector) Done(waiter ID, place any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	es := d.waits[waiter]
	for i, e := range es {
		if e.place == place {
			es = append(es[:i], es[i+1:]...)
			break
		}
	}
	if len(es) == 0 {
		delete(d.waits, waiter)
	} else {
		d.waits[waiter] = es
	}
}

// path gives the transactions from a to b along waits, nil if there is no way. Called with mu held.
func (d *Detector) path(a, b ID, seen map[ID]bool) []ID {
	if a == b {
		return []ID{a}
	}
	if seen[a] {
		return nil
	}
	seen[a] = true
	for _, e := range d.waits[a] {
		if p := d.path(e.holder, b, seen); p != nil {
			return append([]ID{a}, p...)
		}
	}
	return nil
}

func deadlock(circle []ID) error {
	var s []string
	for i := 0; i+1 < len(circle); i++ {
		s = append(s, fmt.Sprintf("Transaction %d waits for transaction %d.", circle[i].XID(), circle[i+1].XID()))
	}
	return pgerr.New(pgerr.DeadlockDetected, "deadlock detected").WithDetail("%s", strings.Join(s, "\n"))
}
