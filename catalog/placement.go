package catalog

import (
	"slices"

	"github.com/sherddb/sherd/shardmap"
)

// Sites returns the nodes as the placement of replicas sees them. The catalog does not know which
// nodes answer.
func (v *View) Sites() []shardmap.Site {
	var out []shardmap.Site
	for n := range v.Nodes() {
		out = append(out, shardmap.Site{ID: n.ID, Zone: n.Labels["zone"], Labels: n.Labels, Holds: !n.Gateway, Drains: n.GivesReplicas()})
	}
	return out
}

// ReplicaSets returns where the replicas of all fragments are.
func (v *View) ReplicaSets() []shardmap.ReplicaSet {
	var out []shardmap.ReplicaSet
	for d := range v.Databases() {
		for _, f := range d.Fragments {
			out = append(out, shardmap.ReplicaSet{
				Fragment: f.ID, Want: d.Factor(&f), On: f.On, Labels: d.RuleOf(&f), Nodes: f.Nodes, Joining: f.Joining, Leaving: f.Leaving,
			})
		}
	}
	return out
}

// Place puts the replicas of a fragment where next says, if they are where was says.
func (c *Change) Place(was, next shardmap.ReplicaSet) error {
	d, f := c.base.Fragment(was.Fragment)
	if f == nil || !slices.Equal(f.Nodes, was.Nodes) || !slices.Equal(f.Joining, was.Joining) || !slices.Equal(f.Leaving, was.Leaving) {
		return nil // somebody else has done something about it
	}
	d = d.Clone()
	f = d.FragmentByID(was.Fragment)
	f.Nodes, f.Joining, f.Leaving = slices.Clone(next.Nodes), slices.Clone(next.Joining), slices.Clone(next.Leaving)
	return c.PutDatabase(d)
}
