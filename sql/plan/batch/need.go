package batch

import (
	"slices"

	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/plan/walk"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// eachSubquery calls f for the correlated subqueries in an expression, with the condition for rows
// for which they are evaluated, besides those in need; nil is all rows. Subqueries whose condition
// has a subquery itself are left out.
func eachSubquery(e query.Expr, need []query.Expr, f func(*plan.SubPlan, query.Expr)) {
	// inTurn visits expressions. Each is evaluated only if test is true of those before it.
	inTurn := func(es []query.Expr, test func(query.Expr) query.Expr) {
		before := slices.Clone(need)
		for _, x := range es {
			eachSubquery(x, before, f)
			before = append(before, test(x))
		}
	}
	switch n := e.(type) {
	case nil:
	case *plan.SubPlan:
		if len(n.Binds) > 0 && !walk.HasSubPlan(need...) {
			f(n, plan.Conjunction(need))
		}
	case *query.And:
		inTurn(n.Args, func(x query.Expr) query.Expr { return truth(x, 'f', true) })
	case *query.Or:
		inTurn(n.Args, func(x query.Expr) query.Expr { return truth(x, 't', true) })
	case *query.Coalesce:
		inTurn(n.Args, func(x query.Expr) query.Expr { return &query.NullTest{T: query.Of(types.Bool), Arg: x} })
	case *query.Case:
		if n.Arg != nil {
			eachSubquery(n.Arg, need, f)
			return
		}
		before := slices.Clone(need)
		for _, w := range n.Whens {
			eachSubquery(w.Cond, before, f)
			eachSubquery(w.Result, append(slices.Clone(before), truth(w.Cond, 't', false)), f)
			before = append(before, truth(w.Cond, 't', true))
		}
		eachSubquery(n.Else, before, f)
	default:
		query.MapInputs(e, func(x query.Expr) query.Expr {
			eachSubquery(x, need, f)
			return x
		})
	}
}

// truth is a test whether a condition is true, or false, or not.
func truth(e query.Expr, value byte, not bool) query.Expr {
	return &query.BoolTest{T: query.Of(types.Bool), Arg: e, Value: value, Not: not}
}
