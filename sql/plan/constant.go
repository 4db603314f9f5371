package plan

import (
	"errors"
	"slices"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// constants looks for a constant expression that fails, such as 1/0, where PostgreSQL's planner
// evaluates it: whether or not a row ever needs it, except behind a constant that decides an AND,
// an OR, a CASE or a COALESCE first.
type constants struct {
	fold func(query.Expr) (types.Datum, error)
	err  error
}

// failingConstant returns the error of the first constant expression of q that fails.
func failingConstant(q *query.Query, fold func(query.Expr) (types.Datum, error)) error {
	k := &constants{fold: fold}
	k.query(q)
	return k.err
}

// query looks at all expressions of a query that are planned.
func (k *constants) query(q *query.Query) {
	if q == nil || k.err != nil {
		return
	}
	for _, c := range q.CTEs {
		if c.Refs > 0 || c.Query.Command != query.Select {
			k.query(c.Query)
		}
	}
	need := neededColumns(q)
	for n, r := range q.Rels {
		if r.Kind == query.RelSubquery {
			k.query(pruned(r.Subquery, func(col int) bool {
				return need[varKey{n, col}] || need[varKey{n, query.ColWholeRow}]
			}))
		}
		for _, f := range r.Functions {
			k.expr(f.Call)
		}
	}
	for _, t := range q.Targets {
		k.expr(t.Expr)
	}
	k.all(append(slices.Clone(q.GroupBy), q.Where, q.Having, q.Limit, q.Offset, q.WithTies)...)
	for _, it := range q.From {
		k.from(it)
	}
	for _, row := range q.Values {
		k.all(row...)
	}
	for _, a := range q.Assign {
		k.expr(a.Expr)
	}
	k.query(q.Source)
	if q.SetOp != nil {
		k.query(q.SetOp.Left)
		k.query(q.SetOp.Right)
	}
}

func (k *constants) from(it query.From) {
	if j, ok := it.(*query.FromJoin); ok {
		k.from(j.Left)
		k.from(j.Right)
		k.expr(j.On)
	}
}

func (k *constants) all(es ...query.Expr) {
	for _, e := range es {
		k.expr(e)
	}
}

// expr returns what PostgreSQL's planner makes of e: a constant if it can.
func (k *constants) expr(e query.Expr) query.Expr {
	if k.err != nil {
		return e
	}
	switch n := e.(type) {
	case nil, *query.Const, *query.Param, *query.Var, *query.Element, *query.SubColumn, *query.SQLValue:
		return e
	case *query.And:
		return k.logic(e, n.Args, false)
	case *query.Or:
		return k.logic(e, n.Args, true)
	case *query.Case:
		return k.choice(n)
	case *query.Coalesce:
		for _, a := range n.Args {
			if c, ok := k.expr(a).(*query.Const); ok && !c.Value.IsNull() {
				break
			}
		}
		return e
	case *query.SubLink:
		k.expr(n.Test)
		sub := n.Query
		if n.Kind == query.SubExists {
			sub = existsOnly(sub)
		}
		k.query(sub)
		return e
	}
	return k.folded(e)
}

// folded evaluates e if all its inputs are constant.
func (k *constants) folded(e query.Expr) query.Expr {
	constant := true
	e = query.MapInputs(e, func(x query.Expr) query.Expr {
		x = k.expr(x)
		if _, ok := x.(*query.Const); !ok {
			constant = false
		}
		return x
	})
	if k.err != nil || !constant || !foldable(e) {
		return e
	}
	v, err := k.fold(e)
	var marked *pgerr.Error
	switch {
	case err == nil:
		return &query.Const{T: query.T{OID: e.Type(), Mod: e.Typmod()}, Value: v}
	case errors.As(err, &marked) && strings.HasPrefix(marked.Code, "22"):
		k.err = err
	}
	return e
}

// logic is AND (decisive false) and OR (decisive true).
func (k *constants) logic(e query.Expr, args []query.Expr, decisive bool) query.Expr {
	for _, a := range args {
		if c, ok := k.expr(a).(*query.Const); ok && !c.Value.IsNull() && c.Value.Bool() == decisive {
			return boolConst(decisive)
		}
	}
	return e
}

func (k *constants) choice(n *query.Case) query.Expr {
	arg, _ := k.expr(n.Arg).(*query.Const)
	for _, w := range n.Whens {
		cond := w.Cond
		if arg != nil {
			cond = query.Rewrite(cond, func(x query.Expr) (query.Expr, bool) {
				_, stands := x.(*query.Element)
				return arg, stands
			})
		}
		c, ok := k.expr(cond).(*query.Const)
		switch {
		case ok && (c.Value.IsNull() || !c.Value.Bool()):
		case ok:
			return k.expr(w.Result)
		default:
			k.expr(w.Result)
		}
	}
	k.expr(n.Else)
	return n
}

// pruned is a subquery without the expressions of the columns that are not needed: they become
// null. Those with an effect stay.
func pruned(q *query.Query, need func(col int) bool) *query.Query {
	if q.Command != query.Select || q.HasSRFs || q.HasWindow || q.Distinct || q.DistinctOn != nil ||
		q.SetOp != nil || q.Values != nil {
		return q
	}
	own := *q
	own.Targets = slices.Clone(q.Targets)
	for i, t := range q.Targets {
		sorts := slices.ContainsFunc(q.OrderBy, func(k query.SortKey) bool { return k.Target == i })
		if !sorts && !need(i) && !volatile(t.Expr) {
			own.Targets[i].Expr = &query.Const{T: query.T{OID: t.Expr.Type(), Mod: t.Expr.Typmod()}, Value: types.Null}
		}
	}
	return &own
}

// existsOnly is the subquery of EXISTS for one row, and without its select list if that does not
// decide whether there are rows.
func existsOnly(q *query.Query) *query.Query {
	if q.HasAggs || q.GroupBy != nil || q.GroupingSets != nil || q.Having != nil {
		return q
	}
	q = pruned(q, func(int) bool { return false })
	if q.Command != query.Select || q.Limit != nil {
		return q
	}
	own := *q
	own.Limit = intConst(types.Int8, 1)
	return &own
}
