package walk

import (
	"slices"

	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
)

// Exprs returns the expressions of one node, without those of its children.
func Exprs(n plan.Node) []query.Expr {
	switch n := n.(type) {
	case *plan.Scan:
		out := append([]query.Expr{n.Filter, n.KeyArray, n.Lo, n.Hi, n.Sums}, flatten(n.Keys)...)
		out = append(out, spanExprs(n.Span)...)
		return append(out, IndexExprs(n.Index)...)
	case *plan.SystemScan:
		return []query.Expr{n.Filter}
	case *plan.FunctionScan:
		var out []query.Expr
		for _, f := range n.Functions {
			out = append(out, f.Call)
		}
		return out
	case *plan.Values:
		return flatten(n.Rows)
	case *plan.Filter:
		return []query.Expr{n.Cond}
	case *plan.Project:
		return n.Exprs
	case *plan.Aggregate:
		out := append([]query.Expr{}, n.Keys...)
		for _, a := range n.Aggs {
			out = append(out, a)
		}
		return out
	case *plan.Sort:
		return []query.Expr{n.Limit, n.Offset}
	case *plan.Limit:
		return []query.Expr{n.Count, n.Offset}
	}
	return combiningExprs(n)
}

func combiningExprs(n plan.Node) []query.Expr {
	switch n := n.(type) {
	case *plan.HashJoin:
		return append(append([]query.Expr{n.On}, n.LeftKeys...), n.RightKeys...)
	case *plan.LookupJoin:
		return append(combiningExprs(n.Join), n.Values.Expr)
	case *plan.NestLoop:
		return append(bindExprs(n.Binds), n.On)
	case *plan.Window:
		return windowExprs(n)
	case *plan.Gather:
		return RouteExprs(&n.Route)
	case *plan.Each:
		return RouteExprs(&n.Route)
	case *plan.Batch:
		var out []query.Expr
		for _, r := range n.Reads {
			out = append(append(out, r.Need), bindExprs(r.Binds)...)
		}
		return out
	case *plan.LockRows:
		out := []query.Expr{n.Most}
		if r := n.Rejoin; r != nil {
			out = append(out, r.Cond)
			for _, u := range r.Unmatched {
				out = append(out, u.On)
			}
		}
		return out
	case *plan.Merge:
		return n.Exprs()
	case *plan.Modify:
		out := append([]query.Expr{}, n.Returning...)
		for _, a := range n.Assign {
			out = append(out, a.Expr)
		}
		for _, c := range n.Checks {
			out = append(out, c.Expr)
		}
		if oc := n.OnConflict; oc != nil {
			for _, a := range oc.Assign {
				out = append(out, a.Expr)
			}
			out = append(out, oc.Where)
		}
		return out
	}
	return nil
}

func windowExprs(n *plan.Window) []query.Expr {
	var out []query.Expr
	for _, c := range n.Calls {
		out = append(out, c)
	}
	for _, s := range n.Specs {
		out = append(append(out, s.Frame.Start, s.Frame.End), s.Partition...)
		for _, o := range s.Order {
			out = append(out, o.Expr)
		}
	}
	return out
}

// RouteExprs returns the expressions of a route.
func RouteExprs(r *plan.Route) []query.Expr {
	out := append([]query.Expr{r.KeyArray, r.Lo, r.Hi, r.UnderLike, r.UnderFrom, r.UnderTo}, flatten(r.Keys)...)
	out = append(append(out, spanExprs(r.Span)...), r.Under...)
	out = append(append(out, flatten(r.Content)...), r.ContentArray...)
	for _, b := range r.ContentRange {
		out = append(out, b.From, b.To)
	}
	return append(out, IndexExprs(r.Index)...)
}

// IndexExprs returns the expressions that an index lookup compares with. The index's own
// expressions are not part of the plan.
func IndexExprs(x *plan.IndexScan) []query.Expr {
	if x == nil {
		return nil
	}
	return keysExprs(x.All())
}

func bindExprs(bs []plan.Bind) []query.Expr {
	var out []query.Expr
	for _, b := range bs {
		out = append(out, b.Expr)
	}
	return out
}

