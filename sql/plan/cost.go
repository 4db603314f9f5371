package plan

import (
	"math"

	"github.com/sherddb/sherd/sql/plan/joinorder"
	"github.com/sherddb/sherd/sql/query"
)

// costs is what a step costs with those below it, in rows that are read in sequence: before its
// first row, and in all.
type costs struct{ startup, total float64 }

// blocks returns the costs of a step that returns nothing until it has done some work.
func (c costs) blocks(work float64) costs { return costs{c.total + work, c.total + work} }

// plus returns the costs of a step with more work, a part of it before its first row.
func (c costs) plus(startup, total float64) costs { return costs{c.startup + startup, c.total + total} }

// Costs of the work of steps, in rows that are read in sequence.
const (
	costTest  = 0.25 // of a condition or an aggregate, for a row
	costGroup = 1.0  // of a row that is put into a group
	costWrite = 5.0  // of a row that is written
	costRound = 100  // of a request for one row
)

// cost is what a step costs in all.
func (x *estimates) cost(n Node) float64 { return x.costs(n).total }

func (x *estimates) costs(n Node) costs {
	if e, ok := x.done[n]; ok {
		return costs{e.Startup, e.Total}
	}
	c := x.costsOf(n)
	for _, s := range subPlans(n) {
		rows := 1.0
		if in := n.Children(); len(in) > 0 {
			rows = x.rows(in[0])
		}
		run, hash := x.subPlanCosts(s, rows)
		if hash > 0 {
			run = min(run, hash)
		}
		c = c.plus(0, run)
	}
	return c
}

// requests is what the requests cost to which a step leads each time that it runs for a row. Those of
// many rows are sent together, but for those that need what the step itself has read.
func (x *estimates) requests(n Node) float64 {
	switch n := n.(type) {
	case *Gather:
		switch {
		case x.alone:
			return costRound
		case n.Route.Everywhere():
			return costAsk
		}
		return joinorder.CostLookup
	case *LookupJoin:
		return x.requests(n.Join.Left) + costRound
	case *NestLoop:
		if len(n.Binds) > 0 {
			return x.requests(n.Left) + x.rows(n.Left)*x.requests(n.Right)
		}
	}
	sum := 0.0
	for _, c := range n.Children() {
		sum += x.requests(c)
	}
	return sum
}

// costsOf returns the costs of a step without the subqueries in its expressions.
func (x *estimates) costsOf(n Node) costs {
	switch n := n.(type) {
	case *Scan:
		return x.scanCosts(n)
	case *Gather:
		return x.costs(n.Child).plus(0, x.rows(n)*joinorder.CostSend)
	case *Filter:
		return x.costs(n.Child).plus(0, x.rows(n.Child)*costTest)
	case *Project:
		return x.costs(n.Child).plus(0, x.rows(n)*costTest*float64(computed(n.Exprs)))
	case *Sort:
		return x.sortCosts(n)
	case *Limit:
		return x.limitCosts(n)
	case *Aggregate:
		work := x.rows(n.Child) * costTest * float64(max(1, len(n.Aggs)))
		if n.Sorted {
			return x.costs(n.Child).plus(work/max(1, x.rows(n)), work+x.rows(n)*costTest)
		}
		if len(n.Keys) > 0 {
			work += x.rows(n.Child) * costGroup
		}
		return x.costs(n.Child).blocks(work).plus(0, x.rows(n)*costTest)
	case *Distinct:
		if n.Sorted {
			return x.costs(n.Child).plus(0, x.rows(n.Child)*costTest)
		}
		return x.costs(n.Child).plus(0, x.rows(n.Child)*costGroup)
	case *Window:
		rows := x.rows(n.Child)
		return x.costs(n.Child).blocks(costSort*rows*math.Log2(rows+2)).plus(0, rows*costTest*float64(len(n.Calls)))
	}
	return x.combiningCosts(n)
}

// sortCosts has a sort take all rows before it returns the first, or one group after the other.
func (x *estimates) sortCosts(n *Sort) costs {
	c, rows := x.costs(n.Child), max(1, x.rows(n.Child))
	if n.Presorted == 0 {
		kept := min(rows, 2*limitOf(n.Limit))
		return c.blocks(sortWork(rows, kept)).plus(0, costTest*x.rows(n))
	}
	groups := x.groups(n.Child, n.Keys[:n.Presorted], rows)
	group, wanted := rows/groups, rows
	if n.Limit != nil {
		wanted = min(rows, x.rows(n)+group)
	}
	perRow := (c.total - c.startup) / rows
	return costs{
		c.startup + group*perRow + sortWork(group, group),
		c.startup + wanted*perRow + sortWork(wanted, group) + costTest*x.rows(n),
	}
}

// computed is how many of the expressions are more than a slot or a constant.
func computed(es []query.Expr) (n int) {
	for _, e := range es {
		switch e.(type) {
		case *query.Slot, *query.Const:
		default:
			n++
		}
	}
	return n
}

