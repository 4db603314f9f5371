package ddl

import (
	"cmp"
	"errors"
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/catalog/acl"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/refint"
	"github.com/sherddb/sherd/sql/types"
)

// dependent is a foreign key of a table that refers to an object that is to be dropped.
type dependent struct {
	catalog.Referrer
	on string // the object it depends on, as messages name it
}

// dependsText returns a line of DETAIL.
func (c *change) dependsText(d dependent) string {
	return c.constraintWords(d.Referrer) + " depends on " + d.on
}

func (c *change) constraintWords(r catalog.Referrer) string {
	return "constraint " + r.Key.Name + " on table " + c.visibleName(r.Table)
}

// cascade drops the dependents of an object with CASCADE, and returns an error without it. lines
// say which object depends on which; gone names the objects that are dropped.
func (c *change) cascade(what string, many bool, lines, gone []string, behavior pg_query.DropBehavior) error {
	if len(lines) == 0 {
		return nil
	}
	if behavior != pg_query.DropBehavior_DROP_CASCADE {
		it := "it"
		if many {
			what, it = "desired object(s)", "them"
		}
		return pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop %s because other objects depend on %s", what,
			it).
			WithDetail("%s", reported(lines)).WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
	}
	c.cascades(gone)
	return nil
}

// cascades adds the notice that lists the objects dropped by CASCADE.
func (c *change) cascades(gone []string) {
	switch {
	case len(gone) == 1:
		c.notice(pgerr.SuccessfulCompletion, "drop cascades to %s", gone[0])
	case len(gone) > 1:
		lines := make([]string, len(gone))
		for i := range gone {
			lines[i] = "drop cascades to " + gone[i]
		}
		c.notice(pgerr.SuccessfulCompletion, "drop cascades to %d other objects", len(gone))
		c.notices[len(c.notices)-1].Detail = reported(lines)
	}
}

// recordDroppedKeys records foreign keys to drop; dropRecordedKeys drops them.
func (c *change) recordDroppedKeys(list []dependent) error {
	if c.cut == nil {
		c.cut = map[catalog.OID][]catalog.OID{}
	}
	for _, d := range list {
		if err := c.requireLocked(d.Table); err != nil {
			return err
		}
		c.cut[d.Table.OID] = append(c.cut[d.Table.OID], d.Key.OID)
	}
	return nil
}

// dropRecordedKeys drops the foreign keys that recordDroppedKeys has recorded, except those of the
// tables in but: the statement puts or drops these itself.
func (c *change) dropRecordedKeys(but ...catalog.OID) error {
	for table, keys := range c.cut {
		t := c.view.Table(table)
		if t == nil || slices.Contains(but, table) {
			continue
		}
		t = t.Clone()
		cutParts(t, keys)
		for _, att := range c.lost[table] {
			t.ColumnByNum(att).Default = ""
		}
		if err := c.ch.PutTable(t); err != nil {
			return err
		}
	}
	return nil
}

// cutParts removes constraints, statistics objects, triggers and row policies from a table.
func cutParts(t *catalog.Table, parts []catalog.OID) {
	t.Constraints = slices.DeleteFunc(t.Constraints,
		func(k catalog.Constraint) bool { return slices.Contains(parts, k.OID) })
	t.Statistics = slices.DeleteFunc(t.Statistics,
		func(x catalog.ExtendedStatistics) bool { return slices.Contains(parts, x.OID) })
	t.Triggers = slices.DeleteFunc(t.Triggers,
		func(x catalog.Trigger) bool { return slices.Contains(parts, x.OID) })
	if t.RowSecurity != nil {
		t.RowSecurity.Policies = slices.DeleteFunc(t.RowSecurity.Policies,
			func(x catalog.RowPolicy) bool { return slices.Contains(parts, x.OID) })
	}
}

// referringTables returns the tables whose foreign keys refer to any of tables, to lock them.
func (c *change) referringTables(tables []catalog.OID) []catalog.OID {
	out := slices.Clone(tables)
	for _, t := range tables {
		for _, r := range c.view.Referrers(t) {
			if !slices.Contains(out, r.Table.OID) {
				out = append(out, r.Table.OID)
			}
		}
	}
	return out
}

// withReferring returns tables, and with CASCADE the tables that refer to them, because CASCADE may
// change these.
func (c *change) withReferring(tables []catalog.OID, behavior pg_query.DropBehavior) []catalog.OID {
	if behavior != pg_query.DropBehavior_DROP_CASCADE {
		return tables
	}
	all := withViews(c, c.withUsers(c.referringTables(tables)))
	for _, oid := range usersOfFunctions(c, usesRelation(c, all...)) {
		if !slices.Contains(all, oid) {
			all = append(all, oid)
		}
	}
	return withGuarded(c, withViews(c, all))
}

