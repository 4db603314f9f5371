package plan

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/query"
)

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
	checks, err := analyze.Checks(&analyze.Context{Catalog: view, Database: t.Database}, t)
	if err != nil {
		return nil, err
	}
	for _, c := range checks {
		if c.Generated < 0 && !t.Constraint(c.Name).Valid {
			continue
		}
		if c.Expr, err = p.rewrite(l, c.Expr, in); err != nil {
			return nil, err
		}
		m.Checks = append(m.Checks, c)
	}
	m.Indexes, err = TableIndexes(view, t, env)
	return m, err
}
