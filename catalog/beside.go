package catalog

import (
	"context"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
)

// AssignBeside gives out a new bucket for a part of what lies in another (B6), as AssignBuckets does. Where that one is pinned, the new one is in the same fragment and
// pinned too, for the same anchors: what must stay somewhere does not leave by being split.
func (c *Catalog) AssignBeside(ctx context.Context, database OID, beside shardmap.Bucket) (first shardmap.Bucket, err error) {
	_, err = c.Update(ctx, func(v *View, ch *Change) error {
		d := v.Database(database)
		if d == nil {
			return pgerr.New(pgerr.InvalidCatalogName, "the database does not exist any more")
		}
		pin, pinned := d.PinOf(beside)
		fragments := d.SpreadSegments(1)
		if pinned {
			fragments = []shardmap.FragmentID{pin.Fragment}
		}
		d = d.Clone()
		if d.Map, first, err = d.Map.Assign(fragments); err != nil {
			return pgerr.New(pgerr.ProgramLimitExceeded, "no bucket is left that could be given out").WithDetail("%s.", err)
		}
		if pinned { // its number is above all others, so the pins stay in order
			d.Pins = append(d.Pins, Pin{shardmap.OneBucket(first), pin.Fragment, pin.Anchors})
		}
		return ch.PutDatabase(d)
	})
	return first, err
}

// PinOf gives the pin that a bucket is under.
func (d *Database) PinOf(b shardmap.Bucket) (Pin, bool) {
	for _, p := range d.Pins {
		if p.Lo <= uint32(b) && uint32(b) < p.Hi {
			return p, true
		}
	}
	return Pin{}, false
}