// cascadesIn returns CASCADE if one of the commands drops something with CASCADE.
func cascadesIn(list []*pg_query.Node) pg_query.DropBehavior {
	for _, n := range list {
		if b := n.GetAlterTableCmd().GetBehavior(); b == pg_query.DropBehavior_DROP_CASCADE {
			return b
		}
	}
	return pg_query.DropBehavior_DROP_RESTRICT
}

// referrersOf returns the foreign keys that refer to t from tables that are not dropped with it.
func (c *change) referrersOf(t *catalog.Table, dropped []*catalog.Table) []dependent {
	var out []dependent
	for _, r := range c.view.Referrers(t.OID) {
		if !slices.ContainsFunc(dropped, func(d *catalog.Table) bool { return d.OID == r.Table.OID }) {
			out = append(out, dependent{r, "table " + c.visibleName(t)})
		}
	}
	return out
}

// releaseReferencedTables is releaseAll for the tables of DROP TABLE.
func (c *change) releaseReferencedTables(list []*catalog.Table, behavior pg_query.DropBehavior) error {
	if len(list) == 0 {
		return nil
	}
	var deps []dependent
	for _, t := range list {
		deps = append(deps, c.referrersOf(t, list)...)
	}
	owned, err := c.ownedBy(list)
	if err != nil {
		return err
	}
	lines, gone, users := c.sequenceDependents(owned,
		func(u usingDefault) bool { return slices.Contains(list, u.table) })
	for _, d := range deps {
		lines, gone = append(lines, c.dependsText(d)), append(gone, c.constraintWords(d.Referrer))
	}
	used := relationsUsed(c, append(slices.Clone(list), owned...))
	views, policies := dependentViews(c, used, nil), dependentPolicies(c, used, list)
	moreLines, moreGone := dependentLines(c, views)
	lines, gone = append(lines, moreLines...), append(gone, moreGone...)
	moreLines, moreGone = policyLines(c, policies)
	lines, gone = append(lines, moreLines...), append(gone, moreGone...)
	if err := c.cascade("table "+c.visibleName(list[0]), len(list) > 1, lines, gone, behavior); err != nil {
		return err
	}
	err = errors.Join(c.recordDroppedKeys(deps), recordDroppedPolicies(c, policies), dropViews(c, views))
	if err != nil {
		return err
	}
	return c.dropDefaultsAndKeys(users)
}

// keyReferrers returns the foreign keys that refer to the table and satisfy which, including the
// draft's own.
func (d *draft) keyReferrers(which func(*catalog.Reference) bool, on string) []dependent {
	var out []dependent
	for _, r := range d.view.Referrers(d.t.OID) {
		if r.Table.OID != d.t.OID && which(r.Key.Reference) && !slices.Contains(d.cut[r.Table.OID], r.Key.OID) {
			out = append(out, dependent{r, on})
		}
	}
	for i := range d.t.Constraints {
		if k := &d.t.Constraints[i]; k.Reference != nil && k.Reference.Table == d.t.OID && which(k.Reference) {
			table := d.was
			if table == nil {
				table = d.t
			}
			out = append(out, dependent{catalog.Referrer{Table: table, Key: k}, on})
		}
	}
	slices.SortFunc(out, func(a, b dependent) int { return cmp.Compare(a.Key.OID, b.Key.OID) })
	return out
}

// releaseKey is releaseAll for the constraint of a primary key or unique index, or for an
// index without constraint.
func (d *draft) releaseKey(what string, index catalog.OID, name string, primary bool,
	behavior pg_query.DropBehavior) error {
	list := d.keyReferrers(func(r *catalog.Reference) bool {
		return r.Index == 0 && primary || r.Index != 0 && r.Index == index
	}, "index "+name)
	objects := []usedObject{{oid: index, words: "index " + name}}
	for i := range d.t.Constraints {
		if k := &d.t.Constraints[i]; k.Name == name || index != 0 && k.Index == index {
			objects = append(objects, usedObject{oid: k.OID, words: what})
		}
	}
	policies := dependentPolicies(d.change, objects, nil)
	return d.releaseAll(what, list, usingParts{policies: policies}, dependentViews(d.change, objects, nil), behavior)
}

// releaseColumn is releaseAll for a column.
func (d *draft) releaseColumn(col *catalog.Column, behavior pg_query.DropBehavior) error {
	what := "column " + col.Name + " of table " + d.t.Name
	list := d.keyReferrers(func(r *catalog.Reference) bool { return slices.Contains(r.Columns, col.AttNum) }, what)
	list = slices.DeleteFunc(list, func(x dependent) bool {
		return x.Table.OID == d.t.OID && slices.Contains(x.Key.Columns, col.AttNum)
	})
	object := []usedObject{{d.t.OID, col.AttNum, what}}
	views, policies := dependentViews(d.change, object, nil), dependentPolicies(d.change, object, nil)
	triggers, err := triggersOn(d, col.AttNum)
	if err != nil {
		return err
	}
	if err := d.releaseAll(what, list, usingParts{triggers, policies}, views, behavior); err != nil {
		return err
	}
	// The table's own foreign keys over the column are dropped with it.
	d.t.Constraints = slices.DeleteFunc(d.t.Constraints, func(k catalog.Constraint) bool {
		return k.Kind == catalog.ForeignKey && slices.Contains(k.Columns, col.AttNum)
	})
	return nil
}

