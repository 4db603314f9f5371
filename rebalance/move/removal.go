package move

import (
	"context"
	"errors"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/storage"
)

const removeEvery = time.Second

// removeFragments continues the removals of fragments that are led here: it starts the moves of
// their buckets, and drops a fragment that has no bucket when nothing needs it any more.
func (d *Driver) removeFragments(ctx context.Context) {
	t := time.NewTicker(removeEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
		view := d.cfg.Catalog.View()
		for j := range view.Jobs() {
			r, err := j.Removal()
			if err != nil || j.State != catalog.JobRunning {
				continue
			}
			replica := d.cfg.Leads(r.Fragment)
			if replica == nil {
				continue
			}
			if err := d.remove(ctx, view, j, r, replica); err != nil && ctx.Err() == nil {
				d.cfg.Logger.Warn("the removal of a fragment does not go on; trying again",
					"fragment", r.Fragment, "error", err)
			}
		}
	}
}

// remove takes the next action of the removal of a fragment.
func (d *Driver) remove(
	ctx context.Context, view *catalog.View, j *catalog.Job, r *catalog.Removal, replica *storage.Replica,
) error {
	db := view.Database(j.Database)
	if db == nil || db.FragmentByID(r.Fragment) == nil { // dropped with its database
		_, err := d.cfg.Catalog.Update(ctx, func(_ *catalog.View, c *catalog.Change) error {
			c.DropJob(j.ID)
			return nil
		})
		return err
	}
	for _, m := range view.Moves(j.Database) {
		if m.Source == r.Fragment || m.Step.Open() && m.Step.Source == r.Fragment {
			return d.removalWaits(ctx, j, "moves of its buckets")
		}
	}
	if !db.Map.Owned(r.Fragment).IsEmpty() {
		return d.spread(ctx, j, r)
	}
	if why := inUse(replica); why != "" {
		return d.removalWaits(ctx, j, why)
	}
	_, err := d.cfg.Catalog.Update(ctx, func(_ *catalog.View, c *catalog.Change) error {
		return c.FinishRemoval(j.ID, now())
	})
	return err
}

// inUse returns what keeps a fragment without buckets from being dropped.
func inUse(r *storage.Replica) string {
	for _, x := range r.Owned.Ranges() {
		if x.State == storage.Fenced || x.State == storage.Receiving {
			return "a move that is being undone"
		}
	}
	return r.Inspect.InUse()
}

func (d *Driver) removalWaits(ctx context.Context, j *catalog.Job, why string) error {
	_, err := d.cfg.Catalog.Update(ctx, func(v *catalog.View, c *catalog.Change) error {
		j := v.Job(j.ID)
		if j == nil {
			return nil
		}
		r, err := j.Removal()
		if err != nil || r.Waits == why {
			return err
		}
		r.Waits = why
		return c.PutJob(j.WithRemoval(r, now()))
	})
	return err
}

// spread starts the moves of all buckets that a fragment owns.
func (d *Driver) spread(ctx context.Context, j *catalog.Job, r *catalog.Removal) error {
	db := d.cfg.Catalog.View().Database(j.Database)
	shares, err := d.cfg.Empty(ctx, db, r.Fragment)
	if err != nil {
		return errors.Join(d.removalWaits(ctx, j, "the sizes of the fragments"), err)
	}
	shares = leftover(db, r.Fragment, shares)
	first, err := d.cfg.Catalog.NewJobIDs(ctx, max(len(shares), 1))
	if err != nil {
		return err
	}
	_, err = d.cfg.Catalog.Update(ctx, func(v *catalog.View, c *catalog.Change) error {
		if now := v.Job(j.ID); now == nil || now.State != catalog.JobRunning || v.Database(j.Database) == nil {
			return nil
		}
		a := catalog.Author{Who: r.Who, Why: r.Why, Plan: j.ID, Micros: now()}
		for i, x := range shares {
			m := &catalog.Move{Interval: x.Interval, Source: r.Fragment, Target: x.Fragment}
			if err := c.AddMove(first+uint64(i), j.Database, m, a); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

// leftover adds to shares what a fragment owns and no share names: buckets of a prefix, for
// instance, or all buckets if no fragment has room. The fragments that may take them get equal
// parts. A fragment that is reserved for what is pinned to it takes nothing.
func leftover(db *catalog.Database, fragment uint32, shares []shardmap.Range) []shardmap.Range {
	var named []shardmap.Interval
	for _, x := range shares {
		named = append(named, x.Interval)
	}
	var takers []uint32
	for i := range db.Fragments {
		if f := &db.Fragments[i]; !f.Draining && f.ID != fragment && !db.Isolates(f.ID) {
			takers = append(takers, f.ID)
		}
	}
	next := 0
	for _, v := range db.Map.Owned(fragment).Minus(shardmap.NewBucketSet(named...)).Intervals() {
		n := uint32(min(len(takers), v.Len()))
		for i := range n {
			part := shardmap.Interval{Lo: v.Lo + uint32(uint64(v.Len())*uint64(i)/uint64(n)),
				Hi: v.Lo + uint32(uint64(v.Len())*uint64(i+1)/uint64(n))}
			shares = append(shares, shardmap.Range{Interval: part, Fragment: takers[next%len(takers)]})
			next++
		}
	}
	return shares
}
