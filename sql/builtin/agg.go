package builtin

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// Agg creates the states of one aggregate function.
type Agg struct {
	// New returns the state of one group. argTypes are the resolved types of the aggregated
	// arguments (for ordered-set aggregates, the direct arguments come first), ret is the type of
	// the result.
	New func(argTypes []uint32, ret uint32) AggState
	// Strict: Step is not called for rows with a null argument.
	Strict bool
	// Ordered: the result depends on the order of the rows, so partial states must be combined in
	// row order (or not at all).
	Ordered bool
	// Direct is the number of direct arguments of an ordered-set aggregate. They come first in
	// every Step; the caller sorts the rows.
	Direct int
}

// AggState is the state of an aggregate over one group.
type AggState interface {
	// Step adds one row. The state must Clone the args that it keeps.
	Step(c *Ctx, args []types.Datum) error
	// Final returns the result. It may be called again after further Steps (running window frames).
	Final(c *Ctx) (types.Datum, error)
	// Partial returns the state as a bytea, null if it has seen no rows; Combine merges such a
	// state.
	Partial(c *Ctx) (types.Datum, error)
	Combine(c *Ctx, partial types.Datum) error
}

// pack returns a partial state as bytea.
func pack(parts ...types.Datum) types.Datum {
	var b []byte
	for _, p := range parts {
		b = types.AppendDatum(b, p)
	}
	return types.NewBytes(string(b))
}

// unpack reads n parts of a partial state; if n < 0, all parts.
func unpack(partial types.Datum, n int) ([]types.Datum, error) {
	var parts []types.Datum
	for b := []byte(partial.S); len(b) > 0; {
		d, rest, err := types.DecodeDatum(b)
		if err != nil {
			return nil, err
		}
		parts, b = append(parts, d), rest
	}
	if n >= 0 && len(parts) != n {
		return nil, pgerr.New(pgerr.DataCorrupted, "partial aggregate state has %d parts, not %d", len(parts), n)
	}
	return parts, nil
}
