package plan

import (
	"github.com/sherddb/sherd/sql/plan/joinorder"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// subPlan plans the subquery of s, to run over rows laid out as in.
func (p *planner) subPlan(l *level, s *query.SubLink, in *layout) (query.Expr, error) {
	q := s.Query
	if s.Kind == query.SubExists {
		q = existsOnly(q)
	}
	child := &level{up: l, q: q}
	sub, err := p.query(child)
	if err != nil {
		return nil, err
	}
	p.subs++
	out := &SubPlan{
		T: s.T, Kind: s.Kind, Plan: p.gather(sub, nil).node, Name: subPlanName(p.subs),
		Volatile: volatileQuery(s.Query),
	}
	if out.Binds, err = p.binds(l, child, in); err != nil {
		return nil, err
	}
	if s.Test != nil {
		if out.Test, err = p.rewrite(l, s.Test, in); err != nil {
			return nil, err
		}
	}
	if s.Kind == query.SubExists && !out.Volatile && len(out.Binds) > 0 {
		return out, l.hashedExists(p, s, in, out)
	}
	if s.Kind == query.SubAny && s.Op == "=" && len(out.Binds) == 0 {
		for i, e := range s.Left {
			if !hashAlike(e.Type(), out.Plan.Output()[i].Type) {
				out.HashLeft = nil
				break
			}
			left, err := p.rewrite(l, e, in)
			if err != nil {
				return nil, err
			}
			out.HashLeft = append(out.HashLeft, left)
		}
	}
	return out, nil
}

// hashAlike reports whether equal values of two types have the same hash key.
func hashAlike(a, b types.OID) bool {
	return types.KindOf(a) == types.KindOf(b) && (a == types.BPChar) == (b == types.BPChar)
}

func (p *planner) binds(l, child *level, in *layout) ([]Bind, error) {
	var out []Bind
	for _, b := range child.binds {
		e, err := p.column(l, b.v, in)
		if err != nil {
			return nil, err
		}
		out = append(out, Bind{b.param, e})
	}
	return out, nil
}

// mostHashed is how many rows a hash table of EXISTS may have, which has to fit into memory.
const mostHashed = 1 << 20

// hashedExists plans the EXISTS of run, which runs for each row, as a hash table as well, if it is a
// search for rows with the values of the row around it. The cheaper of both is chosen when the plan
// is complete.
func (l *level) hashedExists(p *planner, s *query.SubLink, in *layout, run *SubPlan) error {
	sub, keys := keysOf(s.Query)
	if sub == nil {
		return nil
	}
	planned, err := p.query(&level{up: l, q: sub})
	if err != nil {
		return err
	}
	hashed := &SubPlan{T: s.T, Kind: query.SubExists, Plan: p.gather(planned, nil).node, Name: run.Name}
	if p.est.rows(hashed.Plan) > mostHashed {
		return nil
	}
	for _, k := range keys {
		left, err := p.rewrite(l, lowered(k.outer), in)
		if err != nil {
			return err
		}
		hashed.HashLeft = append(hashed.HashLeft, left)
	}
	p.est.hashed[run] = hashed
	return nil
}

// keysOf returns the query of the values for which an EXISTS is true, and the equalities with the row
// around it that it had; nil if it also reads other things of that row.
func keysOf(q *query.Query) (*query.Query, []groupKey) {
	q = pulledUp(q)
	if q.Command != query.Select || q.SetOp != nil || q.Values != nil || len(q.From) == 0 || len(q.CTEs) > 0 ||
		len(q.Locking) > 0 || q.HasAggs || q.GroupBy != nil || q.GroupingSets != nil || q.Having != nil ||
		q.HasWindow || q.HasSRFs || q.Offset != nil || q.Limit != nil && !atLeastOne(q.Limit) {
		return nil, nil
	}
	keys, conds := groupKeys(q)
	out := *q
	out.Where, out.Targets, out.OrderBy, out.Limit = Conjunction(conds), nil, nil, nil
	out.Distinct, out.DistinctOn = false, nil
	for _, k := range keys {
		if _, _, nulls, _ := hashable(k.cond); nulls || hasSubLink(k.cond) {
			return nil, nil
		}
		out.Targets = append(out.Targets, query.Target{Expr: k.inner, Name: nameOfColumn(k.inner)})
	}
	if len(keys) == 0 || readsAbove(&out) {
		return nil, nil
	}
	return &out, keys
}

// readsAbove reports whether a subquery reads columns of any query around it.
func readsAbove(q *query.Query) bool {
	found := false
	query.WalkQuery(q, func(e query.Expr, depth int) {
		switch n := e.(type) {
		case *query.Var:
			found = found || n.Up > depth
		case *query.Agg:
			found = found || n.Up > depth
		}
	})
	return found
}

// subPlanCosts returns what a subquery costs that a step evaluates for a number of rows, and what it
// costs as a hash table; that is 0 if it has none.
func (x *estimates) subPlanCosts(s *SubPlan, rows float64) (run, hash float64) {
	if len(s.Binds) == 0 {
		rows = 1
	}
	run = rows * (x.cost(s.Plan) + x.requests(s.Plan))
	if h := x.hashed[s]; h != nil {
		hash = x.cost(h.Plan) + x.rows(h.Plan)*joinorder.CostBuild + rows*joinorder.CostProbe
	}
	return run, hash
}

// chooseHashed has the subqueries of a step and of those below it run as hash tables if that costs
// less. share is the share of the rows of the step that are wanted.
func (x *estimates) chooseHashed(n Node, share float64) {
	in := n.Children()
	for _, s := range subPlans(n) {
		h := x.hashed[s]
		if h != nil && len(in) > 0 {
			if run, hash := x.subPlanCosts(s, max(1, share*x.rows(in[0]))); hash < run {
				*s = *h
			}
			delete(x.hashed, s)
		}
		x.chooseHashed(s.Plan, 1)
	}
	switch n := n.(type) {
	case *Limit:
		wanted := limitOf(n.Count)
		if n.Offset != nil {
			wanted += limitOf(n.Offset)
		}
		share = min(1, share*wanted/max(1, x.rows(n.Child)))
	case *Project, *Filter, *Gather:
	default:
		share = 1
	}
	for _, c := range in {
		x.chooseHashed(c, share)
	}
}
