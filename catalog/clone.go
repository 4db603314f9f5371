package catalog

import (
	"maps"
	"slices"
)

// Clone returns a copy of a fragment that may be changed (K1).
func (f *Fragment) Clone() *Fragment {
	c := *f
	c.Nodes, c.Joining, c.Leaving = slices.Clone(f.Nodes), slices.Clone(f.Joining), slices.Clone(f.Leaving)
	c.On = slices.Clone(f.On)
	return &c
}

// Clone returns a copy of a database that may be changed (K1). The bucket map and access
// lists, which are immutable, are shared.
func (d *Database) Clone() *Database {
	c := *d
	c.Fragments = slices.Clone(d.Fragments)
	for i := range c.Fragments {
		c.Fragments[i] = *c.Fragments[i].Clone()
	}
	c.Settings, c.Pins, c.Prefixes = maps.Clone(d.Settings), slices.Clone(d.Pins), slices.Clone(d.Prefixes)
	c.DefaultACLs, c.LanguageACLs = slices.Clone(d.DefaultACLs), maps.Clone(d.LanguageACLs)
	return &c
}

// Clone returns a copy of a schema that may be changed (K1).
func (s *Schema) Clone() *Schema {
	c := *s
	return &c
}

// Clone returns a copy of a table, with its columns, constraints, indexes and statistics objects, that may be changed
// (K1). The policy, which is immutable, is shared.
func (t *Table) Clone() *Table {
	c := *t
	c.Columns = slices.Clone(t.Columns)
	for i := range c.Columns {
		c.Columns[i].Missing = slices.Clone(c.Columns[i].Missing)
	}
	c.Constraints = slices.Clone(t.Constraints)
	for i := range c.Constraints {
		c.Constraints[i].Columns = slices.Clone(c.Constraints[i].Columns)
		c.Constraints[i].Reference = c.Constraints[i].Reference.clone()
	}
	c.Indexes = slices.Clone(t.Indexes)
	for i := range c.Indexes {
		c.Indexes[i] = t.Indexes[i].clone()
	}
	c.Options = maps.Clone(t.Options)
	c.ColumnComments = maps.Clone(t.ColumnComments)
	c.Sequence, c.View, c.Hot = t.Sequence.clone(), t.View.clone(), t.Hot.Clone()
	c.Statistics, c.Triggers = cloneStatistics(t.Statistics), cloneTriggers(t.Triggers)
	c.RowSecurity = t.RowSecurity.clone()
	return &c
}

// Clone returns a copy of a role that may be changed (K1).
func (r *Role) Clone() *Role {
	c := *r
	c.Settings, c.MemberOf = maps.Clone(r.Settings), slices.Clone(r.MemberOf)
	return &c
}

// Clone returns a copy of a node that may be changed (K1).
func (n *Node) Clone() *Node {
	c := *n
	c.Labels = maps.Clone(n.Labels)
	return &c
}

// Clone returns a copy of a job that may be changed (K1).
func (j *Job) Clone() *Job {
	c := *j
	c.Payload = slices.Clone(j.Payload)
	c.Swept = slices.Clone(j.Swept)
	return &c
}

func (c *Cluster) clone() *Cluster {
	d := *c
	d.Settings = maps.Clone(c.Settings)
	return &d
}
