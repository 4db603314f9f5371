package query

// Raise returns an expression for a place n levels deeper: its references to outer queries then
// point n more levels out. It changes subqueries in place, so the caller must not keep the old
// expression.
func Raise(e Expr, n int) Expr {
	r := &raiser{n, map[*Query]bool{}}
	return r.expr(e, 0)
}

// RaiseQuery does the same for a query, in place.
func RaiseQuery(q *Query, n int) {
	r := &raiser{n, map[*Query]bool{}}
	r.query(q, 1)
}

// raiser moves an expression or query n levels deeper: its references to outer queries then point n
// more levels out.
type raiser struct {
	n    int
	seen map[*Query]bool
}

// expr raises the references that point from or more levels out.
func (r *raiser) expr(e Expr, from int) Expr {
	return Rewrite(e, func(x Expr) (Expr, bool) {
		switch n := x.(type) {
		case *Var:
			if n.Up < from {
				return x, true
			}
			c := *n
			c.Up += r.n
			return &c, true
		case *Agg:
			if n.Up < from || from == 0 {
				return nil, false
			}
			c := *n
			c.Up += r.n
			c.Args, c.Direct, c.Filter = r.list(n.Args, from), r.list(n.Direct, from), r.expr(n.Filter, from)
			return &c, true
		case *SubLink:
			r.query(n.Query, from+1)
		}
		return nil, false
	})
}

func (r *raiser) list(es []Expr, from int) []Expr {
	out := make([]Expr, len(es))
	for i, e := range es {
		out[i] = r.expr(e, from)
	}
	return out
}

func (r *raiser) each(es []Expr, from int) {
	for i, e := range es {
		es[i] = r.expr(e, from)
	}
}

func (r *raiser) query(q *Query, from int) {
	if q == nil || r.seen[q] {
		return
	}
	r.seen[q] = true
	for _, c := range q.CTEs {
		r.query(c.Query, from+1)
	}
	for i, rel := range q.Rels {
		if rel.Kind == RelCTE && rel.CTELevels >= from {
			c := *rel
			c.CTELevels += r.n
			q.Rels[i] = &c
		}
		r.query(rel.Subquery, from+1)
		for k := range rel.Functions {
			rel.Functions[k].Call = r.expr(rel.Functions[k].Call, from)
		}
		r.each(rel.JoinVars, from)
	}
	for _, it := range q.From {
		r.from(it, from)
	}
	r.clauses(q, from)
	if q.SetOp != nil {
		r.query(q.SetOp.Left, from+1)
		r.query(q.SetOp.Right, from+1)
	}
}

func (r *raiser) from(it From, from int) {
	if j, ok := it.(*FromJoin); ok {
		r.from(j.Left, from)
		r.from(j.Right, from)
		j.On = r.expr(j.On, from)
	}
}

func (r *raiser) clauses(q *Query, from int) {
	for i := range q.Targets {
		q.Targets[i].Expr = r.expr(q.Targets[i].Expr, from)
	}
	q.Where, q.Having = r.expr(q.Where, from), r.expr(q.Having, from)
	q.Limit, q.Offset, q.WithTies = r.expr(q.Limit, from), r.expr(q.Offset, from), r.expr(q.WithTies, from)
	r.each(q.GroupBy, from)
	for i := range q.Windows {
		w := &q.Windows[i]
		w.Frame.Start, w.Frame.End = r.expr(w.Frame.Start, from), r.expr(w.Frame.End, from)
		r.each(w.Partition, from)
		for k := range w.Order {
			w.Order[k].Expr = r.expr(w.Order[k].Expr, from)
		}
	}
	for _, row := range q.Values {
		r.each(row, from)
	}
}
