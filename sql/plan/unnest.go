package plan

import (
	"slices"

	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
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
	conds, joined := Conjuncts(q.Where), false
	for i := 0; i < len(conds); i++ {
		more, ok := joinSubLink(&out, conds[i])
		if !ok {
			rest = append(rest, conds[i])
		}
		conds, joined = append(conds, more...), joined || ok
	}
	if !joined {
		return q
	}
	out.Where = Conjunction(rest)
	return &out
}

// joinSubLink adds to q the join that c is, if it is one, and returns conditions that rows of q have
// to meet as well.
func joinSubLink(q *query.Query, c query.Expr) (more []query.Expr, ok bool) {
	kind := query.Semi
	if n, ok := c.(*query.Not); ok {
		kind, c = query.Anti, n.Arg
	}
	s, ok := c.(*query.SubLink)
	if !ok || volatileQuery(s.Query) {
		return nil, false
	}
	sub := pulledUp(s.Query)
	switch {
	case s.Kind == query.SubExists:
		var above []query.Expr
		if sub, above = nested(sub, kind); !simple(sub, true) || !correlated(sub) {
			return nil, false
		}
		pullUp(q, sub, kind, nil)
		return above, true
	case s.Kind != query.SubAny || s.Op != "=" || kind == query.Anti || hasSubLink(s.Test) || volatile(s.Test):
		return nil, false
	case simple(sub, false):
		pullUp(q, sub, kind, s.Test)
		return nil, true
	case !correlated(s.Query):
		joinSubquery(q, s)
		return nil, true
	}
	return nil, false
}

// nested returns the query of an EXISTS with the subqueries in its own conditions as joins, and the
// conditions with subqueries that only read the query around it, as that query reads them.
func nested(q *query.Query, kind query.JoinKind) (out *query.Query, above []query.Expr) {
	if !hasSubLink(q.Where) || q.Command != query.Select {
		return q, nil
	}
	own := *q
	if kind == query.Semi {
		var rest []query.Expr
		for _, c := range Conjuncts(q.Where) {
			if hasSubLink(c) && !readsOwn(c) {
				above = append(above, c)
			} else {
				rest = append(rest, c)
			}
		}
		own.Where = Conjunction(rest)
	}
	joined := unnested(&own)
	for _, it := range joined.From {
		if onReadsOuter(it) {
			return &own, loweredAll(above)
		}
	}
	return joined, loweredAll(above)
}

// readsOwn reports whether a condition reads columns of its own query.
func readsOwn(e query.Expr) (found bool) {
	own := func(x query.Expr, depth int) {
		v, ok := x.(*query.Var)
		found = found || ok && v.Up == depth
	}
	query.Walk(e, func(x query.Expr) bool {
		own(x, 0)
		if s, ok := x.(*query.SubLink); ok {
			query.WalkQuery(s.Query, func(y query.Expr, depth int) { own(y, depth+1) })
		}
		return true
	})
	return found
}

// onReadsOuter reports whether the condition of a join reads the query around its own.
func onReadsOuter(it query.From) bool {
	j, ok := it.(*query.FromJoin)
	return ok && (readsOuter(j.On) || onReadsOuter(j.Left) || onReadsOuter(j.Right))
}