// usingParts are parts of tables that depend on a part of a table: its own triggers, and row policies.
type usingParts struct {
	triggers []*catalog.Trigger
	policies []dependentPolicy
}

// releaseAll drops the foreign keys, the triggers, the row policies and the views that depend on a part of the
// table with CASCADE, and returns an error without it.
func (d *draft) releaseAll(what string, list []dependent, parts usingParts, views []dependentView,
	behavior pg_query.DropBehavior) error {
	var lines, gone []string
	for _, x := range list {
		lines, gone = append(lines, d.dependsText(x)), append(gone, d.constraintWords(x.Referrer))
	}
	for _, x := range parts.triggers {
		words := triggerWords(d.change, d.was, x)
		lines, gone = append(lines, words+" depends on "+what), append(gone, words)
	}
	policyLines, policyGone := policyLines(d.change, parts.policies)
	lines, gone = append(lines, policyLines...), append(gone, policyGone...)
	moreLines, moreGone := dependentLines(d.change, views)
	err := d.cascade(what, false, append(lines, moreLines...), append(gone, moreGone...), behavior)
	if err != nil {
		return err
	}
	err = errors.Join(d.recordDroppedKeys(list), recordDroppedPolicies(d.change, parts.policies),
		dropViews(d.change, views))
	if err != nil {
		return err
	}
	cutParts(d.t, d.cut[d.t.OID])
	for _, x := range slices.Clone(parts.triggers) {
		cutParts(d.t, []catalog.OID{x.OID})
	}
	return nil
}

// truncated returns all tables that TRUNCATE empties. With CASCADE, it includes tables that refer
// to them; without, such a table is an error.
func (c *change) truncated(list []*catalog.Table, behavior pg_query.DropBehavior) ([]*catalog.Table, error) {
	for i := 0; i < len(list); i++ {
		for _, r := range c.view.Referrers(list[i].OID) {
			if slices.ContainsFunc(list, func(t *catalog.Table) bool { return t.OID == r.Table.OID }) {
				continue
			}
			if behavior != pg_query.DropBehavior_DROP_CASCADE {
				return nil, pgerr.Unsupported("cannot truncate a table referenced in a foreign key constraint").
					WithDetail(`Table "%s" references "%s".`, r.Table.Name, list[i].Name).
					WithHint(`Truncate table "%s" at the same time, or use TRUNCATE ... CASCADE.`, r.Table.Name)
			}
			if err := mayUse(c, r.Table, acl.Truncate); err != nil {
				return nil, err
			}
			if err := c.requireLocked(r.Table); err != nil {
				return nil, err
			}
			c.notice(pgerr.SuccessfulCompletion, `truncate cascades to table "%s"`, r.Table.Name)
			list = append(list, r.Table)
		}
	}
	return list, nil
}

// allReferring adds the tables that refer to tables, directly or through others.
func (c *change) allReferring(tables []catalog.OID, behavior pg_query.DropBehavior) []catalog.OID {
	if behavior != pg_query.DropBehavior_DROP_CASCADE {
		return tables
	}
	for n := 0; n != len(tables); {
		n = len(tables)
		tables = c.referringTables(tables)
	}
	return tables
}

// alterConstraint is ALTER CONSTRAINT: it changes whether a foreign key can be deferred.
func (d *draft) alterConstraint(k *pg_query.Constraint) error {
	con := d.t.Constraint(k.Conname)
	switch {
	case con == nil:
		return pgerr.New(pgerr.UndefinedObject, `constraint "%s" of relation "%s" does not exist`, k.Conname, d.t.Name)
	case con.Kind != catalog.ForeignKey:
		return pgerr.New(pgerr.WrongObjectType, `constraint "%s" of relation "%s" is not a foreign key constraint`,
			k.Conname, d.t.Name)
	}
	con.Deferrable, con.InitiallyDeferred = k.Deferrable || k.Initdeferred, k.Initdeferred
	return nil
}

