package analyze

import (
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// NotUpdatable returns why the rows of a view with this query cannot be changed, "" if they can
// (view_query_is_auto_updatable).
func NotUpdatable(q *query.Query) string {
	switch {
	case q.Distinct || len(q.DistinctOn) > 0:
		return "Views containing DISTINCT are not automatically updatable."
	case len(q.GroupBy) > 0 || q.GroupingSets != nil:
		return "Views containing GROUP BY are not automatically updatable."
	case q.Having != nil:
		return "Views containing HAVING are not automatically updatable."
	case q.SetOp != nil:
		return "Views containing UNION, INTERSECT, or EXCEPT are not automatically updatable."
	case len(q.CTEs) > 0:
		return "Views containing WITH are not automatically updatable."
	case q.Limit != nil || q.Offset != nil:
		return "Views containing LIMIT or OFFSET are not automatically updatable."
	case q.HasAggs:
		return "Views that return aggregate functions are not automatically updatable."
	case q.HasWindow:
		return "Views that return window functions are not automatically updatable."
	case q.HasSRFs:
		return "Views that return set-returning functions are not automatically updatable."
	case baseOf(q) == nil:
		return "Views that do not select from a single table or view are not automatically updatable."
	}
	for _, t := range visible(q) {
		if notUpdatableColumn(t.Expr) == "" {
			return ""
		}
	}
	return noUpdatableColumns
}

const noUpdatableColumns = "Views that have no updatable columns are not automatically updatable."

// baseOf returns the only entry of FROM if it is a table or a view, nil otherwise.
func baseOf(q *query.Query) *query.Rel {
	if len(q.From) != 1 {
		return nil
	}
	f, ok := q.From[0].(*query.FromRel)
	if !ok {
		return nil
	}
	if r := q.Rels[f.Rel]; r.Kind == query.RelTable && !r.Table.IsMaterialized() || r.View != nil {
		return r
	}
	return nil
}

// notUpdatableColumn returns why a column of a view cannot be assigned to, "" if it can.
func notUpdatableColumn(e query.Expr) string {
	v, ok := e.(*query.Var)
	switch {
	case !ok || v.Up != 0 || v.Rel < 0:
		return "View columns that are not columns of their base relation are not updatable."
	case v.Col == query.ColWholeRow:
		return "View columns that return whole-row references are not updatable."
	case v.Col < 0:
		return "View columns that refer to system columns are not updatable."
	}
	return ""
}

// viewTarget is a view that a statement writes to: the table below it, and the views on the way.
type viewTarget struct {
	view    *catalog.Table
	columns []query.Expr    // of the view, over the table
	refused []columnRefusal // of the view's columns, why they cannot be assigned to
	checked []levelCondition
}

// columnRefusal says why a column of a view cannot be assigned to; Detail is "" if it can.
type columnRefusal struct {
	view   *catalog.Table
	column string
	detail string
}

// levelCondition is the condition of one of the views, over the table.
type levelCondition struct {
	view *catalog.Table
	cond query.Expr // nil is true
}

// firesInstead reports whether a view has a trigger that fires instead of a command.
func firesInstead(view *catalog.Table, c query.Command) bool {
	event := catalog.TriggerInsert
	switch c {
	case query.Update:
		event = catalog.TriggerUpdate
	case query.Delete:
		event = catalog.TriggerDelete
	}
	return slices.ContainsFunc(view.Triggers, func(x catalog.Trigger) bool {
		return x.Is(catalog.TriggerInstead | event)
	})
}

// targetView is targetTable for a view.
func targetView(s *scope, rel *query.Rel, rv *pg_query.RangeVar) (*nameItem, *tableExprs, error) {
	var through []*catalog.Table
	for rel.View != nil {
		q, err := viewQuery(s, rel.View)
		if err != nil {
			return nil, nil, err
		}
		if err := refuseWrite(s, rel.View, q); err != nil {
			return nil, nil, err
		}
		through, rel = append(through, rel.View), baseOf(q)
	}
	own := &query.Rel{Kind: query.RelTable, Alias: rel.Alias, Columns: columnsOfTable(rel.Table), Table: rel.Table,
		SchemaName: rel.SchemaName, Indexes: rel.Indexes, Through: through}
	exprs, err := s.tableExprs(rel.Table)
	if err != nil {
		return nil, nil, err
	}
	s.q.Result = s.addRel(own)
	target, err := newViewTarget(s, through[0])
	if err != nil {
		return nil, nil, err
	}
	s.through = target
	it := &nameItem{alias: rv.Relname, rel: -1, relVisible: true, colsVisible: true}
	if rv.Alias != nil {
		it.alias = rv.Alias.Aliasname
	}
	for i, c := range through[0].Columns {
		it.columns = append(it.columns, nameColumn{name: c.Name, expr: target.columns[i], table: through[0].OID,
			att: c.AttNum})
	}
	exprs, err = viewDefaults(s, exprs, through)
	return it, exprs, err
}

// refuseWrite refuses to write to a view that is not updatable.
func refuseWrite(s *scope, view *catalog.Table, q *query.Query) error {
	why := NotUpdatable(q)
	if why == "" || s.q.Command == query.Delete && why == noUpdatableColumns {
		return nil
	}
	does, doing, event := "insert into", "inserting into", "INSERT"
	switch s.q.Command {
	case query.Update:
		does, doing, event = "update", "updating", "UPDATE"
	case query.Delete:
		does, doing, event = "delete from", "deleting from", "DELETE"
	}
	return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "cannot %s view %q", does, view.Name).WithDetail("%s", why).
		WithHint("To enable %s the view, provide an INSTEAD OF %s trigger or an unconditional ON %s DO INSTEAD rule.",
			doing, event, event)
}

