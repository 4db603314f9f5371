package plan

import (
	"fmt"
	"slices"

	"github.com/sherddb/sherd/sql/plan/joinorder"
	"github.com/sherddb/sherd/sql/query"
)

// pulledUp merges subqueries of FROM that only join, select and compute with the query around them,
// as PostgreSQL does: so their tables are joined with the others in any order and inside the
// fragments, their conditions and those around them choose keys and indexes together, and the
// query's order and LIMIT reach their tables. Views and WITH queries that are read once are such
// subqueries.
func pulledUp(q *query.Query) *query.Query {
	if q.Command != query.Select || len(q.From) == 0 || q.GroupingSets != nil || len(q.Locking) > 0 {
		return q
	}
	for n := 0; n < len(q.Rels); n++ {
		sub := mergeable(q, n)
		if sub == nil {
			continue
		}
		if at, ok := placeOf(q.From, n); ok && at.takes(sub) && relations(q)+relations(sub) <= joinorder.MaxExact+1 {
			q = merged(q, n, sub)
		}
	}
	return q
}

// relations counts the tables that a query joins.
func relations(q *query.Query) (n int) {
	for _, it := range q.From {
		n += len(fromRels(it))
	}
	return n
}

// mergeable returns the subquery of an entry if it can be merged somewhere, with its own subqueries
// merged; nil if it cannot.
func mergeable(q *query.Query, n int) *query.Query {
	r := q.Rels[n]
	sub := r.Subquery
	if r.Kind == query.RelCTE && inlined(r.CTE) && declares(q, r.CTE) {
		sub = r.CTE.Query
	}
	if sub == nil || !joinsOnly(sub) || volatileQuery(sub) || len(sub.CTEs) > 0 {
		return nil
	}
	for _, t := range sub.Targets {
		if hasSubLink(t.Expr) {
			return nil // it would be computed wherever the column is read
		}
	}
	if wholeRead(q, n) {
		return nil
	}
	return pulledUp(sub)
}

// joinsOnly reports whether a query only joins, selects and computes: each of its rows is one of the
// join of its FROM, in no order.
func joinsOnly(q *query.Query) bool {
	return q.Command == query.Select && q.SetOp == nil && q.Values == nil && len(q.From) > 0 &&
		len(q.Locking) == 0 && !q.HasAggs && q.GroupBy == nil && q.GroupingSets == nil && q.Having == nil &&
		!q.HasWindow && !q.HasSRFs && q.Limit == nil && q.Offset == nil && !q.Distinct && q.DistinctOn == nil &&
		q.OrderBy == nil
}

// wholeRead reports whether something reads an entry's row as a whole, or its system columns.
func wholeRead(q *query.Query, n int) (found bool) {
	query.WalkQuery(q, func(e query.Expr, depth int) {
		v, ok := e.(*query.Var)
		found = found || ok && v.Up == depth && v.Rel == n && v.Col < 0
	})
	for _, r := range q.Rels {
		for _, e := range r.JoinVars {
			found = found || query.Contains(e, func(x query.Expr) bool {
				v, ok := x.(*query.Var)
				return ok && v.Up == 0 && v.Rel == n && v.Col < 0
			})
		}
	}
	return found
}

// place is where in FROM an entry is.
type place struct {
	filled bool // a join fills its columns with nulls
	full   bool // that is a FULL join, which keeps its rows whatever the conditions
}

// placeOf finds an entry in FROM; ok is false if it is not there.
func placeOf(items []query.From, n int) (at place, ok bool) {
	for _, it := range items {
		if at, ok = placeIn(it, n, place{}); ok {
			return at, true
		}
	}
	return place{}, false
}

func placeIn(it query.From, n int, at place) (place, bool) {
	f, ok := it.(*query.FromJoin)
	if !ok {
		return at, it.(*query.FromRel).Rel == n
	}
	left, right := at, at
	switch f.Kind {
	case query.Left:
		right = place{filled: true}
	case query.Right:
		left = place{filled: true}
	case query.Full:
		left, right = place{filled: true, full: true}, place{filled: true, full: true}
	}
	if p, ok := placeIn(f.Left, n, left); ok {
		return p, true
	}
	return placeIn(f.Right, n, right)
}

