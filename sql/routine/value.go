package routine

import (
	"context"
	"slices"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/function"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
)

// simple is an expression without tables (RT2).
type simple struct {
	e    query.Expr
	free free
}

// instance is a compiled expression. It has scratch space, so it serves one evaluation at a time.
type instance struct {
	expr.Compiler
	eval expr.Eval
}

// isSimple reports whether a query is one expression that needs no plan.
func isSimple(q *query.Query) bool {
	if q.Command != query.Select || len(q.Targets) != 1 || len(q.Rels) > 0 || len(q.CTEs) > 0 || q.Where != nil ||
		q.SetOp != nil || q.Values != nil || len(q.GroupBy) > 0 || q.GroupingSets != nil || q.Having != nil ||
		len(q.Windows) > 0 || q.Distinct || len(q.OrderBy) > 0 || q.Limit != nil || q.Offset != nil {
		return false
	}
	return isPlain(q.Targets[0].Expr)
}

// isPlain reports whether an expression needs no plan.
func isPlain(e query.Expr) bool {
	return !query.Contains(e, func(e query.Expr) bool { return !isStep(e) })
}

// isStep reports whether an expression, apart from what is in it, needs no plan.
func isStep(e query.Expr) bool {
	switch x := e.(type) {
	case *query.CoerceToDomain:
		return !slices.ContainsFunc(x.Checks, func(k query.DomainCheck) bool { return !isPlain(k.Expr) })
	case *query.SubLink, *query.Agg, *query.WindowCall, *query.Grouping, *query.Var:
		return false
	case *query.Call:
		return x.Proc == nil || !x.Proc.RetSet && x.Proc.Language == "" // functions of users run statements
	}
	return true
}

// evaluate returns the expression's value, which is valid until the next evaluation.
func (s *simple) evaluate(c *expr.Ctx) (types.Datum, error) {
	i := s.free.Swap(nil)
	if i == nil {
		i = &instance{}
		var err error
		if i.eval, err = i.Expr(s.e); err != nil {
			return types.Null, err
		}
	}
	c.Run++
	d, err := i.eval(c, nil)
	s.free.Store(i)
	return d, err
}

// Value implements function.Statements.
func (x *Statements) Value(ctx context.Context, st function.Statement, args []types.Datum) (types.Datum, error) {
	s, err := x.current(ctx, st)
	if err != nil {
		return types.Null, err
	}
	if s.simple != nil {
		c := x.expressions(ctx)
		outer := c.Params
		c.Params = args
		d, err := s.simple.evaluate(c)
		c.Params = outer
		return d, err
	}
	out, rows := types.Null, 0
	_, err = x.Run(ctx, s, args, func(row []types.Datum) error {
		if rows++; rows > 1 {
			return pgerr.New(pgerr.CardinalityViolation, "query returned more than one row")
		}
		out = row[0].Clone()
		return nil
	})
	return out, err
}

// expressions returns the context of the call's expressions, with the values that the session has
// now.
func (x *Statements) expressions(ctx context.Context) *expr.Ctx {
	if x.ctx == nil || x.ctx.Context != ctx {
		own := x.env.Expressions(ctx)
		x.ctx = &own
	}
	x.ctx.Env = x.env.Values()
	return x.ctx
}

// Conversion implements function.Analysis.
func (x *Statements) Conversion(from, to function.Typed) (function.Convert, error) {
	e, err := analyze.Conversion(x.env.Compiler().Analysis(""), from, to)
	if err != nil {
		return nil, err
	}
	if _, same := e.(*query.Param); same {
		return nil, nil
	}
	if !isPlain(e) { // a constraint of a domain calls a function that runs statements
		return x.planned(from, to)
	}
	s := &simple{e: e}
	return func(ctx context.Context, _ *types.Env, d types.Datum) (types.Datum, error) {
		c := x.expressions(ctx)
		outer := c.Params
		c.Params = types.Row{d}
		out, err := s.evaluate(c)
		c.Params = outer
		return out, err
	}, nil
}

// planned is a conversion that needs a plan.
func (x *Statements) planned(from, to function.Typed) (function.Convert, error) {
	st, err := parsed("SELECT $1")
	if err != nil {
		return nil, err
	}
	s, err := x.prepared(func(c *stmt.Compiler) (*stmt.Program, error) { return c.ForConversion(st, from, to) })
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, _ *types.Env, d types.Datum) (types.Datum, error) {
		return x.Value(ctx, s, []types.Datum{d})
	}, nil
}
