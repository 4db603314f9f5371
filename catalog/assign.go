package catalog

import (
	"context"
	"slices"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
)

// AssignBuckets assigns new buckets of a database, one for each fragment that pick returns, in that
// order, and returns the number of the first (B6). The assignment is a log entry of its own,
// outside any transaction: if the definition that needed the buckets never comes into force, they
// stay empty. So a map that is as new as a definition has the buckets that the definition names.
func (c *Catalog) AssignBuckets(ctx context.Context, database OID,
	pick func(*View, *Database) ([]shardmap.FragmentID, error)) (first shardmap.Bucket, err error) {
	err = c.assign(ctx, database, func(v *View, d *Database) (next *shardmap.Map, err error) {
		fragments, err := pick(v, d)
		if err != nil {
			return nil, err
		}
		next, first, err = d.Map.Assign(fragments)
		return next, noBucketLeft(err)
	})
	return first, err
}

func noBucketLeft(err error) error {
	if err == nil {
		return nil
	}
	return pgerr.New(pgerr.ProgramLimitExceeded, "no bucket is left that could be given out").WithDetail("%s.", err)
}

// assign replaces the bucket map of a database by the result of a function.
func (c *Catalog) assign(ctx context.Context, database OID, give func(*View, *Database) (*shardmap.Map, error)) error {
	_, err := c.Update(ctx, func(v *View, ch *Change) error {
		d := v.Database(database)
		if d == nil {
			return pgerr.New(pgerr.InvalidCatalogName, "the database does not exist any more")
		}
		next, err := give(v, d)
		if err != nil {
			return err
		}
		d = d.Clone()
		d.Map = next
		return ch.PutDatabase(d)
	})
	return err
}

// Takers returns the fragments of a database to which new buckets may be assigned, in their order.
// Fragments that are being removed and fragments that hold only pinned buckets are left out.
func (d *Database) Takers() (out []shardmap.FragmentID) {
	for i := range d.Fragments {
		if f := &d.Fragments[i]; !f.Draining && !d.Isolates(f.ID) {
			out = append(out, f.ID)
		}
	}
	return out
}

// SpreadSegments chooses the fragments of n new consecutive buckets. Fragments with the fewest
// assigned buckets come first, and each fragment gets a run of neighbours.
func (d *Database) SpreadSegments(n int) []shardmap.FragmentID {
	takers := d.Takers()
	if len(takers) == 0 {
		takers = d.Map.Fragments()
	}
	have := map[shardmap.FragmentID]int{}
	for _, s := range d.Map.Split(d.Map.Assigned()) {
		have[s.Fragment] = s.Buckets.Len()
	}
	slices.SortStableFunc(takers, func(a, b shardmap.FragmentID) int { return have[a] - have[b] })
	out := make([]shardmap.FragmentID, n)
	for i := range out {
		out[i] = takers[i*len(takers)/n]
	}
	return out
}

// takeBack removes assigned buckets from the map, with their pins, after their table was dropped or
// got other segments. It keeps buckets that a table still uses. The numbers are not reused (B6).
func (c *Change) takeBack(database OID, set shardmap.BucketSet) error {
	was := c.base.Database(database)
	if was == nil || set.IsEmpty() {
		return nil
	}
	d := c.current(was)
	set = set.Intersect(d.Map.Assigned())
	for t := range c.base.Tables(database) {
		set = set.Minus(t.Segments.Buckets())
	}
	if set.IsEmpty() {
		return nil
	}
	next, err := d.Map.Release(set)
	if err != nil {
		return err
	}
	d.Map = next
	var pins []Pin
	for _, p := range d.Pins {
		for _, v := range shardmap.NewBucketSet(p.Interval).Minus(set).Intervals() {
			pins = append(pins, Pin{v, p.Fragment, p.Anchors})
		}
	}
	d.Pins = pins
	return c.PutDatabase(d)
}
