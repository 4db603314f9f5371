package catalog

import "github.com/sherddb/sherd/shardmap"

// Isolates reports whether a fragment owns pinned buckets and no others. Only an operator moves
// more buckets to it.
func (d *Database) Isolates(fragment uint32) bool {
	var pinned []shardmap.Interval
	for _, p := range d.Pins {
		if p.Fragment == fragment {
			pinned = append(pinned, p.Interval)
		}
	}
	owned := d.Map.Owned(fragment)
	return len(pinned) > 0 && !owned.IsEmpty() && owned.Intersect(shardmap.NewBucketSet(pinned...)).Equal(owned)
}