// takes reports whether a subquery can be merged at a place. Where a join fills columns with nulls,
// an expression over them need not be null.
func (at place) takes(sub *query.Query) bool {
	if !at.filled {
		return true
	}
	if at.full && sub.Where != nil || correlated(sub) {
		return false
	}
	for _, t := range sub.Targets {
		if v, ok := t.Expr.(*query.Var); !ok || v.Up != 0 || sub.Rels[v.Rel].Kind == query.RelJoin {
			return false
		}
	}
	return true
}

// merged returns q with the subquery of entry n in its place. The entry stays, without a place in
// FROM.
func merged(q *query.Query, n int, sub *query.Query) *query.Query {
	moved := movedOut(sub, len(q.Rels))
	own := *q
	cte := own.Rels[n].CTE
	own.CTEs = slices.DeleteFunc(slices.Clone(q.CTEs), func(c *query.CTE) bool { return c == cte })
	own.Rels = slices.Clone(q.Rels)
	own.Rels[n] = &query.Rel{Kind: query.RelJoin, Alias: q.Rels[n].Alias}
	own.Rels = appendRels(own.Rels, moved.Rels)
	m := merging{n: n, by: product(moved.From), where: Conjuncts(moved.Where)}
	own.From = slices.Clone(q.From)
	for i, it := range own.From {
		own.From[i] = m.from(it)
	}
	own.Where = Conjunction(slices.Concat(Conjuncts(q.Where), m.where))
	return query.RewriteAll(&own, func(e query.Expr, depth int) (query.Expr, bool) {
		v, ok := e.(*query.Var)
		if !ok || v.Up != depth || v.Rel != n {
			return nil, false
		}
		return raised(moved.Targets[v.Col].Expr, depth), true
	})
}

// merging puts a subquery's FROM and conditions in the place of an entry.
type merging struct {
	n     int
	by    query.From
	where []query.Expr // that have no place yet: under the nearest join that fills the entry with nulls
}

// from returns an item with what is merged.
func (m *merging) from(it query.From) query.From {
	f, ok := it.(*query.FromJoin)
	if !ok {
		if it.(*query.FromRel).Rel == m.n {
			return m.by
		}
		return it
	}
	filled := f.Right
	if f.Kind == query.Right {
		filled = f.Left
	}
	inside := fromRels(filled)[m.n]
	out := *f
	out.Left, out.Right = m.from(f.Left), m.from(f.Right)
	if inside && (f.Kind == query.Left || f.Kind == query.Right) {
		out.On, m.where = Conjunction(slices.Concat(Conjuncts(f.On), m.where)), nil
	}
	return &out
}

// movedOut returns a copy of a subquery as a part of the query around it: its tables are behind the
// first by ones of that query, whose columns it reads as its own.
func movedOut(sub *query.Query, by int) *query.Query {
	out := query.RewriteAll(sub, func(e query.Expr, depth int) (query.Expr, bool) {
		v, ok := e.(*query.Var)
		if !ok || v.Up < depth {
			return e, ok
		}
		d := *v
		if v.Up == depth {
			d.Rel += by
		} else {
			d.Up--
		}
		return &d, true
	})
	for i, it := range out.From {
		out.From[i] = movedFrom(it, by)
	}
	return out
}

func movedFrom(it query.From, by int) query.From {
	switch f := it.(type) {
	case *query.FromRel:
		return &query.FromRel{Rel: f.Rel + by}
	case *query.FromJoin:
		out := *f
		if out.Left, out.Right = movedFrom(f.Left, by), movedFrom(f.Right, by); f.Rel >= 0 {
			out.Rel += by
		}
		return &out
	}
	return it
}

// raised returns an expression of a query, without subqueries, as a query depth levels further in
// reads it.
func raised(e query.Expr, depth int) query.Expr {
	if depth == 0 {
		return e
	}
	return query.Rewrite(e, func(x query.Expr) (query.Expr, bool) {
		v, ok := x.(*query.Var)
		if !ok {
			return nil, false
		}
		d := *v
		d.Up += depth
		return &d, true
	})
}

// appendRels appends entries. One that goes by the name of another gets a name of its own, for
// EXPLAIN.
func appendRels(to, more []*query.Rel) []*query.Rel {
	for _, r := range more {
		alias := r.Alias
		for i := 1; slices.ContainsFunc(to, func(x *query.Rel) bool {
			return x.Alias == r.Alias && x.Kind != query.RelJoin
		}); i++ {
			r.Alias = fmt.Sprint(alias, "_", i)
		}
		to = append(to, r)
	}
	return to
}
