package catalog

import "github.com/sherddb/sherd/shardmap"

// PinOf returns the pin that a bucket is under.
func (d *Database) PinOf(b shardmap.Bucket) (Pin, bool) {
	for _, p := range d.Pins {
		if p.Lo <= uint32(b) && uint32(b) < p.Hi {
			return p, true
		}
	}
	return Pin{}, false
}
