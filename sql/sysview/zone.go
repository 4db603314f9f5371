package sysview

import (
	"fmt"

	"github.com/sherddb/sherd/catalog"
)

// zones is sherd.zones.
func zones(b *builder) error {
	d := b.env.Database
	for _, z := range b.env.View.Zones(d) {
		err := b.row().text("fragment", d.FragmentName(z.Fragment)).text("labels", z.Rule.String()).int("replication_factor", int64(z.Want)).
			texts("nodes_with_labels", b.env.nodeNames(z.Nodes)).texts("inside", b.env.nodeNames(z.Inside)).texts("outside", b.env.nodeNames(z.Outside)).
			bool("kept", z.Kept()).text("state", z.State()).send()
		if err != nil {
			return err
		}
	}
	return nil
}

// adviseZones tells of rules that no nodes, or too few, can keep.
func adviseZones(b *builder) error {
	for d := range b.env.View.Databases() {
		for _, z := range b.env.View.Zones(d) {
			if len(z.Nodes) >= z.Want {
				continue
			}
			err := b.row().text("database", d.Name).text("subject", "fragment "+d.FragmentName(z.Fragment)).
				text("advice", fmt.Sprintf("%d nodes have labels %s, for %d replicas: %s", len(z.Nodes), z.Rule, z.Want, z.State())).
				text("remedy", zoneRemedy(d, &z)).send()
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func zoneRemedy(d *catalog.Database, z *catalog.Zone) string {
	name := d.FragmentName(z.Fragment)
	if len(z.Fragment.On) > 0 {
		return fmt.Sprintf("SELECT sherd.set_replication_factor('%s', %d, '%s'); lets it go to any node with the labels", d.Name, z.Fragment.Replicas, name)
	}
	if len(z.Nodes) == 0 {
		return fmt.Sprintf("start nodes with --labels as %s, or change the rule with sherd.set_fragment_labels('%s', …)", z.Rule, name)
	}
	return fmt.Sprintf("start nodes with --labels as %s, or SELECT sherd.set_replication_factor('%s', %d, '%s');", z.Rule, d.Name, len(z.Nodes), name)
}