// newViewTarget analyzes the query of a view over the table below it, which is Rels[Result].
func newViewTarget(s *scope, view *catalog.Table) (*viewTarget, error) {
	q, err := viewQuery(s, view)
	if err != nil {
		return nil, err
	}
	at := q.From[0].(*query.FromRel).Rel
	out := &viewTarget{view: view}
	var below *viewTarget
	if base := q.Rels[at]; base.View != nil {
		if below, err = newViewTarget(s, base.View); err != nil {
			return nil, err
		}
		out.checked = below.checked
	}
	column := func(v *query.Var) query.Expr {
		if below != nil {
			return below.columns[v.Col]
		}
		own := *v
		own.Rel, own.Up = s.q.Result, 0
		return &own
	}
	over := query.RewriteAll(&query.Query{Targets: visible(q), Where: q.Where},
		func(e query.Expr, depth int) (query.Expr, bool) {
			v, ok := e.(*query.Var)
			if !ok || v.Up != depth || v.Rel != at {
				return nil, false
			}
			return raiseAll(column(v), depth), true
		})
	for i, t := range visible(q) {
		out.columns = append(out.columns, over.Targets[i].Expr)
		r := columnRefusal{view: view, column: view.Columns[i].Name, detail: notUpdatableColumn(t.Expr)}
		if v, ok := t.Expr.(*query.Var); ok && below != nil && r.detail == "" && below.refused[v.Col].detail != "" {
			r = below.refused[v.Col]
		}
		out.refused = append(out.refused, r)
	}
	out.checked = append(out.checked, levelCondition{view, over.Where})
	return out, nil
}

// raiseAll is raise for an expression that may have subqueries.
func raiseAll(e query.Expr, up int) query.Expr {
	if up == 0 {
		return e
	}
	return query.RewriteAll(&query.Query{Where: e}, func(x query.Expr, depth int) (query.Expr, bool) {
		v, ok := x.(*query.Var)
		if !ok || v.Up < depth {
			return nil, false
		}
		c := *v
		c.Up += up
		return &c, true
	}).Where
}

