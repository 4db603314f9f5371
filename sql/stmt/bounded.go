package stmt

import (
	"math"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/statistics"
)

// isBounded reports whether the plan of a program reads few rows, whatever its arguments are: no more
// than planning costs. Subqueries in expressions are not counted.
func (c *Compiler) isBounded(p *Program) bool {
	subqueries := false
	query.WalkQuery(p.Query, func(e query.Expr, _ int) {
		if _, ok := e.(*query.SubLink); ok {
			subqueries = true
		}
	})
	r := reach{known: c.statistics()}
	return !subqueries && r.rows(p.Plan.Root) <= planCost
}

// reach is how many rows plans read at most, by what is known of tables; infinite if nothing is.
type reach struct {
	known func(*catalog.Table) *statistics.Table // may be nil
}

// rows returns how many rows a step and those below it read at most.
func (r reach) rows(n plan.Node) float64 {
	switch n := n.(type) {
	case *plan.Scan:
		return r.found(n)
	case *plan.Values:
		return float64(len(n.Rows))
	case *plan.NestLoop:
		left := r.rows(n.Left)
		return left + max(left, 1)*r.rows(n.Right)
	case *plan.HashJoin:
		left, right := r.rows(n.Left), r.rows(n.Right)
		return left + right + left*right
	case *plan.Project, *plan.Filter, *plan.Limit, *plan.Sort, *plan.Aggregate, *plan.Distinct, *plan.Gather,
		*plan.Batch, *plan.Each, *plan.LockRows, *plan.Modify, *plan.Merge, *plan.Append,
		*plan.SetOperation:
		sum := 0.0
		for _, c := range n.Children() {
			sum += r.rows(c)
		}
		return sum
	}
	return math.Inf(1)
}

// found returns how many rows a scan finds at most.
func (r reach) found(n *plan.Scan) float64 {
	var t *statistics.Table
	all := math.Inf(1)
	if r.known != nil {
		if t = r.known(n.Table); t != nil {
			all = t.Rows
		}
	}
	switch {
	case n.Access == plan.ScanKeys && n.KeyArray == nil:
		return float64(len(n.Keys))
	case n.Access == plan.ScanKeys:
		if list, ok := n.KeyArray.(*query.Array); ok {
			return float64(len(list.Elems))
		}
	case (n.Access == plan.ScanIndex || n.Access == plan.ScanFound) && n.Index != nil:
		return min(all, entries(n.Index, t))
	}
	return all
}

// entries returns how many entries of an index have values, if all are the most common ones.
func entries(x *plan.IndexScan, t *statistics.Table) float64 {
	combinations, most := 1.0, math.Inf(1)
	for i, values := range x.Equal {
		switch {
		case i < len(x.Arrays) && x.Arrays[i] != nil:
			return math.Inf(1)
		case len(values) == 0: // null
			continue
		}
		combinations *= float64(len(values))
		if c := t.Column(keyOf(x, i)); c != nil {
			most = min(most, c.MostRows(t.Rows))
		}
	}
	if x.Single() {
		most = 1
	}
	return combinations * most
}

// keyOf returns what the statistics of a column of an index are kept by.
func keyOf(x *plan.IndexScan, i int) statistics.Key {
	if v, ok := x.Index.Keys[i].(*query.Var); ok && v.Col >= 0 {
		return statistics.Key{Position: int16(x.Table.Columns[v.Col].AttNum)}
	}
	return statistics.Key{Index: uint32(x.Index.Def.OID), Position: int16(i + 1)}
}
