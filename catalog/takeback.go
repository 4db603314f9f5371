package catalog

import "github.com/sherddb/sherd/shardmap"

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
