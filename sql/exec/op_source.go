package exec

import (
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/types"
)

// sourceOp emits the rows that the session supplies.
type sourceOp struct{}

func (k *compiler) source(*plan.Source) (Op, error) { return sourceOp{}, nil }

// Run implements Op.
func (sourceOp) Run(c *Ctx, emit Emit) error {
	if c.Hooks.Source == nil {
		return internal("no source of rows")
	}
	return c.Hooks.Source(func(row types.Row) error {
		if err := c.tick(); err != nil {
			return err
		}
		return emit(row)
	})
}
