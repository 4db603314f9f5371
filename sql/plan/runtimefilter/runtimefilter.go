// Package runtimefilter has scans leave out rows by the keys of the other side of a hash join. The
// join at the gateway builds a table of its right side, makes a filter of the keys (package
// keyfilter), and sends it with the tasks of its left side:
//
//	Hash Join                                  makes the filter
//	  ->  Gather
//	        ->  Seq Scan on lineitem           Runtime Filter: l_suppkey
//	  ->  Gather
//	        ->  Seq Scan on supplier
//
// # Invariants
//
//   - RF1 A filter is used only below the left side of a join that drops left rows without a match,
//     by a key that is a column of the scan, and only if no step between the join and the scan would
//     return something else for the rows that stay.
//   - RF2 A join sets its filter after its right side and before its left one, each time it runs.
package runtimefilter

import (
	"slices"

	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/plan/walk"
	"github.com/sherddb/sherd/sql/query"
)

const (
	// mostMeet is the largest share of the left rows for which a filter is worth it if they meet a
	// right one.
	mostMeet = 0.5
	// leastRows is how many rows a scan must return for that.
	leastRows = 1000
)

// Plan adds runtime filters to a plan.
func Plan(p *plan.Plan) {
	f := &filters{plan: p, seen: map[plan.Node]bool{}}
	f.node(p.Root)
}

type filters struct {
	plan *plan.Plan
	seen map[plan.Node]bool
}

// node adds the filters of a step that runs at the gateway, and of those below it. Subqueries that
// run for each row, and the right sides of loops, have none: they are read ahead for many rows.
func (f *filters) node(n plan.Node) {
	if f.seen[n] {
		return
	}
	f.seen[n] = true
	switch n := n.(type) {
	case *plan.Gather:
		return
	case *plan.NestLoop:
		f.subqueries(n)
		if f.node(n.Left); len(n.Binds) == 0 || once(n) {
			f.node(n.Right)
		}
		return
	case *plan.LookupJoin:
		f.node(n.Join.Left)
		return
	case *plan.HashJoin:
		f.join(n)
	}
	f.subqueries(n)
	for _, c := range n.Children() {
		f.node(c)
	}
}

// once reports whether a loop runs its right side once, after subqueries.
func once(n *plan.NestLoop) bool {
	v, ok := n.Left.(*plan.Values)
	return ok && len(v.Rows) == 1
}

// subqueries adds the filters of the subqueries of a step that run once.
func (f *filters) subqueries(n plan.Node) {
	for _, e := range walk.Exprs(n) {
		walk.Visit(e, func(x query.Expr) {
			if s, ok := x.(*plan.SubPlan); ok && len(s.Binds) == 0 {
				f.node(s.Plan)
			}
		})
	}
}

// join adds the filter of a join if it is worth it.
func (f *filters) join(n *plan.HashJoin) {
	if e := f.plan.Estimates[n]; !dropsLeft(n.Kind) || e.Meets > mostMeet || n.KeyFilter != nil {
		return
	}
	filter := plan.KeyFilter{Param: f.plan.Outers}
	var at []int // slots of the left side
	for i, k := range n.LeftKeys {
		if s, ok := k.(*query.Slot); ok && !n.NullsEqual[i] {
			filter.Keys, filter.Types, at = append(filter.Keys, i), append(filter.Types, n.KeyTypes[i]), append(at, s.N)
		}
	}
	if len(at) == 0 {
		return
	}
	if !f.below(n.Left, at, filter, false) {
		// Perhaps the keys are of several tables: the first that one table has.
		for i := range at {
			one := plan.KeyFilter{
				Param: filter.Param, Keys: filter.Keys[i : i+1 : i+1], Types: filter.Types[i : i+1 : i+1],
			}
			if f.below(n.Left, at[i:i+1], one, false) {
				filter = one
				n.KeyFilter = &filter
				f.plan.Outers++
				return
			}
		}
		return
	}
	n.KeyFilter = &filter
	f.plan.Outers++
}

// dropsLeft reports whether a join drops left rows that meet no right one.
func dropsLeft(k query.JoinKind) bool {
	return k != query.Left && k != query.Full && k != query.Anti
}

// below adds a filter to the scans that have some slots of a step. In a fragment, inside reports
// that. It reports whether there are such scans, which then are all that the slots come from.
func (f *filters) below(n plan.Node, slots []int, filter plan.KeyFilter, inside bool) bool {
	if volatile(n) {
		return false
	}
	switch n := n.(type) {
	case *plan.Scan:
		if !inside || f.plan.Estimates[n].Rows < leastRows {
			return false
		}
		filter.Keys = slices.Clone(slots)
		n.KeyFilters = append(n.KeyFilters, filter)
		return true
	case *plan.Gather:
		return n.Batch == 0 && f.below(n.Child, slots, filter, true)
	case *plan.Filter, *plan.Batch:
		return f.below(n.Children()[0], slots, filter, inside)
	case *plan.Sort:
		return n.Limit == nil && f.below(n.Child, slots, filter, inside)
	case *plan.Project:
		return f.through(n.Child, slots, n.Exprs, filter, inside)
	case *plan.Aggregate:
		return n.Sets == nil && f.through(n.Child, slots, n.Keys, filter, inside)
	case *plan.HashJoin:
		return f.belowJoin(n.Kind, n.Left, n.Right, slots, filter, inside)
	case *plan.LookupJoin:
		return within(slots, 0, len(n.Join.Left.Output())) && f.below(n.Join.Left, slots, filter, inside)
	case *plan.NestLoop:
		return within(slots, 0, len(n.Left.Output())) && n.Kind != query.Right && n.Kind != query.Full &&
			f.below(n.Left, slots, filter, inside)
	}
	return false
}

// through is below for a step that computes expressions: slots of it are slots of its input.
func (f *filters) through(
	n plan.Node, slots []int, exprs []query.Expr, filter plan.KeyFilter, inside bool,
) bool {
	out := make([]int, len(slots))
	for i, at := range slots {
		if at >= len(exprs) {
			return false
		}
		s, ok := exprs[at].(*query.Slot)
		if !ok {
			return false
		}
		out[i] = s.N
	}
	return f.below(n, out, filter, inside)
}

// belowJoin is below for the side of a join that the slots come from, if a row of it is needed only
// for results that have its values.
func (f *filters) belowJoin(
	kind query.JoinKind, left, right plan.Node, slots []int, filter plan.KeyFilter, inside bool,
) bool {
	width := len(left.Output())
	switch {
	case kind == query.RightSemi || kind == query.RightAnti:
		return f.below(right, slots, filter, inside)
	case within(slots, 0, width):
		return kind != query.Right && kind != query.Full && f.below(left, slots, filter, inside)
	case within(slots, width, width+len(right.Output())):
		moved := slices.Clone(slots)
		for i := range moved {
			moved[i] -= width
		}
		return (kind == query.Inner || kind == query.Right) && f.below(right, moved, filter, inside)
	}
	return false
}

func within(slots []int, from, to int) bool {
	return !slices.ContainsFunc(slots, func(s int) bool { return s < from || s >= to })
}

// volatile reports whether a step calls volatile functions, which must see each row.
func volatile(n plan.Node) bool {
	return slices.ContainsFunc(walk.Exprs(n), func(e query.Expr) bool {
		found := false
		if e != nil {
			walk.Visit(e, func(x query.Expr) {
				c, call := x.(*query.Call)
				s, sub := x.(*plan.SubPlan)
				found = found || call && c.Proc.Volatility == 'v' || sub && s.Volatile
			})
		}
		return found
	})
}