func flatten(rows [][]query.Expr) []query.Expr {
	var out []query.Expr
	for _, r := range rows {
		out = append(out, r...)
	}
	return out
}

// Visit calls f for e and everything in it, the inputs of SubPlans included, their plans not.
func Visit(e query.Expr, f func(query.Expr)) {
	if e == nil {
		return
	}
	query.Walk(e, func(x query.Expr) bool {
		f(x)
		if s, ok := x.(*plan.SubPlan); ok {
			for _, in := range append(append(bindExprs(s.Binds), s.Test), s.HashLeft...) {
				Visit(in, f)
			}
		}
		return true
	})
}

// HasSubPlan reports whether one of the expressions contains a subquery.
func HasSubPlan(es ...query.Expr) bool {
	found := false
	for _, e := range es {
		Visit(e, func(x query.Expr) {
			_, is := x.(*plan.SubPlan)
			found = found || is
		})
	}
	return found
}

// FreeOuters adds the outer parameters that a plan reads and does not set itself.
func FreeOuters(n plan.Node, free map[int]bool) {
	own := map[int]bool{}
	collectOuters(n, free, own)
	for p := range own {
		delete(free, p)
	}
}

// SetOuters adds the outer parameters that the steps of a plan set, those in its subqueries too.
func SetOuters(n plan.Node, set map[int]bool) { collectOuters(n, map[int]bool{}, set) }

func collectOuters(n plan.Node, reads, sets map[int]bool) {
	for _, e := range Exprs(n) {
		Visit(e, func(x query.Expr) {
			switch x := x.(type) {
			case *query.Outer:
				reads[x.N] = true
			case *plan.SubPlan:
				for _, b := range x.Binds {
					sets[b.Param] = true
				}
				collectOuters(x.Plan, reads, sets)
			}
		})
	}
	switch n := n.(type) {
	case *plan.Scan:
		for _, f := range n.KeyFilters {
			reads[f.Param] = true
		}
	case *plan.HashJoin:
		if n.KeyFilter != nil {
			sets[n.KeyFilter.Param] = true
		}
	case *plan.NestLoop:
		for _, b := range n.Binds {
			sets[b.Param] = true
		}
	case *plan.LookupJoin:
		sets[n.Values.Param] = true
	}
	for _, c := range n.Children() {
		collectOuters(c, reads, sets)
	}
}

// FreeCTEs adds the numbers of the common table expressions that a plan reads and does not compute
// itself.
func FreeCTEs(n plan.Node, free map[int]bool) {
	own := map[int]bool{}
	collectCTEs(n, free, own)
	for id := range own {
		delete(free, id)
	}
}

func collectCTEs(n plan.Node, reads, computes map[int]bool) {
	switch n := n.(type) {
	case *plan.CTEScan:
		reads[n.ID] = true
	case *plan.With:
		for _, c := range n.CTEs {
			computes[c.ID] = true
		}
	}
	SubPlans(n, func(sub plan.Node) { collectCTEs(sub, reads, computes) })
	for _, c := range n.Children() {
		collectCTEs(c, reads, computes)
	}
}

// SubPlans calls f for the plans of the subqueries in a step's own expressions.
func SubPlans(n plan.Node, f func(plan.Node)) {
	for _, e := range Exprs(n) {
		Visit(e, func(x query.Expr) {
			if s, ok := x.(*plan.SubPlan); ok {
				f(s.Plan)
			}
		})
	}
}

func spanExprs(x *plan.KeySpan) []query.Expr {
	if x == nil {
		return nil
	}
	return slices.Concat(boundExprs(&x.KeyBounds), flatten(x.Equal), keysExprs(x.Arms))
}

func keysExprs(list []plan.IndexKeys) (out []query.Expr) {
	for _, k := range list {
		out = slices.Concat(out, boundExprs(&k.KeyBounds), flatten(k.Equal), k.Arrays)
		for _, t := range k.Terms {
			out = append(out, t.Value)
		}
	}
	return out
}

func boundExprs(x *plan.KeyBounds) []query.Expr {
	return slices.Concat([]query.Expr{x.Lo, x.Hi, x.Prefix}, x.LoRow, x.HiRow)
}