// loweredAll returns conditions of a subquery, which read nothing of it, as the query around it reads
// them.
func loweredAll(conds []query.Expr) []query.Expr {
	holder := movedOut(&query.Query{Command: query.Select, Where: Conjunction(conds)}, 0)
	return Conjuncts(holder.Where)
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
	on := Conjuncts(moved.Where)
	if test != nil {
		on = append(on, Conjuncts(replaceColumns(test, func(n *query.SubColumn) query.Expr {
			return moved.Targets[n.N].Expr
		}))...)
	}
	q.Rels = appendRels(slices.Clip(q.Rels), moved.Rels)
	q.From = []query.From{&query.FromJoin{
		Kind: kind, Left: product(q.From), Right: product(moved.From), On: Conjunction(on), Rel: -1,
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

// grouping turns correlated aggregates, (SELECT max(x) FROM t WHERE t.k = o.k), into left joins with
// a subquery that computes them for all groups at once: SELECT k, max(x) FROM t GROUP BY k. Where
// there is no group, a count is 0 and the other aggregates are null.
type grouping struct{ out query.Query }

// groupedAggregates returns q with its correlated aggregates as joins; nil if it has none that can
// be joined.
func groupedAggregates(q *query.Query) *query.Query {
	if q.Command != query.Select || len(q.From) == 0 || len(q.Locking) > 0 {
		return nil
	}
	g := grouping{*q}
	g.out.Where = g.replaced(q.Where)
	if !q.HasAggs && q.GroupBy == nil && q.GroupingSets == nil && q.Having == nil && !q.HasWindow && !q.HasSRFs {
		g.out.Targets = slices.Clone(q.Targets)
		for i := range g.out.Targets {
			g.out.Targets[i].Expr = g.replaced(g.out.Targets[i].Expr)
		}
	}
	if len(g.out.Rels) == len(q.Rels) {
		return nil
	}
	return &g.out
}

func (g *grouping) replaced(e query.Expr) query.Expr {
	return query.Rewrite(e, func(x query.Expr) (query.Expr, bool) {
		s, ok := x.(*query.SubLink)
		if !ok {
			return nil, false
		}
		if by := g.join(s); by != nil {
			return by, true
		}
		return x, true
	})
}

// groupKey is an equality of a subquery with the query around it.
type groupKey struct {
	inner, outer query.Expr
	cond         query.Expr
}

// join adds a join with the groups of a subquery, and returns the expression that its value is then;
// nil if the subquery is not of the form.
func (g *grouping) join(s *query.SubLink) query.Expr {
	if s.Kind != query.SubScalar || volatileQuery(s.Query) {
		return nil
	}
	sub := pulledUp(s.Query)
	if !aggregatesOnly(sub) {
		return nil
	}
	keys, conds := groupKeys(sub)
	if len(keys) == 0 || !cannotFail(conds...) {
		return nil
	}
	groups := *sub
	groups.Where, groups.Targets, groups.OrderBy, groups.Limit = Conjunction(conds), nil, nil, nil
	groups.Distinct, groups.Having, groups.HasAggs = false, nil, true
	rel := &query.Rel{Kind: query.RelSubquery, Alias: "groups", Subquery: &groups}
	b := groupColumns{at: len(g.out.Rels), rel: rel}
	var on []query.Expr
	for _, k := range keys {
		if !cannotFail(k.inner) {
			return nil
		}
		groups.GroupBy = append(groups.GroupBy, k.inner)
		own := b.add(k.inner)
		on = append(on, query.Rewrite(k.cond, func(x query.Expr) (query.Expr, bool) {
			switch x {
			case k.inner:
				return own, true
			case k.outer:
				return lowered(x), true
			}
			return nil, false
		}))
	}
	value, ok := b.value(sub)
	if !ok {
		return nil
	}
	g.out.Rels = appendRels(slices.Clip(g.out.Rels), []*query.Rel{rel})
	g.out.From = []query.From{&query.FromJoin{
		Kind: query.Left, Left: product(g.out.From), Right: &query.FromRel{Rel: b.at}, On: Conjunction(on), Rel: -1,
	}}
	return value
}

// aggregatesOnly reports whether a subquery returns one row of aggregates, and reads columns of the
// query around it in its conditions and its result only.
func aggregatesOnly(q *query.Query) bool {
	if q.Command != query.Select || q.SetOp != nil || q.Values != nil || len(q.From) == 0 || len(q.CTEs) > 0 ||
		len(q.Locking) > 0 || !q.HasAggs || q.GroupBy != nil || q.GroupingSets != nil || q.HasWindow || q.HasSRFs ||
		q.DistinctOn != nil || q.Offset != nil || q.Limit != nil && !atLeastOne(q.Limit) || visible(q) != 1 {
		return false
	}
	for _, r := range q.Rels {
		if r.Kind == query.RelSubquery {
			return false
		}
		for _, f := range r.Functions {
			if readsOuter(f.Call) || !cannotFail(f.Call) {
				return false
			}
		}
	}
	ok := true
	query.WalkQuery(q, func(e query.Expr, _ int) {
		if _, sub := e.(*query.SubLink); sub {
			ok = false
		}
	})
	for _, it := range q.From {
		ok = ok && joinsInside(it)
	}
	return ok
}

// joinsInside reports whether no condition of a join reads the query around it, or may fail.
func joinsInside(it query.From) bool {
	j, ok := it.(*query.FromJoin)
	return !ok || !readsOuter(j.On) && cannotFail(Conjuncts(j.On)...) && joinsInside(j.Left) && joinsInside(j.Right)
}

// readsOuter reports whether an expression of a subquery reads the query around it.
func readsOuter(e query.Expr) bool {
	return e != nil && query.Contains(e, func(x query.Expr) bool {
		switch n := x.(type) {
		case *query.Var:
			return n.Up == 1
		case *query.Agg:
			return n.Up > 0
		}
		return false
	})
}

// groupKeys splits the conditions of a subquery into equalities with the query around it and those
// that do not read it. There are no keys if other conditions do.
func groupKeys(q *query.Query) (keys []groupKey, conds []query.Expr) {
	own := func(e query.Expr) bool {
		return query.Contains(e, func(x query.Expr) bool {
			v, ok := x.(*query.Var)
			return ok && v.Up == 0
		})
	}
	for _, c := range Conjuncts(q.Where) {
		if !readsOuter(c) {
			conds = append(conds, c)
			continue
		}
		a, b, _, ok := hashable(c)
		switch {
		case !ok:
			return nil, nil
		case own(a) && !readsOuter(a) && readsOuter(b) && !own(b):
			keys = append(keys, groupKey{a, b, c})
		case own(b) && !readsOuter(b) && readsOuter(a) && !own(a):
			keys = append(keys, groupKey{b, a, c})
		default:
			return nil, nil
		}
	}
	return keys, conds
}

// lowered returns an expression of a subquery as the query around it reads it.
func lowered(e query.Expr) query.Expr {
	return query.Rewrite(e, func(x query.Expr) (query.Expr, bool) {
		v, ok := x.(*query.Var)
		if !ok {
			return nil, false
		}
		d := *v
		d.Up--
		return &d, true
	})
}

// groupColumns are the columns of a subquery of groups: an entry of the query around it.
type groupColumns struct {
	at  int
	rel *query.Rel
}

func (b *groupColumns) add(e query.Expr) *query.Var {
	q, name := b.rel.Subquery, nameOfColumn(e)
	n := slices.IndexFunc(q.Targets, func(t query.Target) bool { return query.Equal(t.Expr, e) })
	if n < 0 {
		n = len(q.Targets)
		q.Targets = append(q.Targets, query.Target{Expr: e, Name: name})
		b.rel.Columns = append(b.rel.Columns, query.Column{Name: name, Type: e.Type(), Typmod: e.Typmod()})
	}
	return &query.Var{T: query.T{OID: e.Type(), Mod: e.Typmod()}, Rel: b.at, Col: n, Name: name}
}

func nameOfColumn(e query.Expr) string {
	switch n := e.(type) {
	case *query.Var:
		return n.Name
	case *query.Agg:
		return n.Proc.Name
	}
	return "?column?"
}

// value returns the result of the subquery over the columns of its group; ok is false if an
// aggregate has no known value for no rows, or may fail for groups that are not asked for.
func (b *groupColumns) value(sub *query.Query) (value query.Expr, ok bool) {
	ok = true
	over := func(e query.Expr) query.Expr {
		return query.Rewrite(e, func(x query.Expr) (query.Expr, bool) {
			switch n := x.(type) {
			case *query.Agg:
				if ok = ok && groupable(n); !ok {
					return x, true
				}
				own := b.add(n)
				if countsRows[n.Proc.Name] {
					zero := &query.Const{T: query.T{OID: n.Type(), Mod: -1}, Value: types.NewInt(0)}
					return &query.Coalesce{T: n.T, Args: []query.Expr{own, zero}}, true
				}
				return own, true
			case *query.Var:
				if n.Up == 0 {
					ok = false
				}
				return lowered(n), true
			}
			return nil, false
		})
	}
	value = over(sub.Targets[0].Expr)
	if sub.Having != nil {
		t := query.T{OID: value.Type(), Mod: value.Typmod()}
		value = &query.Case{T: t, Whens: []query.When{{Cond: over(sub.Having), Result: value}}}
	}
	return value, ok
}

// Aggregates of no rows: those that count return 0, the others null. Others than these depend on the
// order of the rows, or are not known.
var (
	countsRows = map[string]bool{"count": true, "regr_count": true}
	nullOfNone = map[string]bool{
		"sum": true, "avg": true, "min": true, "max": true, "bool_and": true, "bool_or": true, "every": true,
		"bit_and": true, "bit_or": true, "bit_xor": true, "stddev": true, "stddev_samp": true, "stddev_pop": true,
		"variance": true, "var_samp": true, "var_pop": true,
	}
)

// groupable reports whether an aggregate can be computed for all groups at once.
func groupable(a *query.Agg) bool {
	for _, e := range append([]query.Expr{a.Filter}, a.Args...) {
		if e != nil && (readsOuter(e) || !cannotFail(e)) {
			return false
		}
	}
	return a.Up == 0 && len(a.Direct) == 0 && a.Proc.Namespace == "pg_catalog" &&
		(countsRows[a.Proc.Name] || nullOfNone[a.Proc.Name])
}

// harmless are operators that return a value for all operands of these types, and harmlessCasts
// functions.
var (
	harmless = map[string]bool{
		"=": true, "<>": true, "<": true, "<=": true, ">": true, ">=": true, "~~": true, "!~~": true, "->": true,
		"->>": true, "@>": true, "?": true,
	}
	harmlessCasts = map[string]bool{
		"int2_numeric": true, "int4_numeric": true, "int8_numeric": true, "int24": true, "int28": true, "int48": true,
		"i2tod": true, "i4tod": true, "i8tod": true, "ftod": true,
	}
)

// cannotFail reports whether expressions return a value, not an error, for all rows.
func cannotFail(es ...query.Expr) bool {
	fails := func(x query.Expr) bool {
		switch n := x.(type) {
		case *query.Var, *query.Const, *query.Param, *query.Relabel, *query.And, *query.Or, *query.Not,
			*query.NullTest, *query.BoolTest, *query.Case, *query.Coalesce, *query.Array, *query.Element:
			return false
		case *query.Distinct:
			return false
		case *query.ArrayOp:
			return !harmless[n.Op]
		case *query.Call:
			arithmetic := n.OID == types.Numeric && (n.Op == "+" || n.Op == "-" || n.Op == "*")
			return !harmless[n.Op] && !arithmetic && !(n.Op == "" && harmlessCasts[n.Proc.Src])
		}
		return true
	}
	ok := true
	for _, e := range es {
		query.Walk(e, func(x query.Expr) bool {
			if isConstant(x) {
				return false
			}
			ok = ok && !fails(x)
			return true
		})
	}
	return ok
}

// isConstant reports whether an expression is evaluated while the statement is planned.
func isConstant(e query.Expr) bool {
	return !query.Contains(e, func(x query.Expr) bool {
		switch x.(type) {
		case *query.Const:
			return false
		case *query.Call, *query.CoerceIO, *query.Relabel:
			return !foldable(x)
		}
		return true
	})
}
