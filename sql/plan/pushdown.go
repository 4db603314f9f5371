package plan

import (
	"slices"

	"github.com/sherddb/sherd/sql/query"
)

// pushDown moves conditions on entry n, the subquery q, into it where they keep the same rows
// there. It returns the subquery with them and the conditions that stay.
func pushDown(l *level, n int, q *query.Query, conds []query.Expr) (*query.Query, []query.Expr) {
	var inside, stay []query.Expr
	for _, c := range conds {
		if takes(q, columnsIn(c, n)) && !hasSubLink(c) && !volatile(c) && !wholeRow(c, n) && len(l.relsOf(c)) > 0 {
			inside = append(inside, c)
		} else {
			stay = append(stay, c)
		}
	}
	if len(inside) == 0 {
		return q, conds
	}
	for i, c := range inside {
		inside[i] = deeper(c, n)
	}
	return withConditions(q, inside), stay
}

// deeper makes a condition on entry n one of a query within: its columns become Vars of the query's
// output, others go one level out.
func deeper(c query.Expr, n int) query.Expr {
	return query.Rewrite(c, func(x query.Expr) (query.Expr, bool) {
		v, ok := x.(*query.Var)
		if !ok {
			return nil, false
		}
		d := *v
		if v.Up == 0 && v.Rel == n {
			d.Rel = outputRel
		} else {
			d.Up++
		}
		return &d, true
	})
}

// outputRel is the Rel of a Var that names an output column of a query whose conditions are being
// pushed down.
const outputRel = -2

// withConditions adds conditions over q's output to q, or to both sides of a set operation.
func withConditions(q *query.Query, conds []query.Expr) *query.Query {
	out := *q
	if q.SetOp != nil {
		op := *q.SetOp
		op.Left, op.Right = withConditions(op.Left, outward(conds)), withConditions(op.Right, outward(conds))
		out.SetOp = &op
		return &out
	}
	all := Conjuncts(q.Where)
	for _, c := range conds {
		all = append(all, query.Rewrite(c, func(x query.Expr) (query.Expr, bool) {
			if v, ok := x.(*query.Var); ok && v.Rel == outputRel {
				return q.Targets[v.Col].Expr, true
			}
			return nil, false
		}))
	}
	out.Where = Conjunction(all)
	return &out
}

// outward moves conditions one level further in.
func outward(conds []query.Expr) []query.Expr {
	out := make([]query.Expr, len(conds))
	for i, c := range conds {
		out[i] = query.Rewrite(c, func(x query.Expr) (query.Expr, bool) {
			v, ok := x.(*query.Var)
			if !ok || v.Rel == outputRel {
				return nil, false
			}
			d := *v
			d.Up++
			return &d, true
		})
	}
	return out
}

// columnsIn lists the columns of entry n that c reads.
func columnsIn(c query.Expr, n int) []int {
	var out []int
	query.Walk(c, func(x query.Expr) bool {
		if v, ok := x.(*query.Var); ok && v.Up == 0 && v.Rel == n {
			out = append(out, v.Col)
		}
		return true
	})
	return out
}

func wholeRow(c query.Expr, n int) bool {
	return slices.ContainsFunc(columnsIn(c, n), func(col int) bool { return col < 0 })
}

// takes reports whether q keeps the same rows if a condition on these output columns holds before
// its last steps: grouping, DISTINCT ON and windows must not cross the condition, LIMIT must not
// come after it. A subquery that locks rows then locks those that it returns.
func takes(q *query.Query, columns []int) bool {
	if q.Command != query.Select || q.Limit != nil || q.Offset != nil || q.Values != nil || wholeColumns(columns, q) {
		return false
	}
	if q.SetOp != nil {
		return takes(q.SetOp.Left, columns) && takes(q.SetOp.Right, columns)
	}
	if q.GroupingSets != nil || (q.HasAggs || q.Having != nil) && len(q.GroupBy) == 0 {
		return false
	}
	for _, c := range columns {
		e := q.Targets[c].Expr
		if volatile(e) || hasSubLink(e) || q.HasSRFs && hasSet(e) || hasAggregate(e) {
			return false
		}
		if len(q.GroupBy) > 0 && !among(q.GroupBy, e) || q.DistinctOn != nil && !contains(q.DistinctOn, c) {
			return false
		}
		for _, w := range q.Windows {
			if !among(w.Partition, e) {
				return false
			}
		}
	}
	return true
}