// viewDefaults returns the expressions of a table with the defaults of the views' columns. Those of
// the outermost view count first.
func viewDefaults(s *scope, exprs *tableExprs, through []*catalog.Table) (*tableExprs, error) {
	own := *exprs
	own.defaults = slices.Clone(exprs.defaults)
	stored := &Context{Catalog: s.ctx.Catalog, Database: s.ctx.Database, lenient: s.ctx.lenient}
	for _, view := range slices.Backward(through) {
		target, err := newViewTarget(s, view)
		if err != nil {
			return nil, err
		}
		for i, c := range view.Columns {
			v, ok := target.columns[i].(*query.Var)
			if c.Default == "" || !ok || v.Col < 0 {
				continue
			}
			src, err := ParseExpression(c.Default)
			if err != nil {
				return nil, err
			}
			e, err := Default(stored, src, query.Column{Name: c.Name, Type: c.Type, Typmod: c.Typmod})
			if err != nil {
				return nil, err
			}
			own.defaults[v.Col] = e
		}
	}
	return &own, nil
}

// column is targetColumn for a view.
func (t *viewTarget) column(s *scope, name string, loc int32) (int, error) {
	for i, c := range t.view.Columns {
		if c.Name != name {
			continue
		}
		if err := t.refuse(s, i); err != nil {
			return 0, err
		}
		return t.columns[i].(*query.Var).Col, nil
	}
	return 0, s.errorf(loc, pgerr.UndefinedColumn, "column %q of relation %q does not exist", name, t.view.Name)
}

// refuse returns an error if a column cannot be assigned to.
func (t *viewTarget) refuse(s *scope, i int) error {
	r := t.refused[i]
	if r.detail == "" {
		return nil
	}
	does := "insert into"
	if s.q.Command == query.Update {
		does = "update"
	}
	return pgerr.Unsupported("cannot %s column %q of view %q", does, r.column, r.view.Name).WithDetail("%s", r.detail)
}

// nameOf returns the name of the view's column that is a column of the table, which has the given
// name itself. A nil target returns that.
func (t *viewTarget) nameOf(col int, name string) string {
	if t == nil {
		return name
	}
	for i, e := range t.columns {
		if v, ok := e.(*query.Var); ok && v.Col == col {
			return t.view.Columns[i].Name
		}
	}
	return name
}

// all returns the columns of the table that the view's columns are. Those that cannot be assigned to
// are negative: -1 is the first column of the view.
func (t *viewTarget) all() (columns []int, locs []int32) {
	for i := range t.view.Columns {
		col := -1 - i
		if t.refused[i].detail == "" {
			col = t.columns[i].(*query.Var).Col
		}
		columns, locs = append(columns, col), append(locs, -1)
	}
	return columns, locs
}

// checkInserted refuses columns that cannot be assigned to, and two that are the same column of the
// table.
func (t *viewTarget) checkInserted(s *scope, columns []int) error {
	if t == nil {
		return nil
	}
	for i, col := range columns {
		if col < 0 {
			return t.refuse(s, -1-col)
		}
		if containsInt(columns[:i], col) {
			return pgerr.New(pgerr.SyntaxError, "multiple assignments to same column %q",
				s.q.Rels[s.q.Result].Table.Columns[col].Name)
		}
	}
	return nil
}

// excluded returns the names of EXCLUDED, which has the columns of the view.
func (t *viewTarget) excluded(s *scope, rel int) *nameItem {
	it := s.itemOf(rel)
	if t == nil {
		return it
	}
	it.rel, it.columns = -1, nil
	for i, c := range t.view.Columns {
		e := query.RewriteAll(&query.Query{Where: t.columns[i]}, func(x query.Expr, depth int) (query.Expr, bool) {
			v, ok := x.(*query.Var)
			if !ok || v.Up != depth || v.Rel != s.q.Result {
				return nil, false
			}
			own := *v
			own.Rel = rel
			return &own, true
		}).Where
		it.columns = append(it.columns, nameColumn{name: c.Name, expr: e})
	}
	return it
}

