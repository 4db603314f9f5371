package plan

import (
	"github.com/sherddb/sherd/sql/query"
)

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
