package catalog

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
)

// RuleOf returns the labels that a node must have to hold replicas of a fragment: those that its
// database requires and those that the fragment requires.
func (d *Database) RuleOf(f *Fragment) shardmap.LabelRule { return d.Labels.And(f.Labels) }

// Zone is a fragment with a rule of labels, and how far the rule is met at present.
type Zone struct {
	Fragment *Fragment
	Rule     shardmap.LabelRule
	Want     int // replicas
	// Nodes that may have a replica: they match the rule, hold fragments, and are in On if that is
	// set.
	Nodes   []uint32
	Inside  []uint32 // with a replica that the rule allows
	Outside []uint32 // with a replica that the rule does not allow
}

// Kept reports whether the rule allows every replica.
func (z *Zone) Kept() bool { return len(z.Outside) == 0 }

// State describes for operators how far the rule is met.
func (z *Zone) State() string {
	joining := len(z.Fragment.Joining) > 0
	switch inside := len(z.Inside); {
	case z.Kept() && inside >= z.Want && !joining:
		return "kept"
	case z.Kept() && len(z.Nodes) < z.Want:
		return fmt.Sprintf("kept, with %d of %d replicas: too few nodes%s have the labels", inside, z.Want, z.bound())
	case z.Kept():
		return fmt.Sprintf("kept, replicas are added: %d of %d", inside-len(z.Fragment.Joining), z.Want)
	case len(z.Nodes) == 0:
		return "not kept: no node" + z.bound() + " has the labels"
	}
	return fmt.Sprintf("replicas are moving: %d outside", len(z.Outside))
}

// bound returns the words that restrict "nodes" in a message, if the fragment may be on some nodes
// only.
func (z *Zone) bound() string {
	if len(z.Fragment.On) == 0 {
		return ""
	}
	return " of those that it is bound to"
}

// ZoneOf returns the zone of a fragment; ok is false if it has no rule. A replica on a removed node
// is outside.
func (v *View) ZoneOf(d *Database, f *Fragment) (z Zone, ok bool) {
	z = Zone{Fragment: f, Rule: d.RuleOf(f), Want: d.Factor(f)}
	if len(z.Rule) == 0 {
		return z, false
	}
	for n := range v.Nodes() {
		if n.HoldsFragments() && z.Rule.Allows(n.Labels) && (len(f.On) == 0 || slices.Contains(f.On, n.ID)) {
			z.Nodes = append(z.Nodes, n.ID)
		}
	}
	for _, id := range f.Nodes {
		if n := v.Node(id); n != nil && z.Rule.Allows(n.Labels) {
			z.Inside = append(z.Inside, id)
		} else {
			z.Outside = append(z.Outside, id)
		}
	}
	return z, true
}

// Zones returns the fragments of a database that have a rule.
func (v *View) Zones(d *Database) (out []Zone) {
	for i := range d.Fragments {
		if z, ok := v.ZoneOf(d, &d.Fragments[i]); ok {
			out = append(out, z)
		}
	}
	return out
}

// SetLabels sets the labels that nodes must have to hold the replicas of a database's fragments. If
// fragment is set, the labels apply to that fragment, in addition to those of the database.
// Replicas move one at a time.
func (c *Change) SetLabels(database OID, fragment string, rule shardmap.LabelRule, a Author) error {
	d := c.current(c.base.Database(database))
	labels, subject := &d.Labels, d.Name
	if fragment != "" {
		f, err := d.FragmentNamed(fragment)
		if err != nil {
			return err
		}
		labels, subject = &f.Labels, fragment
	}
	if labels.String() == rule.String() {
		return nil
	}
	*labels = rule
	text := "replicas on nodes with " + rule.String()
	if len(rule) == 0 {
		text = "replicas on nodes with any labels"
	}
	return errors.Join(c.PutDatabase(d), c.note(a, ReplicasRecord, d, subject, text))
}

// Shortage returns a notice if too few nodes have the labels of the rule, otherwise nil.
func (z *Zone) Shortage(name string) *pgerr.Error {
	e := &pgerr.Error{Severity: "NOTICE", Code: pgerr.SuccessfulCompletion}
	switch {
	case len(z.Nodes) >= z.Want:
		return nil
	case len(z.Nodes) == 0:
		e.Message = fmt.Sprintf(`no node that may hold the replicas of fragment "%s" has labels %s`, name, z.Rule)
		e.Detail = "They stay where they are until one joins; sherd.zones tells how the rule is kept."
		if len(z.Fragment.On) > 0 {
			e.Detail = "They stay where they are: the fragment is bound to some nodes, " +
				"and these have other labels. sherd.set_replication_factor can bind it to others."
		}
	default:
		e.Message = fmt.Sprintf(`fragment "%s" shall have %d replicas on nodes with labels %s, and these are %d`, name,
			z.Want, z.Rule, len(z.Nodes))
		e.Detail = "It has as many as there are such nodes, and the others when more join; " +
			"sherd.zones tells how the rule is kept."
	}
	return e
}

// maxShortages is the number of fragments for which there are separate notices.
const maxShortages = 5

// Shortages returns notices for the fragments of a database with too few nodes that have the
// labels. If fragment is set, only that one is checked.
func (v *View) Shortages(d *Database, fragment string) (out []*pgerr.Error) {
	for _, z := range v.Zones(d) {
		name := d.FragmentName(z.Fragment)
		if e := z.Shortage(name); e != nil && (fragment == "" || fragment == name) {
			out = append(out, e)
		}
	}
	if more := len(out) - maxShortages; more > 0 {
		out = append(out[:maxShortages], &pgerr.Error{
			Severity: "NOTICE", Code: pgerr.SuccessfulCompletion,
			Message: fmt.Sprintf("and so it is with %d more fragments", more), Detail: "sherd.zones lists them.",
		})
	}
	return out
}

// NoNode returns the error that no node can hold the fragments of a database.
func NoNode(rule shardmap.LabelRule) error {
	e := pgerr.New(pgerr.ObjectNotInPrerequisiteState, "no node can hold the fragments of a database")
	if len(rule) > 0 {
		return e.WithDetail("Nodes hold none that have not labels %s, are gateways, "+
			"are being drained, or do not answer.", rule)
	}
	return e.WithDetail("Nodes that are gateways, are being drained, or do not answer, hold none.")
}