// checkForeignTypes returns an error if the columns of a foreign key cannot be compared after a
// change of their types.
func (d *draft) checkForeignTypes() error {
	for i := range d.t.Constraints {
		k := &d.t.Constraints[i]
		if k.Kind != catalog.ForeignKey || k.Reference.Table == d.t.OID {
			continue
		}
		if err := checkKeyTypes(d.change, d.t, d.view.Table(k.Reference.Table), k); err != nil {
			return err
		}
	}
	for _, r := range d.keyReferrers(func(*catalog.Reference) bool { return true }, "") {
		child := r.Table
		if child.OID == d.t.OID {
			child = d.t
		}
		if err := checkKeyTypes(d.change, child, d.t, r.Key); err != nil {
			return err
		}
	}
	return nil
}

// keysToVerify returns the foreign keys to verify after the rows are rewritten: new ones, and those
// over columns whose values change.
func (d *draft) keysToVerify() []proof {
	var out []proof
	changed := func(columns []int16) bool {
		return slices.ContainsFunc(columns, func(n int16) bool { return slices.Contains(d.revalued, n) })
	}
	for i := range d.t.Constraints {
		k := &d.t.Constraints[i]
		if k.Kind == catalog.ForeignKey && k.Valid && (slices.Contains(d.proofs, k.OID) || changed(k.Columns)) {
			out = append(out, proof{d.t.OID, k.OID})
		}
	}
	for _, r := range d.keyReferrers(func(r *catalog.Reference) bool { return changed(r.Columns) }, "") {
		if r.Key.Valid && !slices.Contains(out, proof{r.Table.OID, r.Key.OID}) {
			out = append(out, proof{r.Table.OID, r.Key.OID})
		}
	}
	return out
}

// verifyForeignKey verifies a foreign key of a table, by the definitions of the transaction after
// the statement.
func (r *runner) verifyForeignKey(p proof) error {
	view := r.View()
	t := view.Table(p.table)
	i := slices.IndexFunc(t.Constraints, func(c catalog.Constraint) bool { return c.OID == p.key })
	if i < 0 {
		return nil
	}
	key := refint.Of(view, t, &t.Constraints[i])
	return r.Query(r.ctx, view, key.Orphans(1), func(row []types.Datum) error { return key.Broken(row, r.Env.Env) })
}

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
			visit(usedObject{oid: v.OID, words: viewWords(c, v)})
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
		words := viewWords(c, d.view)
		lines, gone = append(lines, words+" depends on "+d.on), append(gone, words)
	}
	return lines, gone
}

// dropViews drops views, and the functions that use their row types.
func dropViews(c *change, list []dependentView) error {
	views := make([]*catalog.Table, len(list))
	for i := range list {
		views[i] = list[i].view
	}
	if err := releaseRelations(c, views, pg_query.DropBehavior_DROP_CASCADE); err != nil {
		return err
	}
	for _, d := range list {
		if err := c.requireLocked(d.view); err != nil {
			return err
		}
		if err := c.dropTable(d.view); err != nil {
			return err
		}
	}
	return nil
}

// viewWords returns the kind and the name of a view.
func viewWords(c *change, v *catalog.Table) string {
	return found{table: v}.kind() + " " + c.visibleName(v)
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

// dropNamedViews is DROP VIEW and DROP MATERIALIZED VIEW.
func dropNamedViews(r *runner, n *pg_query.DropStmt, kind string) error {
	names := objectNames(n)
	return r.updateExclusive(func(c *change) []catalog.OID { return c.withReferring(c.find(names...), n.Behavior) },
		func(c *change) error {
			list, err := relationsToDrop(c, names, kind, n.MissingOk)
			if err != nil {
				return err
			}
			if len(list) == 0 {
				return nil
			}
			if err := releaseRelations(c, list, n.Behavior); err != nil {
				return err
			}
			used := relationsUsed(c, list)
			views, policies := dependentViews(c, used, list), dependentPolicies(c, used, nil)
			lines, gone := dependentLines(c, views)
			moreLines, moreGone := policyLines(c, policies)
			lines, gone = append(lines, moreLines...), append(gone, moreGone...)
			err = c.cascade(viewWords(c, list[0]), len(list) > 1, lines, gone, n.Behavior)
			if err != nil {
				return err
			}
			for _, t := range list {
				if err := c.dropTable(t); err != nil {
					return err
				}
			}
			err = errors.Join(recordDroppedPolicies(c, policies), dropViews(c, views))
			if err != nil {
				return err
			}
			return c.dropRecordedKeys()
		})
}

// checkViewsOf refuses to change the type of a column that a view uses.
func checkViewsOf(d *draft, col *catalog.Column) error {
	for _, v := range catalog.ViewsUsing(d.view, d.t.OID) {
		if u := v.View.UseOf(d.t.OID); u != nil && slices.Contains(u.Columns, col.AttNum) {
			return pgerr.Unsupported("cannot alter type of a column used by a view or rule").
				WithDetail(`rule _RETURN on %s depends on column "%s"`, viewWords(d.change, v), col.Name)
		}
	}
	return nil
}
