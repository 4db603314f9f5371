package catalog

import (
	"slices"

	"github.com/sherddb/sherd/shardmap"
)

// Sites returns the nodes in the form that the placement of replicas uses. The catalog does not
// know which nodes answer.
func (v *View) Sites() []shardmap.Site {
	var out []shardmap.Site
	for n := range v.Nodes() {
		out = append(out, shardmap.Site{ID: n.ID, Zone: n.Labels["zone"], Labels: n.Labels, Holds: !n.Gateway,
			Drains: n.GivesReplicas()})
	}
	return out
}

// ReplicaSets returns the places of the replicas of all fragments.
func (v *View) ReplicaSets() []shardmap.ReplicaSet {
	var out []shardmap.ReplicaSet
	for d := range v.Databases() {
		for _, f := range d.Fragments {
			out = append(out, shardmap.ReplicaSet{
				Fragment: f.ID, Want: d.Factor(&f), On: f.On, Labels: d.RuleOf(&f), Nodes: f.Nodes, Joining: f.Joining,
				Leaving: f.Leaving,
			})
		}
	}
	return out
}

// Place moves the replicas of a fragment from was to next. If they are not as in was, it does
// nothing.
func (c *Change) Place(was, next shardmap.ReplicaSet) error {
	d, f := c.base.Fragment(was.Fragment)
	if f == nil || !slices.Equal(f.Nodes, was.Nodes) || !slices.Equal(f.Joining, was.Joining) ||
		!slices.Equal(f.Leaving, was.Leaving) {
		return nil // another change came first
	}
	d = d.Clone()
	f = d.FragmentByID(was.Fragment)
	f.Nodes, f.Joining, f.Leaving = slices.Clone(next.Nodes), slices.Clone(next.Joining), slices.Clone(next.Leaving)
	return c.PutDatabase(d)
}
