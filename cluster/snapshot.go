package cluster

import (
	"context"
	"errors"
	"sync"

	"github.com/sherddb/sherd/cluster/remote"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// snapshot asks fragments for the timestamp of a statement that may reach these buckets of theirs,
// by the map of an epoch, and returns the largest (T6). A share without buckets asks for everything
// that the fragment has. Nodes are asked in parallel, and each once for all its fragments. It
// returns *txn.MovedError if a fragment does not own its buckets any more.
func (h *Host) snapshot(ctx context.Context, shares []shardmap.Share, epoch uint64) (txn.Timestamp, error) {
	for _, s := range shares {
		if s.Fragment == shardmap.NoFragment { // a newer map assigns the buckets
			return 0, &txn.MovedError{}
		}
		if s.Fragment == shardmap.Taken {
			return 0, &txn.SplitError{}
		}
	}
	if h.links == nil {
		return h.snapshotHere(ctx, shares)
	}
	var T txn.Timestamp
	left := shares
	for pause := (patience{}); ; {
		got, failed, err := h.snapshotOnce(ctx, left, epoch)
		T = max(T, got)
		if err != nil || len(failed) == 0 {
			return T, err
		}
		again, last := left[:0:0], txn.FragmentID(0)
		for _, s := range left {
			why := failed[s.Fragment]
			if why == nil {
				continue
			}
			if err = why; !moved(err) && !cutOff(err) {
				return 0, err
			}
			h.heed(s.Fragment, err)
			again, last = append(again, s), s.Fragment
		}
		left = again
		if werr := pause.wait(ctx); werr != nil {
			return 0, h.gaveUp(last, werr, err)
		}
	}
}

func (h *Host) snapshotHere(ctx context.Context, shares []shardmap.Share) (txn.Timestamp, error) {
	var T txn.Timestamp
	for _, s := range shares {
		r, err := h.Replica(s.Fragment)
		if err != nil {
			return 0, err
		}
		got, err := r.SnapshotOf(ctx, s.Buckets.Intervals())
		if err != nil {
			return 0, err
		}
		T = max(T, got)
	}
	return T, nil
}

// snapshotOnce asks each fragment once; failed are those that returned no timestamp.
func (h *Host) snapshotOnce(ctx context.Context, shares []shardmap.Share, epoch uint64) (T txn.Timestamp, failed map[txn.FragmentID]error, err error) {
	type local struct {
		r       *storage.Replica
		buckets []shardmap.Interval
	}
	var here []local
	there := map[*remote.Node][]shardmap.Share{}
	for _, s := range shares {
		p, err := h.find(ctx, s.Fragment)
		switch {
		case err != nil:
			return 0, nil, err
		case p.replica != nil:
			here = append(here, local{p.replica, s.Buckets.Intervals()})
		default:
			there[p.node] = append(there[p.node], s)
		}
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	took := func(got txn.Timestamp, errs map[txn.FragmentID]error) {
		mu.Lock()
		defer mu.Unlock()
		T = max(T, got)
		for f, err := range errs {
			if failed == nil {
				failed = map[txn.FragmentID]error{}
			}
			failed[f] = err
		}
	}
	ask := func(l local) {
		got, err := l.r.SnapshotOf(ctx, l.buckets)
		if err != nil {
			took(0, map[txn.FragmentID]error{l.r.ID(): err})
			return
		}
		took(got, nil)
	}
	if len(here) == 1 && len(there) == 0 {
		ask(here[0])
		return T, failed, nil
	}
	for _, l := range here {
		wg.Go(func() { ask(l) })
	}
	for n, list := range there {
		wg.Go(func() {
			got, errs, err := n.Snapshot(ctx, list, epoch)
			if err != nil {
				errs = map[txn.FragmentID]error{}
				for _, s := range list {
					errs[s.Fragment] = err
				}
			}
			took(got, errs)
		})
	}
	wg.Wait()
	return T, failed, nil
}

// snapshotReachable is snapshot for the fragments that can be reached; missing says why the others
// cannot. It does not ask fragments most of whose nodes are silent. A fragment that returns no
// timestamp within askTime is missing if it has no leader that answers by then; otherwise it is
// slow, or buckets of it are about to move, and snapshotReachable waits for it as any statement
// does.
func (h *Host) snapshotReachable(ctx context.Context, shares []shardmap.Share, epoch uint64) (
	T txn.Timestamp, missing map[txn.FragmentID]error, err error) {
	if h.links == nil {
		T, err = h.snapshot(ctx, shares, epoch)
		return T, nil, err
	}
	missing = map[txn.FragmentID]error{}
	var asked []shardmap.Share
	for _, s := range shares {
		if _, f := h.cfg.Catalog.View().Fragment(s.Fragment); f != nil && h.mostSilent(f) {
			missing[s.Fragment] = h.leaderless(s.Fragment, nil)
			continue
		}
		asked = append(asked, s)
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, s := range asked {
		wg.Go(func() {
			got, why := h.snapshotSoon(ctx, s, epoch)
			mu.Lock()
			defer mu.Unlock()
			var away *txn.UnreachableError
			switch T = max(T, got); {
			case errors.As(why, &away):
				missing[s.Fragment] = away
			case err == nil:
				err = why
			}
		})
	}
	wg.Wait()
	return T, missing, err
}

// snapshotSoon asks one fragment for a timestamp; *txn.UnreachableError if it has no leader that answers within askTime.
func (h *Host) snapshotSoon(ctx context.Context, s shardmap.Share, epoch uint64) (txn.Timestamp, error) {
	soon, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	T, err := h.snapshot(soon, []shardmap.Share{s}, epoch)
	switch {
	case err == nil || ctx.Err() != nil || soon.Err() == nil && !moved(err) && !cutOff(err):
		return T, err
	case !h.answers(s.Fragment):
		return 0, h.leaderless(s.Fragment, nil)
	}
	T, err = h.snapshot(ctx, []shardmap.Share{s}, epoch)
	if err != nil && ctx.Err() == nil && (moved(err) || cutOff(err)) && !h.answers(s.Fragment) {
		return 0, h.leaderless(s.Fragment, nil)
	}
	return T, err
}
