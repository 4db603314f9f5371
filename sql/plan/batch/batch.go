package batch

import (
	"maps"
	"slices"

	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/plan/walk"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// Plan has the parts of p that run once for each row read in batches.
func Plan(p *plan.Plan) {
	b := &batcher{plan: p, done: map[plan.Node]plan.Node{}}
	p.Root = b.node(p.Root)
}

type batcher struct {
	plan    *plan.Plan
	numbers int
	done    map[plan.Node]plan.Node
}

// node returns a step, and all that is below it, with Batches.
func (b *batcher) node(n plan.Node) plan.Node {
	if out, ok := b.done[n]; ok {
		return out
	}
	out := b.step(n)
	b.done[out] = out
	replaceInputs(out, b.node)
	for _, e := range walk.Exprs(out) {
		walk.Visit(e, func(x query.Expr) {
			if s, ok := x.(*plan.SubPlan); ok {
				s.Plan = b.node(s.Plan)
			}
		})
	}
	b.done[n] = out
	return out
}

// step puts Batches on the inputs of a step, and returns the step or one above it.
func (b *batcher) step(n plan.Node) plan.Node {
	if slices.ContainsFunc(n.Children(), changes) {
		return n
	}
	switch n := n.(type) {
	case *plan.NestLoop:
		if len(n.Binds) > 0 && !plan.AtMostOne(n.Left) {
			n.Left = b.over(n.Left, b.reads(n.Right, n.Binds, nil))
		}
		n.Left = b.over(n.Left, b.subqueries(bound(n.Binds)...))
		if n.Kind == query.Inner {
			return b.above(n, &n.On)
		}
	case *plan.HashJoin:
		return b.hashJoin(n, n)
	case *plan.LookupJoin:
		return b.hashJoin(n, n.Join)
	case *plan.Filter:
		return b.filter(n)
	case *plan.Project:
		n.Child = b.over(n.Child, b.subqueries(n.Exprs...))
	case *plan.Aggregate:
		exprs := slices.Clone(n.Keys)
		for _, a := range n.Aggs {
			if a.Filter == nil {
				exprs = append(exprs, a.Args...)
			}
		}
		if n.Mode != plan.AggFinal {
			n.Child = b.over(n.Child, b.subqueries(exprs...))
		}
	case *plan.Modify:
		b.assigned(n)
	}
	return n
}

// assigned has an UPDATE of one table take what it assigns from subqueries from a projection of its
// rows, since it writes none of them before it has all.
func (b *batcher) assigned(n *plan.Modify) {
	if n.Kind != plan.ModUpdate || !oneScan(n.Child) {
		return
	}
	p := &plan.Project{Base: plan.Base{Cols: slices.Clone(n.Child.Output())}, Child: n.Child}
	for i, c := range p.Cols {
		p.Exprs = append(p.Exprs, &query.Slot{T: query.T{OID: c.Type, Mod: c.Typmod}, N: i, Name: c.Name})
	}
	width := len(p.Cols)
	n.Assign = slices.Clone(n.Assign)
	for i := range n.Assign {
		a := &n.Assign[i]
		if e := a.Expr; b.hasReads(e) {
			s := &query.Slot{T: query.T{OID: e.Type(), Mod: e.Typmod()}, N: len(p.Cols), Name: "?column?"}
			p.Exprs, p.Cols = append(p.Exprs, e), append(p.Cols, plan.Col{Name: s.Name, Type: s.OID, Typmod: s.Mod})
			a.Expr = s
		}
	}
	if len(p.Cols) > width {
		b.estimate(p, n.Child)
		n.Child = p
	}
}

// oneScan reports whether a step returns rows of one table, each once.
func oneScan(n plan.Node) bool {
	switch n := n.(type) {
	case *plan.Gather:
		return oneScan(n.Child)
	case *plan.Scan:
		return true
	}
	return false
}

func bound(binds []plan.Bind) (out []query.Expr) {
	for _, x := range binds {
		out = append(out, x.Expr)
	}
	return out
}

// hashJoin puts Batches on the inputs of j, which n is or has.
func (b *batcher) hashJoin(n plan.Node, j *plan.HashJoin) plan.Node {
	j.Left = b.over(j.Left, b.subqueries(j.LeftKeys...))
	j.Right = b.over(j.Right, b.subqueries(j.RightKeys...))
	if j.Kind == query.Inner {
		return b.above(n, &j.On)
	}
	return n
}

// above takes the conditions with correlated subqueries from an inner join to a filter above it.
func (b *batcher) above(join plan.Node, on *query.Expr) plan.Node {
	var stay, over []query.Expr
	for _, c := range plan.Conjuncts(*on) {
		if b.hasReads(c) {
			over = append(over, c)
		} else {
			stay = append(stay, c)
		}
	}
	if len(over) == 0 {
		return join
	}
	*on = plan.Conjunction(stay)
	f := &plan.Filter{Base: plan.Base{Cols: join.Output()}, Child: join, Cond: plan.Conjunction(over)}
	b.estimate(f, join)
	return b.filter(f)
}

// filter puts a Batch below each condition with correlated subqueries, the others first: rows that
// they remove need no subquery.
func (b *batcher) filter(n *plan.Filter) plan.Node {
	var first, later []query.Expr
	for _, c := range plan.Conjuncts(n.Cond) {
		if b.hasReads(c) {
			later = append(later, c)
		} else {
			first = append(first, c)
		}
	}
	if len(later) == 0 {
		return n
	}
	if len(first) > 0 {
		later = append([]query.Expr{plan.Conjunction(first)}, later...)
	}
	for _, c := range later[:len(later)-1] {
		below := &plan.Filter{Base: n.Base, Child: b.over(n.Child, b.subqueries(c)), Cond: c}
		b.estimate(below, n)
		n.Child = below
	}
	n.Cond = later[len(later)-1]
	n.Child = b.over(n.Child, b.subqueries(n.Cond))
	return n
}

// estimate has EXPLAIN show for a new step what was estimated of another one.
func (b *batcher) estimate(n, like plan.Node) {
	if e, ok := b.plan.Estimates[like]; ok {
		b.plan.Estimates[n] = e
	}
}

// over returns a Batch of n's rows, or n if nothing is read ahead.
func (b *batcher) over(n plan.Node, reads []plan.BatchRead) plan.Node {
	if len(reads) == 0 {
		return n
	}
	return &plan.Batch{Base: plan.Base{Cols: n.Output()}, Child: n, Reads: reads}
}

// reads numbers the Gathers of a part that runs after binds, for rows for which need is true.
func (b *batcher) reads(part plan.Node, binds []plan.Bind, need query.Expr) (out []plan.BatchRead) {
	for _, g := range readable(part) {
		b.numbers++
		g.Batch = b.numbers
		free := map[int]bool{}
		walk.FreeOuters(g, free)
		cols := append(slices.Clone(g.Child.Output()), plan.Col{Name: "set", Type: types.Int4, Typmod: -1})
		g.Child = &plan.Each{
			Base: plan.Base{Cols: cols}, Child: g.Child, Params: slices.Sorted(maps.Keys(free)), Sets: b.plan.Outers,
			Route: g.Route,
		}
		b.plan.Outers++
		out = append(out, plan.BatchRead{Gather: g.Batch, Binds: binds, Need: need})
	}
	return out
}

// readable lists the Gathers of a part that can be read before the part runs (BA1, BA2).
func readable(part plan.Node) (out []*plan.Gather) {
	inside := map[int]bool{}
	walk.SetOuters(part, inside)
	var visit func(plan.Node)
	visit = func(n plan.Node) {
		g, ok := n.(*plan.Gather)
		if !ok {
			for _, c := range n.Children() {
				visit(c)
			}
			return
		}
		free := map[int]bool{}
		walk.FreeOuters(g, free)
		for p := range free {
			if inside[p] {
				return
			}
		}
		if g.Batch == 0 && g.Route.Index == nil && !changes(g.Child) && !slices.Contains(out, g) {
			out = append(out, g)
		}
	}
	visit(part)
	return out
}

func changes(n plan.Node) bool {
	switch n.(type) {
	case *plan.LockRows, *plan.Modify, *plan.Merge:
		return true
	}
	return slices.ContainsFunc(n.Children(), changes)
}

// subqueries numbers the Gathers of the correlated subqueries in expressions that are evaluated for
// each row.
func (b *batcher) subqueries(es ...query.Expr) (out []plan.BatchRead) {
	for _, e := range es {
		eachSubquery(e, nil, func(s *plan.SubPlan, need query.Expr) {
			out = append(out, b.reads(s.Plan, s.Binds, need)...)
		})
	}
	return out
}

// hasReads reports whether subqueries would find something in an expression.
func (b *batcher) hasReads(e query.Expr) (found bool) {
	eachSubquery(e, nil, func(s *plan.SubPlan, _ query.Expr) { found = found || len(readable(s.Plan)) > 0 })
	return found
}
