package builtin

import "github.com/sherddb/sherd/sql/types"

// Agg makes the states of one aggregate function.
type Agg struct {
	// New makes the state of one group. argTypes are the resolved types of the aggregated arguments (for ordered-set aggregates the
	// direct arguments come first), ret that of the result.
	New func(argTypes []uint32, ret uint32) AggState
	// Strict: Step is not called for rows with a null argument.
	Strict bool
	// Ordered: the result depends on the order of the rows, so partial states must be combined in row order (or not at all).
	Ordered bool
	// Direct is the number of direct arguments of an ordered-set aggregate. They come first in every Step; the caller sorts the rows.
	Direct int
}

// AggState is the state of an aggregate over one group.
type AggState interface {
	// Step takes one row. The state keeps nothing of args without Clone.
	Step(c *Ctx, args []types.Datum) error
	// Final gives the result. It may be called again after further Steps (running window frames).
	Final(c *Ctx) (types.Datum, error)
	// Partial gives the state as a bytea, null where it has seen nothing; Combine merges such a state in.
	Partial(c *Ctx) (types.Datum, error)
	Combine(c *Ctx, partial types.Datum) error
}
