package ddl

import (
	"cmp"
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
)

// dependentView is a view that uses an object that is to be dropped, directly or through others.
type dependentView struct {
	view *catalog.Table
	on   string // the object it depends on, as messages name it
}

// usedObject is an object that views may use: a relation, one of its columns, or a constraint.
type usedObject struct {
	oid    catalog.OID
	column int16 // 0 is the whole relation
	words  string
}

// dependentViews returns the views that use objects, except those in dropped, in the order in which
// PostgreSQL reports them (findDependentObjects).
func dependentViews(c *change, objects []usedObject, dropped []*catalog.Table) []dependentView {
	var out []dependentView
	present := func(v *catalog.Table) bool {
		return slices.ContainsFunc(dropped, func(t *catalog.Table) bool { return t.OID == v.OID }) ||
			slices.ContainsFunc(out, func(d dependentView) bool { return d.view.OID == v.OID })
	}
	var visit func(o usedObject)
	visit = func(o usedObject) {
		users := slices.Clone(catalog.ViewsUsing(c.view, o.oid))
		slices.SortFunc(users, func(a, b *catalog.Table) int { return cmp.Compare(b.View.OID, a.View.OID) })
		for _, v := range users {
			u := v.View.UseOf(o.oid)
			if present(v) || o.column != 0 && (u == nil || !slices.Contains(u.Columns, o.column)) {
				continue
			}
			visit(usedObject{oid: v.OID, words: "view " + c.visibleName(v)})
			out = append(out, dependentView{v, o.words})
		}
	}
	for _, o := range objects {
		visit(o)
	}
	slices.Reverse(out)
	return out
}

// relationsUsed returns relations as objects that views may use.
func relationsUsed(c *change, list []*catalog.Table) []usedObject {
	var out []usedObject
	for _, t := range list {
		out = append(out, usedObject{oid: t.OID, words: found{table: t}.kind() + " " + c.visibleName(t)})
		for i := range t.Constraints {
			k := &t.Constraints[i]
			out = append(out, usedObject{oid: k.OID, words: "constraint " + k.Name + " on table " + c.visibleName(t)})
		}
	}
	return out
}

// dependentLines returns the lines of DETAIL about views, and the objects that CASCADE drops.
func dependentLines(c *change, list []dependentView) (lines, gone []string) {
	for _, d := range list {
		words := "view " + c.visibleName(d.view)
		lines, gone = append(lines, words+" depends on "+d.on), append(gone, words)
	}
	return lines, gone
}

// dropViews drops views.
func dropViews(c *change, list []dependentView) error {
	for _, d := range list {
		if err := c.requireLocked(d.view); err != nil {
			return err
		}
		c.ch.DropTable(d.view.OID)
	}
	return nil
}

// withViews adds the views that use any of relations, directly or through others, to lock them.
func withViews(c *change, relations []catalog.OID) []catalog.OID {
	out := slices.Clone(relations)
	add := func(object catalog.OID) {
		for _, v := range catalog.ViewsUsing(c.view, object) {
			if !slices.Contains(out, v.OID) {
				out = append(out, v.OID)
			}
		}
	}
	for i := 0; i < len(out); i++ {
		add(out[i])
		if t := c.view.Table(out[i]); t != nil {
			for k := range t.Constraints {
				add(t.Constraints[k].OID)
			}
		}
	}
	return out
}

// dropNamedViews is DROP VIEW.
func dropNamedViews(r *runner, n *pg_query.DropStmt) error {
	names := objectNames(n)
	return r.updateExclusive(func(c *change) []catalog.OID { return c.withReferring(c.find(names...), n.Behavior) },
		func(c *change) error {
			list, err := relationsToDrop(c, names, "view", n.MissingOk)
			if err != nil {
				return err
			}
			if len(list) == 0 {
				return nil
			}
			views := dependentViews(c, relationsUsed(c, list), list)
			lines, gone := dependentLines(c, views)
			err = c.cascade("view "+c.visibleName(list[0]), len(list) > 1, lines, gone, n.Behavior)
			if err != nil {
				return err
			}
			for _, t := range list {
				c.ch.DropTable(t.OID)
			}
			return dropViews(c, views)
		})
}

// checkViewsOf refuses to change the type of a column that a view uses.
func checkViewsOf(d *draft, col *catalog.Column) error {
	for _, v := range catalog.ViewsUsing(d.view, d.t.OID) {
		if u := v.View.UseOf(d.t.OID); u != nil && slices.Contains(u.Columns, col.AttNum) {
			return pgerr.Unsupported("cannot alter type of a column used by a view or rule").
				WithDetail(`rule _RETURN on view %s depends on column "%s"`, d.visibleName(v), col.Name)
		}
	}
	return nil
}
