package exec

import (
	"context"
	"time"

	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// Eval is a compiled expression. It has its own scratch space (E2); its value may alias the row.
type Eval func(c *Ctx, row types.Row) (types.Datum, error)

// foldLimit limits the evaluation of an expression while a statement is planned. If it takes
// longer, the expression is evaluated when the statement runs, and can be cancelled then.
const foldLimit = 100 * time.Millisecond

// EvalConst evaluates an expression without slots, parameters and subqueries in the default
// environment, as constant folding does.
func EvalConst(e query.Expr) (types.Datum, error) {
	f, err := (&compiler{}).expr(e)
	if err != nil {
		return types.Null, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), foldLimit)
	defer cancel()
	d, err := f(&Ctx{run: 1, Context: ctx}, nil)
	return d.Clone(), err
}

// CompileExpr compiles a single expression over a row, for callers that have no plan: DEFAULT
// values, CHECKs of COPY.
func CompileExpr(e query.Expr) (Eval, error) { return (&compiler{}).expr(e) }

// exprs compiles a list.
func (k *compiler) exprs(es []query.Expr) ([]Eval, error) {
	out := make([]Eval, len(es))
	for i, e := range es {
		f, err := k.expr(e)
		if err != nil {
			return nil, err
		}
		out[i] = f
	}
	return out, nil
}

// optional compiles e; it returns nil for nil.
func (k *compiler) optional(e query.Expr) (Eval, error) {
	if e == nil {
		return nil, nil
	}
	return k.expr(e)
}

// expr compiles e.
func (k *compiler) expr(e query.Expr) (Eval, error) {
	switch n := e.(type) {
	case *query.Const:
		d := n.Value
		return func(*Ctx, types.Row) (types.Datum, error) { return d, nil }, nil
	case *query.Param:
		i := n.N
		return func(c *Ctx, _ types.Row) (types.Datum, error) { return c.param(i) }, nil
	case *plan.Slot:
		i := n.N
		return func(_ *Ctx, row types.Row) (types.Datum, error) { return row[i], nil }, nil
	case *plan.Outer:
		i := n.N
		return func(c *Ctx, _ types.Row) (types.Datum, error) { return c.outer(i), nil }, nil
	case *query.Element:
		return func(c *Ctx, _ types.Row) (types.Datum, error) { return c.element(), nil }, nil
	case *query.SubColumn:
		i := n.N
		return func(c *Ctx, _ types.Row) (types.Datum, error) { return c.columns[i], nil }, nil
	case *query.Call:
		return k.call(n)
	case *query.Relabel:
		return k.relabel(n)
	case *query.CoerceIO:
		return k.coerceIO(n)
	case *query.ArrayCoerce:
		return k.arrayCoerce(n)
	case *query.And:
		return k.and(n)
	case *query.Or:
		return k.or(n)
	case *query.Not:
		return k.not(n)
	}
	return k.testExpr(e)
}

// testExpr compiles tests and conditionals.
func (k *compiler) testExpr(e query.Expr) (Eval, error) {
	switch n := e.(type) {
	case *query.NullTest:
		return k.nullTest(n)
	case *query.BoolTest:
		return k.boolTest(n)
	case *query.Distinct:
		return k.distinct(n)
	case *query.NullIf:
		return k.nullIf(n)
	case *query.ArrayOp:
		return k.arrayOp(n)
	case *query.Case:
		return k.caseExpr(n)
	case *query.Coalesce:
		return k.coalesce(n)
	case *query.MinMax:
		return k.minMax(n)
	case *plan.SubPlan:
		return k.subPlan(n)
	}
	return k.valueExpr(e)
}

// valueExpr compiles constructors and accessors of composed values.
func (k *compiler) valueExpr(e query.Expr) (Eval, error) {
	switch n := e.(type) {
	case *query.Array:
		return k.array(n)
	case *query.Row:
		return k.row(n)
	case *query.RowCompare:
		return k.rowCompare(n)
	case *query.Subscript:
		return k.subscript(n)
	case *query.Field:
		return k.field(n)
	case *plan.Pick:
		return k.pick(n)
	case *query.SQLValue:
		return k.sqlValue(n)
	case *query.Var:
		return nil, internal("column %q has not been planned", n.Name)
	case *query.Default:
		return nil, internal("DEFAULT has not been replaced")
	case nil:
		return nil, internal("expression is missing")
	}
	return nil, internal("expression %T cannot be run here", e)
}

// isTrue evaluates a condition. Null counts as false.
func isTrue(c *Ctx, cond Eval, row types.Row) (bool, error) {
	d, err := cond(c, row)
	return d.K == types.KindBool && d.N != 0, err
}