// combiningCosts returns the costs of steps with several inputs, and of those that write or lock.
func (x *estimates) combiningCosts(n Node) costs {
	switch n := n.(type) {
	case *HashJoin:
		left, right, build := x.costs(n.Left), x.costs(n.Right), x.rows(n.Right)*joinorder.CostBuild
		work := x.rows(n.Left)*joinorder.CostProbe + x.rows(n)*joinorder.CostResult
		return left.plus(right.total+build, right.total+build+work)
	case *LookupJoin:
		left, each := n.Join.Left, x.lookups[n]
		return x.costs(left).plus(0, x.rows(left)*each+x.rows(n)*joinorder.CostResult)
	case *NestLoop:
		return x.loopCosts(n)
	case *SetOperation:
		return x.costs(n.Left).plus(0, x.cost(n.Right)).blocks((x.rows(n.Left) + x.rows(n.Right)) * costGroup)
	case *With:
		before := 0.0
		for _, c := range n.CTEs {
			if before += x.cost(c.Plan); c.Step != nil {
				before += stepFactor * x.cost(c.Step)
			}
		}
		return x.costs(n.Child).plus(before, before)
	case *Modify:
		return x.costs(n.Child).plus(0, x.rows(n.Child)*costWrite)
	case *Merge:
		return x.costs(n.Child).plus(0, x.rows(n.Child)*costWrite)
	}
	in := n.Children()
	if len(in) == 0 {
		return costs{total: x.rows(n)}
	}
	c := x.costs(in[0])
	for _, more := range in[1:] {
		c.total += x.cost(more)
	}
	return c.plus(0, x.rows(n)*costTest)
}

func (x *estimates) scanCosts(s *Scan) costs {
	if c, ok := x.costOf[s]; ok {
		return c
	}
	if s.Access == ScanBuckets {
		return costs{total: x.tableRows(s.Table)}
	}
	return costs{total: x.rows(s) * costEntry}
}

// limitCosts has a step run until it has enough rows.
func (x *estimates) limitCosts(n *Limit) costs {
	c, all, skipped := x.costs(n.Child), max(1, x.rows(n.Child)), 0.0
	if n.Offset != nil {
		skipped = limitOf(n.Offset)
	}
	share := func(rows float64) float64 { return c.startup + (c.total-c.startup)*min(1, rows/all) }
	return costs{share(skipped), share(skipped + limitOf(n.Count))}
}

// loopCosts has the right side of a loop run for each row of the left one, or once if it does not
// depend on it.
func (x *estimates) loopCosts(n *NestLoop) costs {
	left, right := x.costs(n.Left), x.costs(n.Right)
	loops := max(1, x.rows(n.Left))
	work := x.rows(n) * joinorder.CostResult
	if len(n.Binds) > 0 {
		return left.plus(right.startup, loops*right.total+work)
	}
	if n.On != nil || n.Kind != query.Inner {
		work += loops * x.rows(n.Right) * joinorder.CostPair
	}
	return left.plus(right.startup, right.total+work)
}

// rightOnly reports whether a step is a join that returns right columns only.
func rightOnly(n Node) bool {
	h, ok := n.(*HashJoin)
	return ok && (h.Kind == query.RightSemi || h.Kind == query.RightAnti)
}

// meets estimates the share of a join's left rows that meet a right one: how many of the values that
// the keys have are on the right, if those on one side are among those on the other.
func (x *estimates) meets(n *HashJoin) float64 {
	right, known := x.groupsOf(n.Right, n.RightKeys)
	left, also := x.groupsOf(n.Left, n.LeftKeys)
	if !known || !also {
		return min(1, x.rows(n.Right)/max(1, x.rows(n.Left)))
	}
	values := max(left, right)
	for i := range n.LeftKeys {
		values = max(values, x.distinct(n.Left, n.LeftKeys[i]), x.distinct(n.Right, n.RightKeys[i]))
	}
	return right / max(1, values)
}

// distinct returns how many values an expression over the rows of a step has in the whole table that
// it comes from; 0 if that is not known.
func (x *estimates) distinct(n Node, e query.Expr) float64 {
	s, e := origin(n, e)
	if s == nil {
		return 0
	}
	if of := x.columnsOf(&matcher{s: s}, nil); of != nil {
		if v, ok := of(e); ok && v.Known() {
			return v.Distinct()
		}
	}
	return 0
}

// wholeCost is what it costs to read all of the right side and to compare it with rows of the left.
func (j joining) wholeCost(rows float64, right part) float64 {
	n := j.est.rows(right.node)
	if len(j.eqs) == 0 || j.env.Off.HashJoin {
		return j.est.cost(right.node) + n*(joinorder.CostSend+rows*joinorder.CostPair)
	}
	return j.est.cost(right.node) + n*(joinorder.CostSend+joinorder.CostBuild)
}
