package exec

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/operator"
	"github.com/sherddb/sherd/sql/exec/spool"
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

// insteadOp passes the rows that a statement writes to a view to the view's triggers.
type insteadOp struct {
	node      *plan.Modify
	child     operator.Op
	assign    []assignment
	returning []expr.Eval
	width     int
	next, out types.Row
}

func (k *compiler) instead(n *plan.Modify) (operator.Op, error) {
	child, err := k.Node(n.Child)
	if err != nil {
		return nil, err
	}
	o := &insteadOp{
		node: n, child: child, width: len(n.Table.Columns), next: make(types.Row, len(n.Child.Output())),
		out: make(types.Row, len(n.Returning)),
	}
	for _, a := range n.Assign {
		f, err := k.Expr(a.Expr)
		if err != nil {
			return nil, err
		}
		o.assign = append(o.assign, assignment{a.Col, f})
	}
	o.returning, err = k.Exprs(n.Returning)
	return o, err
}

// Run implements Op. All rows are read before the first trigger fires, because it may change them (E6).
func (o *insteadOp) Run(x *operator.Execution, emit Emit) error {
	c := statement(x)
	if err := readOnly(c, [...]string{"INSERT", "UPDATE", "DELETE"}[o.node.Kind], o.node.Table); err != nil {
		return err
	}
	if c.Triggers == nil {
		return internal("view %q has no triggers here", o.node.Table.Name)
	}
	rows := spool.NewRows(c.Mem)
	defer rows.Free()
	if err := o.child.Run(x, rows.Keep); err != nil {
		return err
	}
	return rows.Emit(c.Tick, func(row types.Row) error { return o.fire(c, row, emit) })
}

// fire passes one row to the triggers.
func (o *insteadOp) fire(c *Ctx, row types.Row, emit Emit) error {
	e := &RowEvent{Table: o.node.Table, Kind: o.node.Kind.Event()}
	copy(o.next, row)
	switch e.Kind {
	case catalog.TriggerInsert:
		e.New = o.next[:o.width]
	case catalog.TriggerDelete:
		e.Old = row[:o.width]
	default:
		for _, a := range o.assign {
			d, err := a.expr(&c.Ctx, row)
			if err != nil {
				return err
			}
			o.next[a.col] = d
		}
		e.Old, e.New = row[:o.width], o.next[:o.width]
	}
	result, err := c.Triggers.Instead(c, e)
	if err != nil || result == nil {
		return err
	}
	c.Affected++
	if len(o.returning) == 0 {
		return nil
	}
	copy(o.next, result)
	if err := expr.EvalInto(&c.Ctx, o.out, o.returning, o.next); err != nil {
		return err
	}
	return emit(o.out)
}