// restrict adds the conditions of the views: to WHERE, and as check options. Those of inner views are
// checked first.
func (t *viewTarget) restrict(s *scope) error {
	if t == nil {
		return nil
	}
	t.note(s)
	if s.q.Command != query.Insert {
		s.q.Where = t.where(s.q.Where)
	}
	if s.q.Command == query.Delete {
		return nil
	}
	inherited, options := false, []query.Check(nil)
	for _, l := range slices.Backward(t.checked) {
		checked, cascaded := l.view.CheckOption()
		inherited = inherited || cascaded
		if !checked && !inherited || l.cond == nil {
			continue
		}
		if query.Contains(l.cond, isSubLink) {
			return pgerr.Unsupported("a check option with a subquery is not supported yet").
				WithDetail("The condition of view %q has a subquery.", l.view.Name).
				WithHint("Write to the table, or drop the check option.")
		}
		test := &query.BoolTest{T: query.Of(types.Bool), Arg: l.cond, Value: 't'}
		options = append(options, query.Check{Expr: test, Generated: -1, View: l.view.Name})
	}
	if len(options) > 0 && s.q.OnConflict != nil {
		return pgerr.Unsupported("ON CONFLICT of a view with a check option is not supported yet").
			WithHint("Insert into the table.")
	}
	slices.Reverse(options)
	s.q.Checks = append(slices.Clip(s.q.Checks), options...)
	return nil
}

// note keeps which columns of the view the text names, for privileges.
func (t *viewTarget) note(s *scope) {
	r := s.q.Rels[s.q.Result]
	n := &r.Named
	for range r.Table.Columns {
		n.Below = append(n.Below, -1)
	}
	for i, e := range t.columns {
		if v, ok := e.(*query.Var); ok && v.Col >= 0 && n.Below[v.Col] < 0 {
			n.Below[v.Col] = i
		}
	}
	for _, col := range query.ColumnsRead(s.q, s.q.Result) {
		if col >= 0 && n.Below[col] >= 0 {
			n.View = append(n.View, n.Below[col])
			continue
		}
		n.View = append(n.View, query.ColWholeRow) // of an expression of the view, or of a whole row
	}
}

// where returns the condition of a write: those of the views, and that of the statement. A barrier
// has the latter evaluated only for rows of the view, because its errors could show other rows.
func (t *viewTarget) where(own query.Expr) query.Expr {
	var all []query.Expr
	barrier := false
	for _, l := range t.checked {
		all = append(all, members(l.cond)...)
		barrier = barrier || l.view.SecurityBarrier()
	}
	if barrier && own != nil && len(all) > 0 {
		no := &query.Const{T: query.Of(types.Bool), Value: types.NewBool(false)}
		own = &query.Case{T: query.Of(types.Bool), Whens: []query.When{{Cond: conjunction(all), Result: own}}, Else: no}
	}
	if own != nil {
		all = append(all, members(own)...)
	}
	return conjunction(all)
}

func isSubLink(e query.Expr) bool {
	_, ok := e.(*query.SubLink)
	return ok
}

// conjunction joins conditions by AND.
func conjunction(list []query.Expr) query.Expr {
	switch len(list) {
	case 0:
		return nil
	case 1:
		return list[0]
	}
	return &query.And{Args: list}
}

// Updatable returns the events that a relation allows, as pg_relation_is_updatable does: the sum of
// 4 for UPDATE, 8 for INSERT and 16 for DELETE. If column is not 0, that column must be updatable.
func Updatable(ctx *Context, t *catalog.Table, column int16) int {
	const update, insert, del = 4, 8, 16
	if t.Kind == catalog.KindTable {
		return update | insert | del
	}
	if !t.IsView() {
		return 0
	}
	q, err := ViewForm(ctx, t)
	if err != nil {
		return 0
	}
	if why := NotUpdatable(q); why != "" && why != noUpdatableColumns {
		return 0
	}
	events, base := del, baseOf(q)
	att := int16(0)
	for i, x := range visible(q) {
		v, ok := x.Expr.(*query.Var)
		if !ok || notUpdatableColumn(v) != "" || column != 0 && t.Columns[i].AttNum != column {
			continue
		}
		events = update | insert | del
		if column != 0 {
			att = relationOf(base).Columns[v.Col].AttNum
		}
	}
	if base.View == nil {
		return events
	}
	return events & Updatable(ctx, base.View, att)
}
