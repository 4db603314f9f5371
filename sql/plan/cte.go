package plan

import (
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
