package catalog

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sherddb/sherd/shardmap"
)

// FragmentByID returns the database's fragment with a number, nil if there is none.
func (d *Database) FragmentByID(id uint32) *Fragment {
	for i := range d.Fragments {
		if d.Fragments[i].ID == id {
			return &d.Fragments[i]
		}
	}
	return nil
}

// NameOfFragment returns the name of the fragment of an id, also if the database no longer has it.
func (d *Database) NameOfFragment(id shardmap.FragmentID) string {
	if f := d.FragmentByID(id); f != nil {
		return d.FragmentName(f)
	}
	return fmt.Sprintf("fragment %d", id)
}

// FragmentName returns the name of one of the database's fragments, such as orders$0.
func (d *Database) FragmentName(f *Fragment) string { return fmt.Sprintf("%s$%d", d.Name, f.Ordinal) }

// PinOf returns the pin that a bucket is under.
func (d *Database) PinOf(b shardmap.Bucket) (Pin, bool) {
	for _, p := range d.Pins {
		if p.Lo <= uint32(b) && uint32(b) < p.Hi {
			return p, true
		}
	}
	return Pin{}, false
}

// Column returns the live column with a name, nil if there is none.
func (t *Table) Column(name string) *Column {
	for i := range t.Columns {
		if c := &t.Columns[i]; !c.Dropped && c.Name == name {
			return c
		}
	}
	return nil
}

// ColumnByNum returns the column with an attribute number, dropped columns included, nil if there
// is none.
func (t *Table) ColumnByNum(n int16) *Column {
	i, found := slices.BinarySearchFunc(t.Columns, n, func(c Column, n int16) int { return cmp.Compare(c.AttNum, n) })
	if !found {
		return nil
	}
	return &t.Columns[i]
}

// PrimaryKey returns the primary key's constraint, nil if there is none.
func (t *Table) PrimaryKey() *Constraint {
	for i := range t.Constraints {
		if t.Constraints[i].Kind == PrimaryKey {
			return &t.Constraints[i]
		}
	}
	return nil
}

// Constraint returns the constraint with a name, nil if there is none.
func (t *Table) Constraint(name string) *Constraint {
	for i := range t.Constraints {
		if t.Constraints[i].Name == name {
			return &t.Constraints[i]
		}
	}
	return nil
}

// SettingList returns the cluster's settings by name.
func (c *Cluster) SettingList() []Setting {
	var out []Setting
	for name, value := range c.Settings {
		out = append(out, Setting{name, value})
	}
	slices.SortFunc(out, func(a, b Setting) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// builtinSchemas are in every database, but not in the catalog.
var builtinSchemas = [...]string{"pg_catalog", "information_schema", "sherd", "pg_toast"}

// IsBuiltinSchema reports whether every database has a schema with that name that is not in the
// catalog.
func IsBuiltinSchema(name string) bool { return slices.Contains(builtinSchemas[:], name) }

// NodeBlock returns the letters at the end of ids made on the n-th node, from 1: A … Z, AA, AB …
func NodeBlock(n uint32) string {
	var b []byte
	for ; n > 0; n = (n - 1) / 26 {
		b = append(b, byte('A'+(n-1)%26))
	}
	slices.Reverse(b)
	return string(b)
}

// DeferrableKey returns the primary key under which rows are not stored because it is deferrable,
// nil if there is none.
func (t *Table) DeferrableKey() *Constraint {
	for i := range t.Constraints {
		if t.Constraints[i].Primary {
			return &t.Constraints[i]
		}
	}
	return nil
}
