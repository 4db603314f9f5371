package move

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/storage"
)

// errElsewhere is returned if the target is no longer led here: its leader continues.
var errElsewhere = errors.New("move: the target is led elsewhere")

const (
	minBackoff = 50 * time.Millisecond
	maxBackoff = 2 * time.Second
)

// drive advances a move until it ends, is paused, or its target is led elsewhere. It reports
// whether a test has ended it.
func (d *Driver) drive(ctx context.Context, job uint64) (stopped bool) {
	backoff := minBackoff
	for ctx.Err() == nil {
		m, ok := d.cfg.Catalog.View().MoveOf(job)
		if !ok || !d.hasWork(m) {
			return false
		}
		progress, err := d.advance(ctx, m)
		switch {
		case errors.Is(err, errStopHere):
			return true
		case errors.Is(err, errElsewhere), ctx.Err() != nil:
			return false
		case err == nil && progress:
			backoff = minBackoff
			continue
		case err != nil:
			d.cfg.Logger.Debug("a step of a move did not come to its end; trying again", "move", job, "error", err)
			d.waits(ctx, job, reason(err))
		}
		if !sleep(ctx, backoff) {
			return false
		}
		backoff = min(2*backoff, maxBackoff)
	}
	return false
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// reason returns an error in few words, for operators.
func reason(err error) string {
	var held *storage.PreparedError
	switch {
	case errors.As(err, &held):
		return fmt.Sprintf("prepared transaction %q", held.GID)
	case errors.Is(err, storage.ErrUndecided), storage.Uncalm(err):
		return "prepared transactions to be decided"
	case errors.Is(err, storage.ErrMoveVoid):
		return "another driver"
	}
	text := []rune(err.Error())
	return string(text[:min(len(text), 200)])
}

// advance takes the next action of a move and reports whether there is progress. It also completes
// or undoes a step that another driver, or this one, has left.
func (d *Driver) advance(ctx context.Context, m catalog.RunningMove) (progress bool, err error) {
	target := d.cfg.Leads(m.Target)
	if target == nil {
		return false, errElsewhere
	}
	s := &step{d: d, m: m, target: target, MoveStep: m.Step}
	switch m.Step.Phase {
	case catalog.StepRunning:
		return true, s.undo(ctx, "")
	case catalog.StepAborted:
		return true, s.lift(ctx)
	case catalog.StepFlipped:
		return true, s.complete(ctx)
	}
	view := d.cfg.Catalog.View()
	db := view.Database(m.Job.Database)
	switch {
	case db == nil:
		return false, d.finish(ctx, m, "cancelled", "the database was dropped")
	case m.Job.State == catalog.JobCancelled:
		return true, d.finish(ctx, m, "cancelled", "")
	case m.Job.State != catalog.JobRunning:
		return false, nil
	}
	rest := db.Remaining(m.Move)
	if len(rest) == 0 && (m.Resegment == nil || m.Steps > 0) {
		return true, d.finish(ctx, m, "done", "")
	}
	if why := unfit(view, db, m); why != "" {
		return true, d.finish(ctx, m, "cancelled", why)
	}
	r := nearest(db, rest, m.Target)
	if why, other := d.heldUp(view, db, m, r); why != "" {
		d.waits(ctx, m.Job.ID, why)
		return d.awaitEnd(ctx, other), nil
	}
	return true, d.step(ctx, m, target, r)
}

// unfit returns why segments can never replace others any more; "" for those that can, and for
// other moves.
func unfit(view *catalog.View, db *catalog.Database, m catalog.RunningMove) string {
	r := m.Resegment
	if r == nil {
		return ""
	}
	t := view.Table(r.Table)
	if t == nil || r.Place(t) < 0 {
		return "the table does not have the segments any more"
	}
	if _, ok := r.From(db.Map); !ok {
		return "the segments are in different fragments"
	}
	return ""
}

// awaitEnd waits for the end of the move that blocks another one, 0 for none, but not long: it may
// be paused, or something else may block. It reports whether that move has ended.
func (d *Driver) awaitEnd(ctx context.Context, other uint64) bool {
	if other == 0 {
		return false
	}
	t := time.NewTimer(maxBackoff)
	defer t.Stop()
	for {
		view := d.cfg.Catalog.View()
		if m, ok := view.MoveOf(other); !ok || m.Job.State != catalog.JobRunning && !m.Step.Open() {
			return true
		}
		select {
		case <-view.Superseded():
		case <-t.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// finish ends a move that has no open step.
func (d *Driver) finish(ctx context.Context, m catalog.RunningMove, outcome, why string) error {
	_, err := d.cfg.Catalog.Update(ctx, func(_ *catalog.View, c *catalog.Change) error {
		return c.EndMove(m.Job.ID, outcome, why, now())
	})
	return err
}

// waits notes in the job what a move waits for.
func (d *Driver) waits(ctx context.Context, job uint64, why string) {
	if m, ok := d.cfg.Catalog.View().MoveOf(job); !ok || m.Waits == why {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err := d.cfg.Catalog.Update(ctx, func(_ *catalog.View, c *catalog.Change) error {
		return c.SetWaits(job, why, now())
	})
	if err != nil && ctx.Err() == nil {
		d.cfg.Logger.Debug("what a move waits for cannot be written down", "move", job, "error", err)
	}
}

// nearest returns the range to move next: one that touches the buckets of the target, if there is
// one.
func nearest(db *catalog.Database, rest []shardmap.Range, target uint32) shardmap.Range {
	for _, r := range rest {
		if touchesBelow(db, r, target) || touchesAbove(db, r, target) {
			return r
		}
	}
	return rest[0]
}

func touchesBelow(db *catalog.Database, r shardmap.Range, target uint32) bool {
	return r.Lo > 0 && db.Map.Lookup(shardmap.Bucket(r.Lo-1)) == target
}

func touchesAbove(db *catalog.Database, r shardmap.Range, target uint32) bool {
	return r.Hi < shardmap.BucketCount && db.Map.Lookup(shardmap.Bucket(r.Hi)) == target
}

// heldUp returns what keeps the next step from starting, "" if nothing does, and the number of the
// move that blocks it, 0 if none does.
func (d *Driver) heldUp(
	view *catalog.View, db *catalog.Database, m catalog.RunningMove, r shardmap.Range,
) (why string, other uint64) {
	if p, ok := db.Pinned(r.Interval, m.Target); ok {
		return fmt.Sprintf("buckets %v, which are pinned", p.Interval), 0
	}
	if why, other := before(view, m, r.Fragment, concurrentMoves(view)); why != "" {
		return why, other
	}
	for t := range view.Tables(db.OID) {
		for i := range t.Indexes {
			if t.Indexes[i].State == catalog.IndexBuilding {
				return fmt.Sprintf("index %q, which is being built", t.Indexes[i].Name), 0
			}
		}
	}
	if d.cfg.Suffers() {
		return "foreground statements, which have become slow", 0
	}
	return "", 0
}

// before returns why a move has to wait for earlier ones, "" if it need not, and the number of the
// move that it waits for. The first moves by number run, as many as limit allows, and a fragment
// takes part in one of them at a time.
func before(view *catalog.View, m catalog.RunningMove, source uint32, limit int) (why string, move uint64) {
	busy := map[uint32]uint64{}
	n := 0
	for _, other := range view.Moves(0) {
		if other.Job.ID >= m.Job.ID {
			break
		}
		if other.Job.State != catalog.JobRunning && !other.Step.Open() {
			continue
		}
		from := other.Step.Source
		if from == 0 || !other.Step.Open() {
			if db := view.Database(other.Job.Database); db != nil {
				if rest := db.Remaining(other.Move); len(rest) > 0 {
					from = nearest(db, rest, other.Target).Fragment
				}
			}
		}
		if busy[from] != 0 || busy[other.Target] != 0 || n >= limit {
			continue // it waits itself
		}
		busy[from], busy[other.Target] = other.Job.ID, other.Job.ID
		n++
	}
	for _, f := range []uint32{source, m.Target} {
		if id := busy[f]; id != 0 {
			// without the number, because every waiting move would update its reason whenever one
			// ends
			return "earlier moves of the same fragment", id
		}
	}
	if n >= limit {
		return "earlier moves (sherd.concurrent_moves)", 0
	}
	return "", 0
}
