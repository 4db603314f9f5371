package expr

import (
	"context"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// Eval is a compiled expression. Its value may alias the row.
type Eval func(c *Ctx, row types.Row) (types.Datum, error)

// foldLimit limits the evaluation of an expression while a statement is planned. If it takes
// longer, the expression is evaluated when the statement runs, and can be cancelled then.
const foldLimit = 100 * time.Millisecond

// EvalConst evaluates an expression without slots, parameters and subqueries in the default
// environment, as constant folding does.
func EvalConst(e query.Expr) (types.Datum, error) {
	f, err := Compile(e)
	if err != nil {
		return types.Null, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), foldLimit)
	defer cancel()
	d, err := f(&Ctx{Run: 1, Context: ctx}, nil)
	return d.Clone(), err
}

// Compile compiles a single expression over a row, for callers that have no plan: DEFAULT values,
// CHECKs of COPY.
func Compile(e query.Expr) (Eval, error) { return (&Compiler{}).Expr(e) }

// Compiler compiles the expressions of one instance of a plan. The zero value is ready for use.
type Compiler struct {
	Subqueries Subqueries // nil: there are none

	Scratch // of the compiled expressions
}

// Subqueries compiles the expressions that contain a plan.
type Subqueries interface {
	Subquery(e query.Expr) (Eval, error)
}

// Exprs compiles a list.
func (k *Compiler) Exprs(es []query.Expr) ([]Eval, error) {
	out := make([]Eval, len(es))
	for i, e := range es {
		f, err := k.Expr(e)
		if err != nil {
			return nil, err
		}
		out[i] = f
	}
	return out, nil
}

// Optional compiles e; it returns nil for nil.
func (k *Compiler) Optional(e query.Expr) (Eval, error) {
	if e == nil {
		return nil, nil
	}
	return k.Expr(e)
}

// Expr compiles e.
func (k *Compiler) Expr(e query.Expr) (Eval, error) {
	switch n := e.(type) {
	case *query.Const:
		d := n.Value
		return func(*Ctx, types.Row) (types.Datum, error) { return d, nil }, nil
	case *query.Param:
		i := n.N
		return func(c *Ctx, _ types.Row) (types.Datum, error) { return c.param(i) }, nil
	case *query.Slot:
		i := n.N
		return func(_ *Ctx, row types.Row) (types.Datum, error) { return row[i], nil }, nil
	case *query.Outer:
		i := n.N
		return func(c *Ctx, _ types.Row) (types.Datum, error) { return c.Outer(i), nil }, nil
	case *query.Element:
		return func(c *Ctx, _ types.Row) (types.Datum, error) { return c.element(), nil }, nil
	case *query.SubColumn:
		i := n.N
		return func(c *Ctx, _ types.Row) (types.Datum, error) { return c.Columns[i], nil }, nil
	case *query.Call:
		return k.call(n)
	case *query.Relabel:
		return k.relabel(n)
	case *query.CoerceIO:
		return k.coerceIO(n)
	case *query.ArrayCoerce:
		return k.arrayCoerce(n)
	case *query.RowCoerce:
		return k.rowCoerce(n)
	case *query.CoerceToDomain:
		return k.coerceToDomain(n)
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
func (k *Compiler) testExpr(e query.Expr) (Eval, error) {
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
	}
	return k.valueExpr(e)
}

// valueExpr compiles constructors and accessors of composed values.
func (k *Compiler) valueExpr(e query.Expr) (Eval, error) {
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
	case *query.Pick:
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
	if k.Subqueries != nil {
		return k.Subqueries.Subquery(e)
	}
	return nil, internal("expression %T cannot be run here", e)
}

// IsTrue evaluates a condition. Null counts as false.
func (f Eval) IsTrue(c *Ctx, row types.Row) (bool, error) {
	d, err := f(c, row)
	return d.K == types.KindBool && d.N != 0, err
}

// Holds evaluates a condition that may be missing; a nil condition is true.
func (f Eval) Holds(c *Ctx, row types.Row) (bool, error) {
	if f == nil {
		return true, nil
	}
	return f.IsTrue(c, row)
}

// Elements evaluates an array without a row and returns its elements, none of a null.
func (f Eval) Elements(c *Ctx) ([]types.Datum, error) {
	d, err := f(c, nil)
	if err != nil || d.IsNull() {
		return nil, err
	}
	a, err := types.ArrayOf(d)
	if err != nil {
		return nil, err
	}
	return a.Elems(), nil
}

// EvalInto evaluates fs over row into dst.
func EvalInto(c *Ctx, dst types.Row, fs []Eval, row types.Row) error {
	for i, f := range fs {
		d, err := f(c, row)
		if err != nil {
			return err
		}
		dst[i] = d
	}
	return nil
}

func internal(format string, args ...any) error {
	return pgerr.New(pgerr.InternalError, format, args...)
}
