package plan

import (
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/query"
)

// ctePlans plans the WITH list of l: each is materialised once a statement. A recursive one is the
// two sides of its UNION.
func (p *planner) ctePlans(l *level) ([]CTEPlan, error) {
	var out []CTEPlan
	for _, c := range l.q.CTEs {
		if inlined(c) && namesCTE(l.q, c) {
			continue
		}
		id := p.ctes
		p.ctes++
		l.ctes[c] = id
		cp := CTEPlan{ID: id, Name: c.Name}
		var err error
		if c.Recursive && c.Query.SetOp != nil {
			err = p.recursive(l, c, &cp)
		} else {
			cp.Plan, err = p.child(l, c.Query)
		}
		if err != nil {
			return nil, err
		}
		rows := p.est.rows(cp.Plan)
		if cp.Step != nil {
			rows += stepFactor * p.est.rows(cp.Step)
		}
		p.est.ctes[cteRows{id: id}] = rows
		out = append(out, cp)
	}
	return out, nil
}

// namesCTE reports whether c is an item of q's own FROM.
func namesCTE(q *query.Query, c *query.CTE) bool {
	for _, r := range q.Rels {
		if r.Kind == query.RelCTE && r.CTE == c {
			return true
		}
	}
	return false
}

func (p *planner) child(l *level, q *query.Query) (Node, error) {
	sub, err := p.query(&level{up: l, q: q})
	if err != nil {
		return nil, err
	}
	return p.gather(sub, nil).node, nil
}

// stepFactor is how many times the rows of its first part the step of a recursive query reads each
// time, and how often it runs, as PostgreSQL guesses.
const stepFactor = 10

func (p *planner) recursive(l *level, c *query.CTE, cp *CTEPlan) error {
	op := c.Query.SetOp
	if op.Kind != query.Union {
		return pgerr.New(pgerr.InvalidRecursion,
			"recursive query %q does not have the form non-recursive-term UNION [ALL] recursive-term", c.Name)
	}
	whole := &level{up: l, q: c.Query, ctes: map[*query.CTE]int{}}
	withs, err := p.ctePlans(whole)
	if err != nil {
		return err
	}
	if cp.Plan, err = p.child(whole, op.Left); err != nil {
		return err
	}
	p.est.ctes[cteRows{cp.ID, true}] = stepFactor * p.est.rows(cp.Plan)
	if cp.Step, err = p.child(whole, op.Right); err != nil {
		return err
	}
	cp.Distinct = !op.All
	if len(withs) > 0 { // each side makes its own
		cp.Plan = &With{Base: Base{cp.Plan.Output()}, CTEs: withs, Child: cp.Plan}
		cp.Step = &With{Base: Base{cp.Step.Output()}, CTEs: withs, Child: cp.Step}
	}
	return nil
}

// inlined reports whether a WITH query is planned where it is named: it is named once, by the query
// that declares it, and neither writes nor calls anything volatile. Its conditions and routes then
// meet those of that query.
func inlined(c *query.CTE) bool {
	return c.Refs == 1 && c.Materialized != 'm' && !c.Recursive && c.Query.Command == query.Select &&
		!volatileQuery(c.Query) && len(c.Query.Locking) == 0
}

func (p *planner) cteScan(l *level, n int, conds []query.Expr) (part, error) {
	r := l.q.Rels[n]
	if inlined(r.CTE) && declares(l.q, r.CTE) {
		return p.subselect(l, n, r.CTE.Query, conds)
	}
	s := &CTEScan{Alias: r.Alias}
	in := newLayout()
	for i, c := range r.Columns {
		s.Cols = append(s.Cols, Col{c.Name, c.Type, c.Typmod})
		in.slots[varKey{n, i}] = i
	}
	found := false
	for up := l; up != nil && !found; up = up.up {
		if id, ok := up.ctes[r.CTE]; ok {
			s.ID, found = id, true
		}
	}
	if !found {
		return part{}, pgerr.New(pgerr.InternalError, "common table expression %q has no plan", r.Alias)
	}
	s.Work = r.CTE.Recursive && insideCTE(l, r.CTE)
	return p.filter(l, part{node: s, in: in}, conds)
}

// insideCTE reports whether l is part of the recursive query of c itself.
func insideCTE(l *level, c *query.CTE) bool {
	for ; l != nil; l = l.up {
		if l.q == c.Query {
			return true
		}
	}
	return false
}

