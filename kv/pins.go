package kv

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sherddb/sherd/catalog"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
)

// The leaders of the fragments that hold the database's rows when a snapshot is taken keep it
// readable. Moves bring rows to other fragments, which would discard the old versions by their own
// age: to fragments that own nothing yet, and to fragments that are added later. So the snapshot is
// pinned there too, in the background: no transaction waits for a fragment from which it reads
// nothing, and there is the whole of sherd.gc_ttl to do it. A new leader does not know what its
// predecessor has pinned; it is asked too, and discards nothing for a while (storage).

// pinnedSnapshot is a timestamp that is pinned because a transaction will go on reading at it.
type pinnedSnapshot struct {
	T txn.Timestamp
	// The fragments that were asked to pin it, and the terms of their leaders at that time; 0: not
	// known.
	in map[txn.FragmentID]uint64
}

// PinSnapshot pins the versions that are visible at T in some fragments until the transaction
// ends; 72000 if they are gone already.
func (t *Transaction) PinSnapshot(fragments []txn.FragmentID, T txn.Timestamp) error {
	t.client.Started(t.id)
	asked := t.client.termsOf(fragments)
	if err := t.pinAll(fragments, T); err != nil {
		return err
	}
	t.notePins(T, asked)
	return nil
}

func (t *Transaction) pinAll(fragments []txn.FragmentID, T txn.Timestamp) error {
	if t.client.cfg.Peers == nil || len(fragments) == 1 {
		for _, id := range fragments {
			if err := t.pinIn(context.Background(), id, T); err != nil {
				return err
			}
		}
		return nil
	}
	errs := make([]error, len(fragments))
	var wg sync.WaitGroup
	for i, id := range fragments {
		wg.Go(func() { errs[i] = t.pinIn(context.Background(), id, T) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// PinSoon is PinSnapshot in the background, for reads at replicas that do not lead. Without the
// pin T can be read for as long as old versions are kept, and a reader that needs no leader should
// not wait for one.
func (t *Transaction) PinSoon(fragments []txn.FragmentID, T txn.Timestamp) error {
	if t.client.cfg.Peers == nil {
		return t.PinSnapshot(fragments, T)
	}
	t.client.Started(t.id)
	asked := t.client.termsOf(fragments)
	for _, id := range fragments {
		go func() { _ = t.pinSoon(context.Background(), id, T) }()
	}
	t.notePins(T, asked)
	return nil
}

const (
	pinTime = 10 * time.Second
	pinLook = 2 * time.Second // between checks of the leaders, and between attempts
)

// termsOf returns the terms in which fragments are led now; 0 if a term is not known here.
func (c *Client) termsOf(fragments []txn.FragmentID) map[txn.FragmentID]uint64 {
	out := make(map[txn.FragmentID]uint64, len(fragments))
	for _, f := range fragments {
		out[f] = c.TermOf(f)
	}
	return out
}

func (t *Transaction) pinSoon(ctx context.Context, id txn.FragmentID, T txn.Timestamp) error {
	ctx, cancel := context.WithTimeout(ctx, pinTime)
	defer cancel()
	return t.pinIn(ctx, id, T)
}

// pinIn pins the versions that are visible at T in a fragment until the transaction ends.
func (t *Transaction) pinIn(ctx context.Context, id txn.FragmentID, T txn.Timestamp) error {
	release, err := t.client.Pin(ctx, id, t.id, PinRequest(T, t.Options()))
	if err != nil {
		return err
	}
	t.mu.Lock()
	over := t.over
	if !over {
		t.unpin = append(t.unpin, release)
	}
	t.mu.Unlock()
	if over {
		release()
	}
	return nil
}

// PinRequest returns the request of a transaction to pin the versions that are visible at T.
func PinRequest(T txn.Timestamp, o txn.Options) *pb.PinRequest {
	return &pb.PinRequest{T: uint64(T), Isolation: uint32(o.Isolation), Backend: o.Session}
}

// notePins records that fragments have been asked to pin T, in these terms, and has the fragments asked
// that may get rows of it.
func (t *Transaction) notePins(T txn.Timestamp, asked map[txn.FragmentID]uint64) {
	t.mu.Lock()
	if t.over {
		t.mu.Unlock()
		return
	}
	i := slices.IndexFunc(t.pinned, func(x pinnedSnapshot) bool { return x.T == T })
	if i < 0 {
		i = len(t.pinned)
		t.pinned = append(t.pinned, pinnedSnapshot{T, map[txn.FragmentID]uint64{}})
	}
	maps.Copy(t.pinned[i].in, asked)
	t.client.pinning.Store(t, true)
	more := len(t.missing(t.client.cfg.Catalog.View())) > 0
	t.mu.Unlock()
	if more {
		select {
		case t.client.spread <- struct{}{}:
		default:
		}
	}
}

// missing returns the fragments whose leaders have not been asked to pin a snapshot, and that have
// rows of it or may get some. The caller holds mu.
func (t *Transaction) missing(view *catalog.View) (out []pinnedSnapshot) {
	for _, x := range t.pinned {
		more := pinnedSnapshot{x.T, map[txn.FragmentID]uint64{}}
		for f := range x.in {
			d, _ := view.Fragment(uint32(f))
			if d == nil { // it was dropped
				continue
			}
			for i := range d.Fragments {
				other := &d.Fragments[i]
				id := txn.FragmentID(other.ID)
				before, asked := x.in[id]
				now := t.client.TermOf(id)
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

// SpreadPins has snapshots that transactions of this node have pinned also pinned by fragments
// that were empty, or did not exist, when they were taken, and by new leaders.
func (c *Client) SpreadPins(ctx context.Context) {
	look := time.NewTicker(pinLook)
	defer look.Stop()
	for {
		view := c.cfg.Catalog.View()
		c.spreadNow(ctx, view)
		select {
		case <-view.Superseded():
		case <-c.spread:
		case <-look.C:
		case <-ctx.Done():
			return
		}
	}
}

// spreadNow asks leaders to pin what they were not asked for. A leader that does not answer is
// asked again the next time.
func (c *Client) spreadNow(ctx context.Context, view *catalog.View) {
	var wg sync.WaitGroup
	c.pinning.Range(func(k, _ any) bool {
		t := k.(*Transaction)
		t.mu.Lock()
		missing := t.missing(view)
		t.mu.Unlock()
		for _, x := range missing {
			for f, term := range x.in {
				wg.Go(func() {
					if err := t.pinSoon(ctx, f, x.T); err == nil || pgerr.Is(err, pgerr.SnapshotTooOld) {
						t.notePins(x.T, map[txn.FragmentID]uint64{f: term})
					}
				})
			}
		}
		return true
	})
	wg.Wait()
}
