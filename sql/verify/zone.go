package verify

// checkZones compares the replicas with the rules of labels, and the bucket map with the pins. A
// replica that is still moving to its place is a fault until it is there, because the data is in
// the wrong place.
func (c *Check) checkZones() {
	for _, z := range c.view.Zones(c.db) {
		name := c.db.FragmentName(z.Fragment)
		c.finding(checkZone, name, "").said = "replicas on nodes with " + z.Rule.String()
		for _, id := range z.Outside {
			node := "that was removed"
			if n := c.view.Node(id); n != nil {
				node = n.Name
			}
			c.fault(checkZone, name, "a replica is on node %s, which has not labels %s; %s", node, z.Rule, z.State())
		}
	}
	c.checkPrefixes()
	if len(c.db.Pins) == 0 || c.db.Map == nil {
		return
	}
	f := c.finding(checkPins, c.db.Name, "pins")
	f.looked = int64(len(c.db.Pins))
	for _, p := range c.db.Pins {
		for _, r := range c.db.Map.Ranges() {
			if v := r.Intersect(p.Interval); !v.Empty() && r.Fragment != p.Fragment {
				c.fault(checkPins, c.db.Name, "buckets %v are pinned to %s, and are in %s", v,
					c.fragmentName(p.Fragment), c.fragmentName(r.Fragment))
			}
		}
	}
}

// checkPrefixes compares the bucket map with the prefix rules. Whether rows lie in the buckets of
// the rules is checked with the rows.
func (c *Check) checkPrefixes() {
	if len(c.db.Prefixes) == 0 || c.db.Map == nil {
		return
	}
	f := c.finding(checkPrefixes, c.db.Name, "rules for prefixes")
	f.looked = int64(len(c.db.Prefixes))
	for i := range c.db.Prefixes {
		if r := &c.db.Prefixes[i]; c.db.PrefixElsewhere(r) > 0 {
			c.fault(checkPrefixes, c.db.Name, "%d buckets of prefix %q are in none of its fragments",
				c.db.PrefixElsewhere(r), r.Text)
		}
	}
}