// declares reports whether c is in q's own WITH list.
func declares(q *query.Query, c *query.CTE) bool {
	for _, x := range q.CTEs {
		if x == c {
			return true
		}
	}
	return false
}

// Subqueries that run once, before the query.

// hoist replaces the subqueries of a condition, and the calls that only the gateway can run, by
// parameters, where each has one value for the whole query: it reads nothing of the row and calls
// nothing volatile. They run once, before the query, so that the condition can run in the fragments
// and route to them. Only conditions that are asked of every row come here: a subquery that a CASE
// may skip must not be run in advance.
func (p *planner) hoist(l *level, cond query.Expr) query.Expr {
	switch cond.(type) {
	case *query.Call, *query.ArrayOp, *query.Not, *SubPlan, *query.NullTest:
	default:
		return cond
	}
	return query.Rewrite(cond, func(x query.Expr) (query.Expr, bool) {
		switch s := x.(type) {
		case *SubPlan:
			if len(s.Binds) > 0 || s.Volatile ||
				s.Kind != query.SubScalar && s.Kind != query.SubExists && s.Kind != query.SubArray {
				return x, true
			}
			o := &query.Outer{T: s.T, N: p.outers}
			p.outers++
			l.inits = append(l.inits, Bind{o.N, s})
			return o, true
		case *query.Case, *query.Coalesce, *query.And, *query.Or:
			return x, true
		case *query.Call, *query.CoerceIO:
			if !asksGateway(x) || !once(x) {
				return nil, false
			}
			o := &query.Outer{T: query.T{OID: x.Type(), Mod: x.Typmod()}, N: p.outers, Of: x}
			p.outers++
			l.inits = append(l.inits, Bind{o.N, x})
			return o, true
		}
		return nil, false
	})
}

// initPlans runs the hoisted subqueries before out: a loop over one empty row binds them.
func (p *planner) initPlans(l *level, out part) part {
	if len(l.inits) == 0 {
		return out
	}
	out = p.gather(out, nil)
	nothing := &Values{Rows: [][]query.Expr{{}}}
	out.node = &NestLoop{
		Base: Base{out.node.Output()}, Kind: query.Inner, Left: nothing, Right: out.node, Binds: l.inits,
	}
	return out
}

// hotSums is what the parts of a table's split documents add up to, read once for the statement.
type hotSums struct {
	table *catalog.Table
	value *query.Outer
	plan  *SubPlan
}

// sums returns what a scan has to add to the counters of split documents; nil where it reads no
// counter, or no caller asks for them.
func (p *planner) sums(s *Scan) (query.Expr, error) {
	if p.env.Sums == nil || !ReadsCounters(s) {
		return nil, nil
	}
	for _, h := range p.hot {
		if h.table.OID == s.Table.OID {
			return h.value, nil
		}
	}
	q, err := p.env.Sums(s.Table)
	if q == nil || err != nil {
		return nil, err
	}
	sub, err := p.query(&level{q: q})
	if err != nil {
		return nil, err
	}
	t := query.T{OID: q.Targets[0].Expr.Type(), Mod: -1}
	p.subs++
	h := hotSums{s.Table, &query.Outer{T: t, N: p.outers}, &SubPlan{
		T: t, Kind: query.SubScalar, Plan: p.gather(sub, nil).node, Name: subPlanName(p.subs),
	}}
	p.outers++
	p.hot = append(p.hot, h)
	return h.value, nil
}

// ReadsCounters reports whether a scan reads a column with a counter that split documents of its
// table have.
func ReadsCounters(s *Scan) bool {
	h := s.Table.Hot
	return h != nil && slices.ContainsFunc(h.Counters, func(c catalog.Counter) bool {
		return slices.Contains(s.Slots, int(c.Column)-1)
	})
}

// withSums reads the sums before the statement.
func (p *planner) withSums(n Node) Node {
	if len(p.hot) == 0 {
		return n
	}
	var binds []Bind
	for _, h := range p.hot {
		binds = append(binds, Bind{h.value.N, h.plan})
	}
	nothing := &Values{Rows: [][]query.Expr{{}}}
	return &NestLoop{Base: Base{n.Output()}, Kind: query.Inner, Left: nothing, Right: n, Binds: binds}
}
