package refint

import (
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/types"
)

// Key is a foreign key with its two tables.
type Key struct {
	Con          *catalog.Constraint
	Child        *catalog.Table // the referring table
	Parent       *catalog.Table // the referenced table, possibly the same
	ChildSchema  string
	ParentSchema string
	Columns      []*catalog.Column // of the child
	Referenced   []*catalog.Column // of the parent, parallel
}

// Of returns the Key of a foreign key constraint of a table.
func Of(v *catalog.View, t *catalog.Table, con *catalog.Constraint) *Key {
	k := &Key{Con: con, Child: t, Parent: v.Table(con.Reference.Table), ChildSchema: schemaName(v, t)}
	if con.Reference.Table == t.OID {
		k.Parent = t
	}
	k.ParentSchema = schemaName(v, k.Parent)
	for _, n := range con.Columns {
		k.Columns = append(k.Columns, t.ColumnByNum(n))
	}
	for _, n := range con.Reference.Columns {
		k.Referenced = append(k.Referenced, k.Parent.ColumnByNum(n))
	}
	return k
}

// From returns the foreign keys of a table, the oldest first.
func From(v *catalog.View, t *catalog.Table) []*Key {
	var out []*Key
	for i := range t.Constraints {
		if t.Constraints[i].Reference != nil {
			out = append(out, Of(v, t, &t.Constraints[i]))
		}
	}
	slices.SortFunc(out, byAge)
	return out
}

// To returns the foreign keys that refer to a table, the oldest first.
func To(v *catalog.View, t *catalog.Table) []*Key {
	var out []*Key
	for _, r := range v.Referrers(t.OID) {
		out = append(out, Of(v, r.Table, r.Key))
	}
	slices.SortFunc(out, byAge)
	return out
}

func byAge(a, b *Key) int { return int(a.Con.OID) - int(b.Con.OID) }

func schemaName(v *catalog.View, t *catalog.Table) string {
	if s := v.Schema(t.Schema); s != nil {
		return s.Name
	}
	return ""
}

// Plain reports whether equal values of both sides have equal encodings, so that encoded keys can
// be compared.
func (k *Key) Plain() bool {
	for i, c := range k.Columns {
		if !alike(c.Type, k.Referenced[i].Type) {
			return false
		}
	}
	return true
}

func alike(a, b types.OID) bool {
	integer := func(t types.OID) bool { return t == types.Int2 || t == types.Int4 || t == types.Int8 }
	text := func(t types.OID) bool { return t == types.Text || t == types.VarChar }
	return a == b || integer(a) && integer(b) || text(a) && text(b)
}

// Action returns the action on rows whose key is deleted or changed.
func (k *Key) Action(deleted bool) catalog.Action {
	if deleted {
		return k.Con.Reference.OnDelete
	}
	return k.Con.Reference.OnUpdate
}

// Current returns a foreign key as a view has it; nil: it has been dropped.
func Current(view *catalog.View, k *Key) *Key {
	t := view.Table(k.Child.OID)
	if t == nil {
		return nil
	}
	i := slices.IndexFunc(t.Constraints, func(c catalog.Constraint) bool { return c.OID == k.Con.OID })
	if i < 0 {
		return nil
	}
	return Of(view, t, &t.Constraints[i])
}