// wholeColumns reports whether a column is none of q's targets.
func wholeColumns(columns []int, q *query.Query) bool {
	return slices.ContainsFunc(columns, func(c int) bool { return c < 0 || c >= len(q.Targets) })
}

func hasSet(e query.Expr) bool {
	return query.Contains(e, func(x query.Expr) bool {
		c, ok := x.(*query.Call)
		return ok && c.Proc.RetSet
	})
}

func hasAggregate(e query.Expr) bool {
	return query.Contains(e, func(x query.Expr) bool {
		switch x.(type) {
		case *query.Agg, *query.WindowCall, *query.Grouping:
			return true
		}
		return false
	})
}

// early returns q with conditions of HAVING that only read keys of groups in WHERE, and with its
// order and LIMIT in the subquery that it only reads.
func early(q *query.Query) *query.Query {
	return readsOnly(havingFirst(q))
}

// havingFirst moves conditions of HAVING to WHERE that all rows of a group meet, or none.
func havingFirst(q *query.Query) *query.Query {
	if len(q.GroupBy) == 0 || q.GroupingSets != nil || q.Having == nil {
		return q
	}
	var first, stay []query.Expr
	for _, c := range Conjuncts(q.Having) {
		if hasAggregate(c) || hasSubLink(c) || volatile(c) {
			stay = append(stay, c)
		} else {
			first = append(first, c)
		}
	}
	if len(first) == 0 {
		return q
	}
	out := *q
	out.Where, out.Having = Conjunction(slices.Concat(Conjuncts(q.Where), first)), Conjunction(stay)
	return &out
}

// readsOnly has a subquery return no more rows than a query of nothing else needs.
func readsOnly(q *query.Query) *query.Query {
	if len(q.From) != 1 || q.Where != nil || !joinsOnlyOrdered(q) {
		return q
	}
	from, ok := q.From[0].(*query.FromRel)
	if !ok || q.Rels[from.Rel].Kind != query.RelSubquery {
		return q
	}
	sub := limited(q, q.Rels[from.Rel].Subquery, from.Rel)
	if sub == nil {
		return q
	}
	out, rel := *q, *q.Rels[from.Rel]
	rel.Subquery = sub
	out.Rels = slices.Clone(q.Rels)
	out.Rels[from.Rel] = &rel
	return &out
}

// joinsOnlyOrdered is joinsOnly for a query that may have an order and a LIMIT.
func joinsOnlyOrdered(q *query.Query) bool {
	own := *q
	own.OrderBy, own.Limit, own.Offset = nil, nil, nil
	return joinsOnly(&own)
}

// branch returns a side of a set operation, which returns no more rows than the operation needs.
func branch(q, side *query.Query) *query.Query {
	if q.SetOp.Kind != query.Union || !q.SetOp.All {
		return side
	}
	if out := limited(q, side, -1); out != nil {
		return out
	}
	return side
}

// limited returns a query whose columns q reads as those of an entry, with q's order and LIMIT; nil
// if it cannot have them. q must keep and change no rows otherwise.
func limited(q, sub *query.Query, rel int) *query.Query {
	count := together(q.Limit, q.Offset)
	if count == nil || query.Contains(count, readsRow) || sub.Command != query.Select || sub.Values != nil ||
		sub.Limit != nil || sub.Offset != nil || sub.OrderBy != nil || sub.DistinctOn != nil || sub.HasSRFs ||
		len(sub.Locking) > 0 {
		return nil
	}
	out := *sub
	out.Limit = count
	for _, k := range q.OrderBy {
		v, ok := q.Targets[k.Target].Expr.(*query.Var)
		if !ok || v.Up != 0 || v.Rel != rel || v.Col < 0 || v.Col >= visible(sub) {
			return nil
		}
		k.Target = v.Col
		out.OrderBy = append(out.OrderBy, k)
	}
	return &out
}

// readsRow reports whether an expression reads a row, or runs a subquery.
func readsRow(e query.Expr) bool {
	switch e.(type) {
	case *query.Var, *query.SubLink:
		return true
	}
	return false
}
