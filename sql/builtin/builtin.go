package builtin

import (
	"context"

	"github.com/sherddb/sherd/sql/types"
)

// Func is a scalar function. If the pg_proc row is strict, the caller has checked that no argument
// is null.
type Func func(c *Ctx, args []types.Datum) (types.Datum, error)

// SetFunc is a set-returning function. It emits rows of one column, or of its OUT columns; a row is
// valid only during emit.
type SetFunc func(c *Ctx, args []types.Datum, emit func(row []types.Datum) error) error

// Impl is the implementation of one pg_proc row: exactly one field is set.
type Impl struct {
	Func   Func
	Set    SetFunc
	Agg    *Agg
	Window WindowFunc
}

// Ctx is the environment of a function call. The caller keeps one per call site, because Memo and
// the types belong to the site. It is not safe for concurrent use.
type Ctx struct {
	Context context.Context // of the statement; nil is never canceled
	Env     *types.Env
	Session SessionInfo // nil without a session (tests, index maintenance)
	// Statement is the execution that calls, for functions of users (package exec).
	Statement any
	ArgTypes  []uint32 // resolved types of the arguments
	RetType   uint32   // resolved type of the result
	// result columns of a function that returns a record, resolved for the call
	Columns  []Column
	Variadic bool // the last argument of a VARIADIC "any" function is a VARIADIC array
	// data of the function for later calls at this site: compiled patterns, resolved types
	Memo any
}

// Column is a column of the result of a record-returning call: from the column definition list, or
// the composite type.
type Column struct {
	Name   string
	Type   uint32
	Typmod int32
}

// argType returns the resolved type of argument i; unknown if the caller has not resolved it.
func (c *Ctx) argType(i int) uint32 {
	if i < len(c.ArgTypes) {
		return c.ArgTypes[i]
	}
	return types.Unknown
}

// canceled returns the error of a canceled statement, else nil.
func (c *Ctx) canceled() error {
	if c.Context == nil {
		return nil
	}
	if err := c.Context.Err(); err != nil {
		return context.Cause(c.Context)
	}
	return nil
}
