package query

import "slices"

// RewriteAll returns a copy of q in which f has rewritten every expression, as Rewrite does, those
// of its subqueries too. depth is 0 in q itself, as for WalkQuery. Tables, and what was analysed of
// their constraints and indexes, are shared.
func RewriteAll(q *Query, f func(e Expr, depth int) (Expr, bool)) *Query {
	r := rewriting{f: f, ctes: map[*CTE]*CTE{}}
	return r.query(q)
}

// rewriting copies a query and its subqueries. A WITH query is copied once, however often it is read.
type rewriting struct {
	f     func(Expr, int) (Expr, bool)
	ctes  map[*CTE]*CTE
	depth int
}

// within rewrites a query one level further in.
func (r *rewriting) within(q *Query) *Query {
	r.depth++
	defer func() { r.depth-- }()
	return r.query(q)
}

func (r *rewriting) expr(e Expr) Expr {
	return Rewrite(e, func(x Expr) (Expr, bool) {
		if out, done := r.f(x, r.depth); done {
			return out, true
		}
		s, ok := x.(*SubLink)
		if !ok {
			return nil, false
		}
		c := *s
		c.Test, c.Left, c.Query = r.expr(s.Test), r.list(s.Left), r.within(s.Query)
		return &c, true
	})
}

func (r *rewriting) list(es []Expr) []Expr {
	out := slices.Clone(es)
	for i, e := range out {
		out[i] = r.expr(e)
	}
	return out
}

func (r *rewriting) query(q *Query) *Query {
	if q == nil {
		return nil
	}
	out := *q
	out.CTEs = slices.Clone(q.CTEs)
	for i, c := range out.CTEs {
		own := *c
		r.ctes[c] = &own // a recursive one reads itself
		own.Query = r.within(c.Query)
		out.CTEs[i] = &own
	}
	out.Rels = slices.Clone(q.Rels)
	for i, rel := range out.Rels {
		out.Rels[i] = r.rel(rel)
	}
	out.From = slices.Clone(q.From)
	for i, it := range out.From {
		out.From[i] = r.from(it)
	}
	if q.SetOp != nil {
		s := *q.SetOp
		s.Left, s.Right = r.within(s.Left), r.within(s.Right)
		out.SetOp = &s
	}
	out.Source = r.within(q.Source)
	r.clauses(&out)
	return &out
}

// clauses rewrites the expressions of q itself, a copy.
func (r *rewriting) clauses(q *Query) {
	q.Targets = slices.Clone(q.Targets)
	for i := range q.Targets {
		q.Targets[i].Expr = r.expr(q.Targets[i].Expr)
	}
	q.Where, q.Having = r.expr(q.Where), r.expr(q.Having)
	q.Limit, q.Offset, q.WithTies = r.expr(q.Limit), r.expr(q.Offset), r.expr(q.WithTies)
	q.GroupBy = r.list(q.GroupBy)
	q.Windows = slices.Clone(q.Windows)
	for i := range q.Windows {
		w := &q.Windows[i]
		w.Partition, w.Order = r.list(w.Partition), slices.Clone(w.Order)
		for k := range w.Order {
			w.Order[k].Expr = r.expr(w.Order[k].Expr)
		}
		w.Frame.Start, w.Frame.End = r.expr(w.Frame.Start), r.expr(w.Frame.End)
	}
	q.Values = slices.Clone(q.Values)
	for i, row := range q.Values {
		q.Values[i] = r.list(row)
	}
	q.Assign = r.assignments(q.Assign)
	if q.OnConflict != nil {
		c := *q.OnConflict
		c.Assign, c.Where = r.assignments(c.Assign), r.expr(c.Where)
		q.OnConflict = &c
	}
	q.Merge = slices.Clone(q.Merge)
	for i := range q.Merge {
		m := &q.Merge[i]
		m.Cond, m.Assign = r.expr(m.Cond), r.assignments(m.Assign)
	}
}

func (r *rewriting) assignments(list []Assignment) []Assignment {
	out := slices.Clone(list)
	for i := range out {
		out[i].Expr = r.expr(out[i].Expr)
	}
	return out
}

func (r *rewriting) rel(rel *Rel) *Rel {
	out := *rel
	out.Subquery, out.JoinVars = r.within(rel.Subquery), r.list(rel.JoinVars)
	out.Security = r.list(rel.Security)
	out.Functions = slices.Clone(rel.Functions)
	for i := range out.Functions {
		out.Functions[i].Call = r.expr(out.Functions[i].Call)
	}
	if own, ok := r.ctes[rel.CTE]; ok {
		out.CTE = own
	}
	return &out
}

func (r *rewriting) from(it From) From {
	j, ok := it.(*FromJoin)
	if !ok {
		return it
	}
	out := *j
	out.Left, out.Right, out.On = r.from(j.Left), r.from(j.Right), r.expr(j.On)
	return &out
}
