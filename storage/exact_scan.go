package storage

import (
	"context"
	"sync/atomic"

	"github.com/sherddb/sherd/internal/clusterversion"
	"github.com/sherddb/sherd/storage/counts"
	"github.com/sherddb/sherd/storage/proposer"
	"github.com/sherddb/sherd/txn"
)

// exactScanner counts groups by bucket, in the background, a few at a time (package counts).
type exactScanner struct {
	r    *Replica
	busy atomic.Bool
}

// begin starts to count if a group waits for it. Called by housekeeping.
func (x *exactScanner) begin() {
	if x.r.stats.Wanted() && x.busy.CompareAndSwap(false, true) {
		x.r.stopper.Go(x.run)
	}
}

func (x *exactScanner) run() {
	defer x.busy.Store(false)
	for {
		groups := x.r.stats.NextWanted()
		if groups == nil || x.r.stopper.IsStopped() {
			return
		}
		if err := x.r.countExact(context.Background(), groups); err != nil {
			x.r.cfg.Logger.Debug("buckets are not counted yet", "fragment", x.r.cfg.Fragment, "err", err)
			return // housekeeping begins again
		}
	}
}

// countExact counts groups by bucket.
func (r *Replica) countExact(ctx context.Context, groups []uint32) (err error) {
	// The stamp lies between two batches of the log. Transactions that are prepared at or below it
	// and undecided change the counts after it, and their rows may be visible at it.
	m := r.machine
	m.mu.Lock()
	v := &View{r: r, t: newTx(r, txn.ID{}), T: m.s.stamp, own: r.Owned.Load()}
	pending := m.pendingStats(m.s.stamp)
	x := r.stats.Begin(groups)
	m.mu.Unlock()
	defer func() {
		if err != nil {
			x.GiveUp()
		}
	}()
	r.fault("exact.begun")
	if err := r.Outcomes.WaitDecided(ctx, v.T); err != nil {
		return err
	}
	v.b, v.restores = r.db.At(v.T), r.db.Replacements()
	defer v.Close()
	if err := r.scanExact(ctx, v, x); err != nil {
		return err
	}
	for _, p := range pending {
		if !r.rows.hasVersion(p.key, p.C) {
			continue
		}
		if err := x.TakeBack(p.stats); err != nil {
			return err
		}
	}
	r.fault("exact.counted")
	m.mu.Lock()
	defer m.mu.Unlock()
	x.Finish()
	m.entries++ // something to write down
	return nil
}

func (r *Replica) scanExact(ctx context.Context, v *View, x *counts.Scan) error {
	v.OwnedOnly()
	n := 0
	for _, span := range x.Spans() {
		err := v.Scan(ctx, span, false, func(key, value []byte) error {
			if n++; n%ctxEvery == 0 && r.stopper.IsStopped() {
				return proposer.ErrNotLeader
			}
			x.Add(key, value)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// encodeDeltas encodes the deltas in the form that all nodes of the cluster know (V4).
func (r *Replica) encodeDeltas(d *counts.BucketDeltas) []byte {
	return d.Encode(r.cfg.knows(clusterversion.ExactSizes))
}
