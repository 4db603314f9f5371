package cluster

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/txn"
)

// A snapshot is kept readable by the leaders of the fragments that hold the database's rows when it is taken. Moves bring rows to others, whose old versions
// would be let go of by their own age: to fragments that own nothing yet, and to those that are added later. So it is kept there too, in the background:
// no transaction waits for a fragment of which it reads nothing, and there is all of sherd.gc_ttl for it.

// heldSnapshot is a timestamp at which a transaction will go on reading.
type heldSnapshot struct {
	T  txn.Timestamp
	in map[txn.FragmentID]bool // the fragments that were asked to keep it
}

// HoldSnapshot keeps what is visible at T in fragments readable until the transaction ends; 72000 where it is gone already.
func (t *Transaction) HoldSnapshot(fragments []txn.FragmentID, T txn.Timestamp) error {
	t.host.atWork.Store(t.id, true)
	if err := t.holdAll(fragments, T); err != nil {
		return err
	}
	t.held(fragments, T)
	return nil
}

func (t *Transaction) holdAll(fragments []txn.FragmentID, T txn.Timestamp) error {
	if t.host.links == nil || len(fragments) == 1 {
		for _, id := range fragments {
			if err := t.holdIn(context.Background(), id, T); err != nil {
				return err
			}
		}
		return nil
	}
	errs := make([]error, len(fragments))
	var wg sync.WaitGroup
	for i, id := range fragments {
		wg.Go(func() { errs[i] = t.holdIn(context.Background(), id, T) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// HoldSoon is HoldSnapshot in the background, for what replicas that do not lead are read at: without the hold it can be read for as long as old versions
// are kept, and who needs no leader shall not wait for one.
func (t *Transaction) HoldSoon(fragments []txn.FragmentID, T txn.Timestamp) error {
	if t.host.links == nil {
		return t.HoldSnapshot(fragments, T)
	}
	t.host.atWork.Store(t.id, true)
	for _, id := range fragments {
		go func() { _ = t.holdSoon(context.Background(), id, T) }()
	}
	t.held(fragments, T)
	return nil
}

const (
	holdTime  = 10 * time.Second
	holdAgain = 10 * time.Second // after which is tried again what did not work
)

func (t *Transaction) holdSoon(ctx context.Context, id txn.FragmentID, T txn.Timestamp) error {
	ctx, cancel := context.WithTimeout(ctx, holdTime)
	defer cancel()
	return t.holdIn(ctx, id, T)
}

// holdIn keeps what is visible at T readable in a fragment until the transaction ends.
func (t *Transaction) holdIn(ctx context.Context, id txn.FragmentID, T txn.Timestamp) error {
	t.mu.Lock()
	o := t.options
	t.mu.Unlock()
	release, err := t.host.keep(ctx, id, t.id, T, o)
	if err != nil {
		return err
	}
	t.mu.Lock()
	over := t.over
	if !over {
		t.holds = append(t.holds, release)
	}
	t.mu.Unlock()
	if over {
		release()
	}
	return nil
}

// keep keeps what is visible at T readable, for a transaction, until release is called.
func (h *Host) keep(ctx context.Context, f txn.FragmentID, id txn.ID, T txn.Timestamp, o exec.TransactionOptions) (release func(), err error) {
	err = h.ask(ctx, f, func(l leader) error {
		release, err = l.Keep(ctx, id, T, o)
		return err
	})
	return release, err
}

// letGo ends the holds, with the transaction.
func (t *Transaction) letGo() {
	t.host.atWork.Delete(t.id)
	t.mu.Lock()
	holds := t.holds
	t.holds, t.snapshots, t.over = nil, nil, true
	t.host.holders.Delete(t)
	t.mu.Unlock()
	for _, release := range holds {
		release()
	}
}

// held notes that fragments have been asked to keep what is visible at T, and has others asked that may get rows of it.
func (t *Transaction) held(fragments []txn.FragmentID, T txn.Timestamp) {
	t.mu.Lock()
	if t.over {
		t.mu.Unlock()
		return
	}
	i := slices.IndexFunc(t.snapshots, func(x heldSnapshot) bool { return x.T == T })
	if i < 0 {
		i = len(t.snapshots)
		t.snapshots = append(t.snapshots, heldSnapshot{T, map[txn.FragmentID]bool{}})
	}
	for _, f := range fragments {
		t.snapshots[i].in[f] = true
	}
	t.host.holders.Store(t, true)
	more := len(t.missing(t.host.cfg.Catalog.View())) > 0
	t.mu.Unlock()
	if more {
		select {
		case t.host.spread <- struct{}{}:
		default:
		}
	}
}

// missing gives the fragments that have not been asked to keep a snapshot, and may get rows of it. Called with mu held.
func (t *Transaction) missing(view *catalog.View) (out []heldSnapshot) {
	for _, x := range t.snapshots {
		more := heldSnapshot{x.T, map[txn.FragmentID]bool{}}
		for f := range x.in {
			d, _ := view.Fragment(uint32(f))
			if d == nil { // it has gone
				continue
			}
			for i := range d.Fragments {
				if other := &d.Fragments[i]; !other.Draining && !x.in[txn.FragmentID(other.ID)] {
					more.in[txn.FragmentID(other.ID)] = true
				}
			}
			break // all are of one database
		}
		if len(more.in) > 0 {
			out = append(out, more)
		}
	}
	return out
}

// spreadHolds has snapshots that transactions of this node hold kept by fragments that had nothing, or were not there, when these were taken.
func (h *Host) spreadHolds(ctx context.Context) {
	for {
		view := h.cfg.Catalog.View()
		var again <-chan time.Time
		if !h.spreadNow(ctx, view) {
			again = time.After(holdAgain)
		}
		select {
		case <-view.Superseded():
		case <-h.spread:
		case <-again:
		case <-ctx.Done():
			return
		}
	}
}

// spreadNow asks fragments to keep what they were not asked for; false where one did not answer.
func (h *Host) spreadNow(ctx context.Context, view *catalog.View) bool {
	var wg sync.WaitGroup
	var mu sync.Mutex
	all := true
	h.holders.Range(func(k, _ any) bool {
		t := k.(*Transaction)
		t.mu.Lock()
		missing := t.missing(view)
		t.mu.Unlock()
		for _, x := range missing {
			for f := range x.in {
				wg.Go(func() {
					err := t.holdSoon(ctx, f, x.T)
					if err != nil && !pgerr.Is(err, pgerr.SnapshotTooOld) {
						mu.Lock()
						all = false
						mu.Unlock()
						return
					}
					t.held([]txn.FragmentID{f}, x.T)
				})
			}
		}
		return true
	})
	wg.Wait()
	return all
}
