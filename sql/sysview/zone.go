package sysview

import (
	"fmt"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/builtin"
)

// zones is sherd.zones.
func zones(b *builder) error {
	d := b.env.Database
	for _, z := range b.env.View.Zones(d) {
		err := b.row().text("fragment", d.FragmentName(z.Fragment)).text("labels", z.Rule.String()).
			int("replication_factor", int64(z.Want)).
			texts("nodes_with_labels", b.env.nodeNames(z.Nodes)).texts("inside", b.env.nodeNames(z.Inside)).
			texts("outside", b.env.nodeNames(z.Outside)).
			bool("kept", z.Kept()).text("state", z.State()).send()
		if err != nil {
			return err
		}
	}
	return nil
}

// adviseZones advises on rules that no nodes, or too few, can satisfy.
func adviseZones(b *builder) error {
	for d := range b.env.View.Databases() {
		for _, z := range b.env.View.Zones(d) {
			if len(z.Nodes) >= z.Want {
				continue
			}
			r := zoneRemedy(d, &z)
			r.Advice = fmt.Sprintf("%d nodes have labels %s, for %d replicas: %s; %s", len(z.Nodes), z.Rule, z.Want,
				z.State(), r.Advice)
			err := b.row().text("database", d.Name).text("subject", "fragment "+d.FragmentName(z.Fragment)).remedy(r).
				send()
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// zoneRemedy returns the remedy for a rule that too few nodes can satisfy.
func zoneRemedy(d *catalog.Database, z *catalog.Zone) Remedy {
	fragment := builtin.QuoteLiteral(d.FragmentName(z.Fragment))
	factor := func(n int) string {
		return fmt.Sprintf("SELECT sherd.set_replication_factor(%s, %d, %s)", builtin.QuoteLiteral(d.Name), n, fragment)
	}
	switch {
	case len(z.Fragment.On) > 0:
		return Remedy{factor(int(z.Fragment.Replicas)), "the remedy allows any node with the labels"}
	case len(z.Nodes) == 0:
		return Remedy{Advice: fmt.Sprintf(
			"start nodes with --labels as %s, or change the rule with sherd.set_fragment_labels", z.Rule)}
	}
	return Remedy{factor(len(z.Nodes)), fmt.Sprintf("start nodes with --labels as %s, or have fewer replicas", z.Rule)}
}

// prefixes is sherd.prefixes.
func prefixes(b *builder) error {
	d := b.env.Database
	if len(d.Prefixes) == 0 {
		return nil
	}
	stats, _, err := b.env.counted(d, 0)
	if err != nil {
		return err
	}
	for i := range d.Prefixes {
		r := &d.Prefixes[i]
		names := make([]string, len(r.Fragments))
		for j, f := range r.Fragments {
			names[j] = b.env.fragmentName(f)
		}
		docs, bytes := total(stats, func(s *Stat) bool { return r.Lo <= s.From && s.From < r.Hi })
		err := b.row().text("prefix", r.Text).int("first_bucket", int64(r.Lo)).int("end_bucket", int64(r.Hi)).
			texts("fragments", names).
			int("elsewhere", int64(d.PrefixElsewhere(r))).int("documents", docs).int("bytes", bytes).send()
		if err != nil {
			return err
		}
	}
	return nil
}
