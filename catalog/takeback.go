package catalog

import "github.com/sherddb/sherd/shardmap"

// takeBack has the map lose assigned buckets that tables had which are gone or lie otherwise now, with the pins they were under; not those that a table names. Their numbers
// are not given out again (B6).
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
