package sysview

import (
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/types"
)

// foreignText returns a foreign key as pg_get_constraintdef does, without its deferrability.
func (n *Names) foreignText(t *catalog.Table, c *catalog.Constraint) string {
	ref := c.Reference
	parent := n.View.Table(ref.Table)
	schema, _ := n.SchemaName(parent.Schema)
	visible := n.first([]string{parent.Name}, n.relationIn) == parent.OID
	out := "FOREIGN KEY (" + columnList(t, c.Columns) + ") REFERENCES " + n.qualify(schema, parent.Name, visible) +
		"(" + columnList(parent, ref.Columns) + ")"
	if ref.Match == catalog.MatchFull {
		out += " MATCH FULL"
	}
	out += actionText(" ON UPDATE ", ref.OnUpdate) + actionText(" ON DELETE ", ref.OnDelete)
	if len(ref.DeleteColumns) > 0 {
		out += " (" + columnList(t, ref.DeleteColumns) + ")"
	}
	return out
}

var actionWords = map[catalog.Action]string{
	catalog.NoAction: "NO ACTION", catalog.Restrict: "RESTRICT", catalog.Cascade: "CASCADE",
	catalog.SetNull: "SET NULL", catalog.SetDefault: "SET DEFAULT",
}

func actionText(on string, a catalog.Action) string {
	if a == catalog.NoAction {
		return ""
	}
	return on + actionWords[a]
}

// deferralText returns the suffix of a constraint that can be deferred.
func deferralText(c *catalog.Constraint) string {
	switch {
	case c.InitiallyDeferred:
		return " DEFERRABLE INITIALLY DEFERRED"
	case c.Deferrable:
		return " DEFERRABLE"
	}
	return ""
}

// referred returns the table that a foreign key refers to, and the constraint and index that it
// depends on; nil or 0 if there is none.
func (n *Names) referred(c *catalog.Constraint) (t *catalog.Table, constraint *catalog.Constraint, index catalog.OID) {
	t, index = n.View.Table(c.Reference.Table), c.Reference.Index
	if index != 0 {
		return t, t.ConstraintOf(index), index
	}
	pk := t.PrimaryKey()
	return t, pk, pk.Index
}

// reference sets the columns of pg_constraint that only foreign keys have.
func (r *record) reference(n *Names, t *catalog.Table, c *catalog.Constraint) *record {
	ref := c.Reference
	parent, _, index := n.referred(c)
	r.oid("conindid", index).oid("confrelid", parent.OID).numbers("confkey", ref.Columns).
		char("confupdtype", byte(ref.OnUpdate)).char("confdeltype", byte(ref.OnDelete)).
		char("confmatchtype", byte(ref.Match))
	if len(ref.DeleteColumns) > 0 {
		r.numbers("confdelsetcols", ref.DeleteColumns)
	}
	var pf, pp, ff []uint32
	for i, att := range c.Columns {
		f, p := base(t.ColumnByNum(att).Type), base(parent.ColumnByNum(ref.Columns[i]).Type)
		pp, ff = append(pp, equality(p, p)), append(ff, equality(f, f))
		if op := equality(p, f); op != 0 {
			pf = append(pf, op)
		} else {
			pf = append(pf, equality(p, p))
		}
	}
	return r.set("conpfeqop", oidArray(pf)).set("conppeqop", oidArray(pp)).set("conffeqop", oidArray(ff))
}

func oidArray(list []uint32) types.Datum {
	out := make([]types.Datum, len(list))
	for i, oid := range list {
		out[i] = types.NewInt(int64(oid))
	}
	return types.NewList(types.Oid, out)
}

// base returns the type whose operators a type uses.
func base(oid uint32) uint32 {
	if oid == types.VarChar {
		return types.Text
	}
	return oid
}

func equality(left, right uint32) uint32 {
	if op := pgcatalog.OperatorFor("=", left, right); op != nil {
		return op.OID
	}
	return 0
}

// foreignEdges returns the dependencies of a foreign key, other than on its own columns.
func (n *Names) foreignEdges(c *catalog.Constraint) []edge {
	if c.Reference == nil {
		return nil
	}
	from := object{constraintClass, c.OID, 0}
	parent, _, index := n.referred(c)
	var out []edge
	for _, att := range c.Reference.Columns {
		out = append(out, edge{from, object{relationClass, parent.OID, att}, 'n'})
	}
	if index != 0 {
		out = append(out, edge{from, object{relationClass, index, 0}, 'n'})
	}
	return out
}

// hasForeignKeys reports whether a table has foreign keys or is referred to by one; PostgreSQL
// implements these by triggers.
func hasForeignKeys(n *Names, t *catalog.Table) bool {
	return len(n.View.Referrers(t.OID)) > 0 || slices.ContainsFunc(t.Constraints,
		func(c catalog.Constraint) bool { return c.Reference != nil })
}

// referentialConstraints is information_schema.referential_constraints.
func referentialConstraints(b *builder) error {
	return b.tables(func(t *catalog.Table) error {
		for i := range t.Constraints {
			c := &t.Constraints[i]
			if c.Reference == nil || !b.canSee(t.Owner) {
				continue
			}
			schema, _ := b.env.SchemaName(t.Schema)
			r := b.row().database("constraint_catalog").text("constraint_schema", schema).
				text("constraint_name", c.Name)
			if parent, key, _ := b.env.referred(c); key != nil {
				in, _ := b.env.SchemaName(parent.Schema)
				r.database("unique_constraint_catalog").text("unique_constraint_schema", in).
					text("unique_constraint_name", key.Name)
			}
			match := "NONE"
			if c.Reference.Match == catalog.MatchFull {
				match = "FULL"
			}
			err := r.text("match_option", match).text("update_rule", actionWords[c.Reference.OnUpdate]).
				text("delete_rule", actionWords[c.Reference.OnDelete]).send()
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// indexPosition returns the position of a column in an index, from 1; 0 if the index does not have
// it.
func (n *Names) indexPosition(index uint32, att int16) int {
	_, ix := n.index(index)
	if ix == nil {
		return 0
	}
	return slices.Index(ix.Columns, att) + 1
}
