package plan

import (
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/gin"
	"github.com/sherddb/sherd/sql/query"
)

// TableIndexes returns what a table's secondary indexes keep of a row: expressions over its columns
// as Slots, for those that keep, fill and check indexes outside of a statement.
func TableIndexes(view *catalog.View, t *catalog.Table, env Env) ([]query.Index, error) {
	list, err := analyze.Indexes(analyze.Planned(&analyze.Context{Catalog: view, Database: t.Database}), t)
	if err != nil {
		return nil, err
	}
	in := newLayout()
	for i := range t.Columns {
		in.slots[varKey{0, i}] = i
	}
	l := &level{q: &query.Query{Rels: []*query.Rel{{
		Kind: query.RelTable, Table: t, Alias: t.Name, Columns: analyze.ColumnsOf(t),
	}}}}
	p := &planner{env: env, est: newEstimates(env)}
	return p.indexes(l, list, in)
}

// RowCondition rewrites a condition over two rows of a table: Var{Rel: 0} and Var{Rel: 1} become the
// slots of the one row followed by the other.
func RowCondition(t *catalog.Table, e query.Expr, env Env) (query.Expr, error) {
	in := newLayout()
	q := &query.Query{}
	for rel := range 2 {
		q.Rels = append(q.Rels, &query.Rel{
			Kind: query.RelTable, Table: t, Alias: t.Name, Columns: analyze.ColumnsOf(t),
		})
		for i := range t.Columns {
			in.slots[varKey{rel, i}] = rel*len(t.Columns) + i
		}
	}
	p := &planner{env: env, est: newEstimates(env)}
	return p.rewrite(&level{q: q}, e, in)
}

