package plan

import (
	"slices"

	"github.com/sherddb/sherd/sql/query"
)

// unnested turns EXISTS, NOT EXISTS and IN among the conditions of WHERE into semi and anti joins.
// What it cannot, NOT IN among it (nulls make it no anti join), stays a subquery that runs for each
// row or into a hash table.
func unnested(q *query.Query) *query.Query {
	if q.Command != query.Select || len(q.From) == 0 || q.Where == nil {
		return q
	}
	out := *q
	var rest []query.Expr
	for _, c := range conjuncts(q.Where) {
		if !joinSubLink(&out, c) {
			rest = append(rest, c)
		}
	}
	if len(rest) == len(conjuncts(q.Where)) {
		return q
	}
	out.Where = conjunction(rest)
	return &out
}

// joinSubLink adds to q the join that c is, where it is one.
func joinSubLink(q *query.Query, c query.Expr) bool {
	kind := query.Semi
	if n, ok := c.(*query.Not); ok {
		kind, c = query.Anti, n.Arg
	}
	s, ok := c.(*query.SubLink)
	if !ok || volatileQuery(s.Query) {
		return false
	}
	sub := pulledUp(s.Query)
	switch {
	case s.Kind == query.SubExists && simple(sub, true) && correlated(sub):
		pullUp(q, sub, kind, nil)
		return true
	case s.Kind != query.SubAny || s.Op != "=" || kind == query.Anti || hasSubLink(s.Test) || volatile(s.Test):
		return false
	case simple(sub, false):
		pullUp(q, sub, kind, s.Test)
		return true
	case !correlated(s.Query):
		joinSubquery(q, s)
		return true
	}
	return false
}

// simple reports whether a subquery is tables, functions and conditions only, so that its FROM can
// join that of the query around it.
func simple(q *query.Query, exists bool) bool {
	if q.Command != query.Select || q.SetOp != nil || q.Values != nil || len(q.From) == 0 ||
		len(q.CTEs) > 0 || len(q.Locking) > 0 || q.HasAggs || q.GroupBy != nil || q.GroupingSets != nil ||
		q.Having != nil || q.HasWindow || q.HasSRFs || q.Offset != nil {
		return false
	}
	if q.Limit != nil && !(exists && atLeastOne(q.Limit)) || q.DistinctOn != nil && !exists {
		return false
	}
	for _, r := range q.Rels {
		if r.Kind != query.RelTable && r.Kind != query.RelSystem && r.Kind != query.RelCTE &&
			r.Kind != query.RelFunction && r.Kind != query.RelJoin {
			return false
		}
	}
	plain := true
	query.WalkQuery(q, func(e query.Expr, _ int) {
		if _, ok := e.(*query.SubLink); ok {
			plain = false
		}
	})
	return plain
}

func atLeastOne(limit query.Expr) bool {
	if cast, ok := limit.(*query.Call); ok && cast.Cast != 0 && len(cast.Args) == 1 {
		limit = cast.Args[0]
	}
	c, ok := limit.(*query.Const)
	return ok && (c.Value.IsNull() || c.Value.N > 0)
}

// correlated reports whether a subquery reads columns of the query around it.
func correlated(q *query.Query) bool {
	found := false
	query.WalkQuery(q, func(e query.Expr, depth int) {
		switch n := e.(type) {
		case *query.Var:
			found = found || n.Up == depth+1
		case *query.Agg:
			found = found || n.Up == depth+1
		}
	})
	return found
}

// pullUp joins the FROM of sub to that of q, its range table behind q's. test is the comparison of
// IN.
func pullUp(q, sub *query.Query, kind query.JoinKind, test query.Expr) {
	moved := movedOut(sub, len(q.Rels))
	on := conjuncts(moved.Where)
	if test != nil {
		on = append(on, conjuncts(replaceColumns(test, func(n *query.SubColumn) query.Expr {
			return moved.Targets[n.N].Expr
		}))...)
	}
	q.Rels = appendRels(slices.Clip(q.Rels), moved.Rels)
	q.From = []query.From{&query.FromJoin{
		Kind: kind, Left: product(q.From), Right: product(moved.From), On: conjunction(on), Rel: -1,
	}}
}

// joinSubquery joins an uncorrelated IN's subquery as an item of its own.
func joinSubquery(q *query.Query, s *query.SubLink) {
	rel := &query.Rel{Kind: query.RelSubquery, Alias: "ANY_subquery", Subquery: s.Query}
	for _, t := range s.Query.Targets[:visible(s.Query)] {
		rel.Columns = append(rel.Columns, query.Column{Name: t.Name, Type: t.Expr.Type(), Typmod: t.Expr.Typmod()})
	}
	at := len(q.Rels)
	on := replaceColumns(s.Test, func(n *query.SubColumn) query.Expr {
		return &query.Var{T: n.T, Rel: at, Col: n.N, Name: rel.Columns[n.N].Name}
	})
	q.Rels = append(slices.Clip(q.Rels), rel)
	q.From = []query.From{&query.FromJoin{
		Kind: query.Semi, Left: product(q.From), Right: &query.FromRel{Rel: at}, On: on, Rel: -1,
	}}
}

func replaceColumns(test query.Expr, by func(*query.SubColumn) query.Expr) query.Expr {
	return query.Rewrite(test, func(x query.Expr) (query.Expr, bool) {
		if c, ok := x.(*query.SubColumn); ok {
			return by(c), true
		}
		return nil, false
	})
}

// product is a list of FROM as one item.
func product(items []query.From) query.From {
	out := items[0]
	for _, it := range items[1:] {
		out = &query.FromJoin{Kind: query.Inner, Left: out, Right: it, Rel: -1}
	}
	return out
}
