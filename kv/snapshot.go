package kv

import (
	"context"
	"errors"
	"maps"
	"sync"

	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/txn"
)

// Snapshot asks fragments for the timestamp of a statement that may reach these buckets of theirs,
// by the map of an epoch, and returns the largest (T6). A share without buckets asks for everything
// that the fragment has. Nodes are asked in parallel, and each once for all its fragments. It
// returns *txn.MovedError if a fragment does not own its buckets any more.
func (c *Client) Snapshot(ctx context.Context, shares []shardmap.Share, epoch uint64) (txn.Timestamp, error) {
	for _, s := range shares {
		if s.Fragment == shardmap.NoFragment { // a newer map assigns the buckets
			return 0, &txn.MovedError{}
		}
		if s.Fragment == shardmap.Taken {
			return 0, &txn.SplitError{}
		}
	}
	if c.cfg.Peers == nil {
		return c.snapshotHere(ctx, shares, epoch)
	}
	var T txn.Timestamp
	left := shares
	for pause := (Backoff{}); ; {
		got, failed, err := c.snapshotOnce(ctx, left, epoch)
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
			if err = why; !LeaderGone(err) && !OutcomeOpen(err) {
				return 0, err
			}
			c.UpdateHint(s.Fragment, err)
			again, last = append(again, s), s.Fragment
		}
		left = again
		if werr := pause.Wait(ctx); werr != nil {
			return 0, c.GaveUp(last, werr, err)
		}
	}
}

// snapshotHere asks the fragments of the only node.
func (c *Client) snapshotHere(ctx context.Context, shares []shardmap.Share, epoch uint64) (txn.Timestamp, error) {
	T, failed, err := c.cfg.Here.Snapshot(ctx, shares, epoch)
	for _, s := range shares {
		if failed[s.Fragment] != nil {
			return 0, failed[s.Fragment]
		}
	}
	return T, err
}

// snapshotOnce asks each fragment once; failed are those that returned no timestamp.
func (c *Client) snapshotOnce(ctx context.Context, shares []shardmap.Share, epoch uint64) (
	T txn.Timestamp, failed map[txn.FragmentID]error, err error) {
	at := map[Leader][]shardmap.Share{}
	for _, s := range shares {
		l, err := c.Find(ctx, s.Fragment)
		if err != nil {
			return 0, nil, err
		}
		at[l] = append(at[l], s)
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	ask := func(l Leader, list []shardmap.Share) {
		got, errs, err := l.Snapshot(ctx, list, epoch)
		if err != nil {
			errs = map[txn.FragmentID]error{}
			for _, s := range list {
				errs[s.Fragment] = err
			}
		}
		mu.Lock()
		defer mu.Unlock()
		if T = max(T, got); failed == nil {
			failed = errs
			return
		}
		maps.Copy(failed, errs)
	}
	for l, list := range at {
		if len(at) == 1 {
			ask(l, list)
			break
		}
		wg.Go(func() { ask(l, list) })
	}
	wg.Wait()
	return T, failed, nil
}

// SnapshotReachable is Snapshot for the fragments that can be reached; missing says why the others
// cannot. It does not ask fragments most of whose nodes are silent. A fragment that returns no
// timestamp within SoonTime is missing if it has no leader that answers by then; otherwise it is
// slow, or buckets of it are about to move, and SnapshotReachable waits for it as any statement
// does.
func (c *Client) SnapshotReachable(ctx context.Context, shares []shardmap.Share, epoch uint64) (
	T txn.Timestamp, missing map[txn.FragmentID]error, err error) {
	if c.cfg.Peers == nil {
		T, err = c.Snapshot(ctx, shares, epoch)
		return T, nil, err
	}
	missing = map[txn.FragmentID]error{}
	var asked []shardmap.Share
	for _, s := range shares {
		if _, f := c.cfg.Catalog.View().Fragment(s.Fragment); f != nil && c.MostSilent(f) {
			missing[s.Fragment] = c.Leaderless(s.Fragment, nil)
			continue
		}
		asked = append(asked, s)
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, s := range asked {
		wg.Go(func() {
			got, why := c.snapshotSoon(ctx, s, epoch)
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

// snapshotSoon asks one fragment for a timestamp; *txn.UnreachableError if it has no leader that
// answers within SoonTime.
func (c *Client) snapshotSoon(ctx context.Context, s shardmap.Share, epoch uint64) (txn.Timestamp, error) {
	soon, cancel := context.WithTimeout(ctx, SoonTime)
	defer cancel()
	T, err := c.Snapshot(soon, []shardmap.Share{s}, epoch)
	switch {
	case err == nil || ctx.Err() != nil || soon.Err() == nil && !LeaderGone(err) && !OutcomeOpen(err):
		return T, err
	case !c.Answers(s.Fragment):
		return 0, c.Leaderless(s.Fragment, nil)
	}
	T, err = c.Snapshot(ctx, []shardmap.Share{s}, epoch)
	if err != nil && ctx.Err() == nil && (LeaderGone(err) || OutcomeOpen(err)) && !c.Answers(s.Fragment) {
		return 0, c.Leaderless(s.Fragment, nil)
	}
	return T, err
}
