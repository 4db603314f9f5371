package exec

import (
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/operator"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/types"
)

// sourceOp emits the rows that the session supplies.
type sourceOp struct{}

// Run implements Op.
func (sourceOp) Run(x *operator.Execution, emit Emit) error {
	c := statement(x)
	if c.Hooks.Source == nil {
		return internal("no source of rows")
	}
	return c.Hooks.Source(func(row types.Row) error {
		if err := c.Tick(); err != nil {
			return err
		}
		return emit(row)
	})
}

// systemScanOp reads a view that the session provides.
type systemScanOp struct {
	name   string
	slots  []int
	filter expr.Eval
}

func (k *compiler) systemScan(n *plan.SystemScan) (operator.Op, error) {
	filter, err := k.Optional(n.Filter)
	if err != nil {
		return nil, err
	}
	return &systemScanOp{name: n.Name, slots: n.Slots, filter: filter}, nil
}

// Run implements Op.
func (o *systemScanOp) Run(x *operator.Execution, emit Emit) error {
	c := statement(x)
	if c.Hooks.System == nil {
		return unsupported("view %s cannot be read here", o.name)
	}
	out := make(types.Row, len(o.slots))
	return c.Hooks.System(o.name, func(row types.Row) error {
		if err := c.Tick(); err != nil {
			return err
		}
		for i, s := range o.slots {
			out[i] = types.Null
			if s >= 0 && s < len(row) {
				out[i] = row[s]
			}
		}
		if o.filter != nil {
			if ok, err := o.filter.IsTrue(&c.Ctx, out); err != nil || !ok {
				return err
			}
		}
		return emit(out)
	})
}