// indexes rewrites what indexes keep over in, whose first slots are the table's columns.
func (p *planner) indexes(l *level, list []query.Index, in *layout) ([]query.Index, error) {
	var out []query.Index
	for _, x := range list {
		if err := runsWithRow("an index", append(slices.Clip(x.Keys), x.Where)...); err != nil {
			return nil, err
		}
		keys, err := p.rewriteAll(l, x.Keys, in)
		if err != nil {
			return nil, err
		}
		x.Keys = keys
		if x.Where, err = p.rewrite(l, x.Where, in); err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

// kept returns the indexes that a statement must keep: for an UPDATE those that look at a column it
// may change.
func kept(q *query.Query, moves bool) []query.Index {
	if q.Command != query.Update || moves {
		return q.Indexes
	}
	var out []query.Index
	t := q.Rels[q.Result].Table
	for _, x := range q.Indexes {
		changed := func(e query.Expr) bool {
			v, ok := e.(*query.Var)
			return ok && (v.Col < 0 || t.Columns[v.Col].Generated != "" ||
				slices.ContainsFunc(q.Assign, func(a query.Assignment) bool { return a.Col == v.Col }))
		}
		if slices.ContainsFunc(append(slices.Clip(x.Keys), x.Where), func(e query.Expr) bool {
			return e != nil && query.Contains(e, changed)
		}) {
			out = append(out, x)
		}
	}
	return out
}

func anyGlobal(list []query.Index) bool {
	return slices.ContainsFunc(list, func(x query.Index) bool { return x.Def.Global })
}

func anyDeferrable(t *catalog.Table, list []query.Index) bool {
	return slices.ContainsFunc(list, func(x query.Index) bool {
		con := t.ConstraintOf(x.Def.OID)
		return con != nil && con.Deferrable
	})
}

// Restoring plans that rows of a table are stored again under its definition t. exprs are what
// becomes of each column, over the row as it was; nil is null. The Modify has no Child: Assign is
// over the old row's columns as Slots, the rest over the new one's. Constraints that are not valid
// are left out, as the rows that are there need not meet them.
func Restoring(view *catalog.View, t *catalog.Table, exprs []query.Expr, env Env) (*Modify, error) {
	m := &Modify{Kind: ModInsert, Table: t}
	if s := view.Schema(t.Schema); s != nil {
		m.Schema = s.Name
	}
	in := newLayout()
	for i := range t.Columns {
		in.slots[varKey{0, i}] = i
	}
	l := &level{q: &query.Query{Rels: []*query.Rel{{
		Kind: query.RelTable, Table: t, Alias: t.Name, Columns: analyze.ColumnsOf(t),
	}}}}
	p := &planner{env: env, est: newEstimates(env)}
	for i, e := range exprs {
		if e == nil {
			continue
		}
		e, err := p.rewrite(l, e, in)
		if err != nil {
			return nil, err
		}
		m.Assign = append(m.Assign, query.Assignment{Col: i, Expr: e})
	}
	checks, err := analyze.Checks(analyze.Planned(&analyze.Context{Catalog: view, Database: t.Database}), t)
	if err != nil {
		return nil, err
	}
	for _, c := range checks {
		if c.Generated < 0 && !t.Constraint(c.Name).Valid {
			continue
		}
		if err := runsWithRow("a constraint or generated column", c.Expr); err != nil {
			return nil, err
		}
		if c.Expr, err = p.rewrite(l, c.Expr, in); err != nil {
			return nil, err
		}
		m.Checks = append(m.Checks, c)
	}
	m.Indexes, err = TableIndexes(view, t, env)
	return m, err
}

// keyEqualities finds where the value of each primary key column of the scan comes from; nil where one
// is missing, or none comes from the other side.
func keyEqualities(s *Scan, right part, eqs []equality) (out []lookupColumn) {
	rel, joins := right.local.rels[0], 0
	m := matcher{s: s, conds: Conjuncts(s.Filter)}
	for _, col := range keyPositions(s.Table) {
		found := lookupColumn{eq: -1}
		for i, e := range eqs {
			if !e.nulls && isColumn(e.right, varKey{rel, col}) && m.keyValue(col, e.left, toEqual) != nil {
				found.eq = i
			}
		}
		if found.eq >= 0 {
			joins++
		} else if found.value = m.oneValue(m.column(col)); found.value == nil {
			return nil
		}
		out = append(out, found)
	}
	if joins == 0 {
		return nil
	}
	return out
}

// termScan finds the conditions that a GIN index serves; nil if there are none.
func (m *matcher) termScan(x *IndexScan) *IndexScan {
	for i := range x.Index.Keys {
		for _, c := range m.conds {
			if t, ok := m.termSearch(x.Index, i, c); ok {
				x.Terms, x.Conds = append(x.Terms, t), append(x.Conds, c)
			}
		}
	}
	if len(x.Terms) == 0 {
		return nil
	}
	return x
}

// termColumn returns what computes the terms of column i of a GIN index.
func termColumn(x query.Index, i int) gin.Column {
	t := x.Keys[i].Type()
	return gin.Column{At: i, Type: t, Class: gin.ClassOf(t, x.Def.ClassOf(i))}
}

// termSearch reports whether column i of a GIN index serves a condition.
func (m *matcher) termSearch(x query.Index, i int, cond query.Expr) (t TermSearch, ok bool) {
	c, ok := cond.(*query.Call)
	if !ok || len(c.Args) != 2 {
		return t, false
	}
	key := x.Keys[i]
	t = TermSearch{Column: i, Op: c.Op, Value: c.Args[1]}
	if !m.isKey(c.Args[0], key) {
		t.Value = c.Args[0]
		switch c.Op {
		case "<@":
			t.Op = "@>"
		case "@>":
			t.Op = "<@"
		case "=", "&&":
		default:
			return t, false
		}
		if !m.isKey(c.Args[1], key) {
			return t, false
		}
	}
	column := termColumn(x, i)
	if !column.Class.Searches(t.Op) || !known(t.Value) || !column.Takes(t.Value.Type()) {
		return t, false
	}
	if v, ok := t.Value.(*query.Const); ok {
		s, err := column.Search(t.Op, v.Value)
		return t, err == nil && s.Kind != gin.All
	}
	return t, true
}

// lists returns how many lists of entries a scan by a GIN index reads; those of a parameter are guessed.
func (x *IndexScan) lists() (n int) {
	for _, t := range x.Terms {
		column := termColumn(x.Index, t.Column)
		terms := guessLists
		if v, ok := t.Value.(*query.Const); ok {
			if s, err := column.Search(t.Op, v.Value); err == nil {
				terms = s.Terms()
			}
		}
		if n += terms; column.Class == gin.JSONBOps { // lists of keys are long ones
			n++
		}
	}
	return n
}

// guessLists is the number of terms of a value that is a parameter.
const guessLists = 2
