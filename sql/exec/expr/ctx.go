package expr

import (
	"context"
	"errors"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/types"
)

// Ctx is what expressions read of one execution of a statement. It belongs to one goroutine.
type Ctx struct {
	Context context.Context
	Params  types.Row
	Env     *types.Env
	Session builtin.SessionInfo
	// Run is the number of this execution of the instance: values kept by an earlier one are
	// invalid.
	Run uint64
	// Outers are the values of query.Outer.
	Outers types.Row
	// Columns are the values of query.SubColumn: a row of the subquery that is compared.
	Columns types.Row
	// Owner is the context that this one is part of, for the expressions of Compiler.Subqueries.
	Owner any

	elements types.Row // values of query.Element, innermost last
}

// Cancelled returns the statement's error if it was cancelled.
func (c *Ctx) Cancelled() error {
	if c.Context == nil || c.Context.Err() == nil {
		return nil
	}
	cause := context.Cause(c.Context)
	var marked *pgerr.Error
	if errors.As(cause, &marked) {
		return cause
	}
	return pgerr.New(pgerr.QueryCanceled, "canceling statement due to user request")
}

// SetOuter sets an outer parameter; d must stay valid while the plan that reads it runs.
func (c *Ctx) SetOuter(n int, d types.Datum) {
	for len(c.Outers) <= n {
		c.Outers = append(c.Outers, types.Null)
	}
	c.Outers[n] = d
}

// Outer returns an outer parameter, null if it is not set.
func (c *Ctx) Outer(n int) types.Datum {
	if n < len(c.Outers) {
		return c.Outers[n]
	}
	return types.Null
}

// Enter prepares a call site for this execution.
func (c *Ctx) Enter(site *builtin.Ctx) {
	site.Context, site.Env, site.Session, site.Statement = c.Context, c.Env, c.Session, c.Owner
}

func (c *Ctx) param(n int) (types.Datum, error) {
	if n < 1 || n > len(c.Params) {
		return types.Null, pgerr.New(pgerr.UndefinedParameter, "there is no parameter $%d", n)
	}
	return c.Params[n-1], nil
}

// element returns the value of the innermost Element.
func (c *Ctx) element() types.Datum {
	if n := len(c.elements); n > 0 {
		return c.elements[n-1]
	}
	return types.Null
}

// withElement evaluates e with d in the place of its Element.
func (c *Ctx) withElement(d types.Datum, e Eval, row types.Row) (types.Datum, error) {
	c.elements = append(c.elements, d)
	v, err := e(c, row)
	c.elements = c.elements[:len(c.elements)-1]
	return v, err
}
