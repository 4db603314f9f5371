package builtin

import (
	"context"

	"github.com/sherddb/sherd/sql/types"
)

// Func is a scalar function. Where the pg_proc row is strict the caller has checked that no argument is null.
type Func func(c *Ctx, args []types.Datum) (types.Datum, error)

// SetFunc is a set-returning function. It emits rows of one column, or of its OUT columns; a row is valid during emit only.
type SetFunc func(c *Ctx, args []types.Datum, emit func(row []types.Datum) error) error

// Impl is what implements one pg_proc row: exactly one field is set.
type Impl struct {
	Func   Func
	Set    SetFunc
	Agg    *Agg
	Window WindowFunc
}

// Ctx is what a function may know beside its arguments. The caller keeps one per call site, since Memo and the types belong to that
// site; it is not for concurrent use.
type Ctx struct {
	Context  context.Context // of the statement; nil is never cancelled
	Env      *types.Env
	Session  SessionInfo // nil where no session is at hand (tests, index maintenance)
	ArgTypes []uint32    // resolved types of the arguments
	RetType  uint32      // resolved type of the result
	Columns  []Column    // result columns of a function that returns a record, resolved by the call
	Variadic bool        // the last argument of a VARIADIC "any" function was given as VARIADIC array
	Memo     any         // what the function remembers between calls at this site: compiled patterns, resolved types
}

// Column is a column of a record-returning call: of the column definition list, or of the composite type.
type Column struct {
	Name   string
	Type   uint32
	Typmod int32
}

// argType gives the resolved type of argument i; unknown where the caller resolved none.
func (c *Ctx) argType(i int) uint32 {
	if i < len(c.ArgTypes) {
		return c.ArgTypes[i]
	}
	return types.Unknown
}

// done gives the error of a cancelled statement, else nil.
func (c *Ctx) done() error {
	if c.Context == nil {
		return nil
	}
	if err := c.Context.Err(); err != nil {
		return context.Cause(c.Context)
	}
	return nil
}
