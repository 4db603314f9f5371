package catalog

import "github.com/sherddb/sherd/shardmap"

// Isolates tells whether a fragment is kept for what is pinned to it: it owns nothing else. Nobody but an operator brings anything there.
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
