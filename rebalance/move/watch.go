package move

import (
	"context"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/storage/owned"
)

const (
	fenceTime  = time.Second // longest time that a fence stands without a flip
	fenceEvery = 250 * time.Millisecond
)

// watchFences ends fences that stand for too long at sources that are led here, because their
// driver is gone or blocked.
func (d *Driver) watchFences(ctx context.Context) {
	t := time.NewTicker(fenceEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
		for _, r := range d.cfg.Led() {
			for _, f := range r.Owned.Fenced() {
				if time.Since(f.Since) < fenceTime {
					continue
				}
				if err := d.endFence(ctx, r, f); err != nil && ctx.Err() == nil {
					d.cfg.Logger.Warn("a fence of a move stands and cannot be lifted; trying again",
						"fragment", r.ID(), "move", f.Move, "error", err)
				}
			}
		}
	}
}

// endFence aborts the step in the catalog and lifts its fence. The fence of a step that has flipped
// is left to its driver.
func (d *Driver) endFence(ctx context.Context, r *storage.Replica, f owned.FencedMove) error {
	ctx, cancel := context.WithTimeout(ctx, undoTime)
	defer cancel()
	view, err := d.cfg.Catalog.Current(ctx)
	if err != nil {
		return err
	}
	m, ok := byStep(view, f.Move)
	if ok && m.Step.Phase == catalog.StepRunning {
		_, err = d.cfg.Catalog.Update(ctx, func(_ *catalog.View, c *catalog.Change) error {
			return c.AbortStep(m.Job.ID, f.Move, "a step that took too long", now())
		})
		if err != nil {
			return err
		}
		if view, err = d.cfg.Catalog.Current(ctx); err != nil {
			return err
		}
		m, ok = byStep(view, f.Move)
	}
	// A step that the catalog no longer has was aborted: a step that has flipped is kept until the
	// source has confirmed that the ranges are gone.
	if ok && m.Step.Phase != catalog.StepAborted && m.Step.Phase != catalog.StepDone {
		return nil
	}
	return r.Moves.Unfence(ctx, f.Move, f.Ranges)
}

// byStep returns the move whose current step has a number.
func byStep(view *catalog.View, number uint64) (catalog.RunningMove, bool) {
	for _, m := range view.Moves(0) {
		if m.Step.Number == number {
			return m, true
		}
	}
	return catalog.RunningMove{}, false
}
