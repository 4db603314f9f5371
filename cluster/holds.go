package cluster

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sherddb/sherd/catalog"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/txn"
)

// The leaders of the fragments that hold the database's rows when a snapshot is taken keep it
// readable. Moves bring rows to other fragments, which would discard the old versions by their own
// age: to fragments that own nothing yet, and to fragments that are added later. So the snapshot is
// pinned there too, in the background: no transaction waits for a fragment from which it reads
// nothing, and there is the whole of sherd.gc_ttl to do it. A new leader does not know what its
// predecessor has pinned; it is asked too, and discards nothing for a while (storage).

// heldSnapshot is a timestamp that is pinned because a transaction will go on reading at it.
type heldSnapshot struct {
	T  txn.Timestamp
	in map[txn.FragmentID]uint64 // the fragments that were asked to pin it, and the terms of their leaders at that time; 0: not known
}

// HoldSnapshot pins the versions that are visible at T in some fragments until the transaction
// ends; 72000 if they are gone already.
func (t *Transaction) HoldSnapshot(fragments []txn.FragmentID, T txn.Timestamp) error {
	t.host.Started(t.id)
	asked := t.host.termsOf(fragments)
	if err := t.holdAll(fragments, T); err != nil {
		return err
	}
	t.held(T, asked)
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

// HoldSoon is HoldSnapshot in the background, for reads at replicas that do not lead. Without the
// pin T can be read for as long as old versions are kept, and a reader that needs no leader should
// not wait for one.
func (t *Transaction) HoldSoon(fragments []txn.FragmentID, T txn.Timestamp) error {
	if t.host.links == nil {
		return t.HoldSnapshot(fragments, T)
	}
	t.host.Started(t.id)
	asked := t.host.termsOf(fragments)
	for _, id := range fragments {
		go func() { _ = t.holdSoon(context.Background(), id, T) }()
	}
	t.held(T, asked)
	return nil
}

const (
	holdTime = 10 * time.Second
	holdLook = 2 * time.Second // between checks of the leaders, and between attempts
)

// termsOf returns the terms in which fragments are led now; 0 if a term is not known here.
func (h *Host) termsOf(fragments []txn.FragmentID) map[txn.FragmentID]uint64 {
	out := make(map[txn.FragmentID]uint64, len(fragments))
	for _, f := range fragments {
		out[f] = h.TermOf(f)
	}
	return out
}

func (t *Transaction) holdSoon(ctx context.Context, id txn.FragmentID, T txn.Timestamp) error {
	ctx, cancel := context.WithTimeout(ctx, holdTime)
	defer cancel()
	return t.holdIn(ctx, id, T)
}

// holdIn pins the versions that are visible at T in a fragment until the transaction ends.
func (t *Transaction) holdIn(ctx context.Context, id txn.FragmentID, T txn.Timestamp) error {
	t.mu.Lock()
	o := t.options
	t.mu.Unlock()
	release, err := t.host.Pin(ctx, id, t.id, pinAt(T, o))
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

func pinAt(T txn.Timestamp, o exec.TransactionOptions) *pb.PinRequest {
	return &pb.PinRequest{T: uint64(T), Isolation: uint32(o.Isolation), Backend: o.Session}
}

// letGo releases the pins at the end of the transaction.
func (t *Transaction) letGo() {
	t.host.Over(t.id)
	t.mu.Lock()
	holds := t.holds
	t.holds, t.snapshots, t.over = nil, nil, true
	t.host.holders.Delete(t)
	t.mu.Unlock()
	for _, release := range holds {
		release()
	}
}

// held records that fragments have been asked to pin T, in these terms, and has the fragments asked
// that may get rows of it.
func (t *Transaction) held(T txn.Timestamp, asked map[txn.FragmentID]uint64) {
	t.mu.Lock()
	if t.over {
		t.mu.Unlock()
		return
	}
	i := slices.IndexFunc(t.snapshots, func(x heldSnapshot) bool { return x.T == T })
	if i < 0 {
		i = len(t.snapshots)
		t.snapshots = append(t.snapshots, heldSnapshot{T, map[txn.FragmentID]uint64{}})
	}
	maps.Copy(t.snapshots[i].in, asked)
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

// missing returns the fragments whose leaders have not been asked to pin a snapshot, and that have
// rows of it or may get some. The caller holds mu.
func (t *Transaction) missing(view *catalog.View) (out []heldSnapshot) {
	for _, x := range t.snapshots {
		more := heldSnapshot{x.T, map[txn.FragmentID]uint64{}}
		for f := range x.in {
			d, _ := view.Fragment(uint32(f))
			if d == nil { // it was dropped
				continue
			}
			for i := range d.Fragments {
				other := &d.Fragments[i]
				id := txn.FragmentID(other.ID)
				before, asked := x.in[id]
				now := t.host.TermOf(id)
				if !asked && !other.Draining || asked && now != 0 && now != before {
					more.in[id] = now
				}
			}
			break // all snapshots are of one database
		}
		if len(more.in) > 0 {
			out = append(out, more)
		}
	}
	return out
}

// spreadHolds has snapshots that transactions of this node have pinned also pinned by fragments
// that were empty, or did not exist, when they were taken, and by new leaders.
func (h *Host) spreadHolds(ctx context.Context) {
	look := time.NewTicker(holdLook)
	defer look.Stop()
	for {
		view := h.cfg.Catalog.View()
		h.spreadNow(ctx, view)
		select {
		case <-view.Superseded():
		case <-h.spread:
		case <-look.C:
		case <-ctx.Done():
			return
		}
	}
}

// spreadNow asks leaders to pin what they were not asked for. A leader that does not answer is
// asked again the next time.
func (h *Host) spreadNow(ctx context.Context, view *catalog.View) {
	var wg sync.WaitGroup
	h.holders.Range(func(k, _ any) bool {
		t := k.(*Transaction)
		t.mu.Lock()
		missing := t.missing(view)
		t.mu.Unlock()
		for _, x := range missing {
			for f, term := range x.in {
				wg.Go(func() {
					if err := t.holdSoon(ctx, f, x.T); err == nil || pgerr.Is(err, pgerr.SnapshotTooOld) {
						t.held(x.T, map[txn.FragmentID]uint64{f: term})
					}
				})
			}
		}
		return true
	})
	wg.Wait()
}
