package operator

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/types"
)

// valuesOp emits constant rows.
type valuesOp struct {
	rows [][]expr.Eval
	out  types.Row
}

func (k *Compiler) values(n *plan.Values) (Op, error) {
	o := &valuesOp{}
	for _, r := range n.Rows {
		fs, err := k.Exprs(r)
		if err != nil {
			return nil, err
		}
		o.rows = append(o.rows, fs)
		o.out = make(types.Row, len(fs))
	}
	return o, nil
}

// Run implements Op.
func (o *valuesOp) Run(c *Execution, emit Emit) error {
	for _, fs := range o.rows {
		if err := c.Tick(); err != nil {
			return err
		}
		if err := expr.EvalInto(&c.Ctx, o.out, fs, nil); err != nil {
			return err
		}
		if err := emit(o.out); err != nil {
			return err
		}
	}
	return nil
}

// filterOp passes on the rows for which a condition is true.
type filterOp struct {
	child Op
	cond  expr.Eval
	c     *Execution
	emit  Emit
	step  Emit // take, bound once

	removed int64
}

// Removed implements Filtering.
func (o *filterOp) Removed() int64 { return o.removed }

func (k *Compiler) filter(n *plan.Filter) (Op, error) {
	child, err := k.Node(n.Child)
	if err != nil {
		return nil, err
	}
	cond, err := k.Expr(n.Cond)
	if err != nil {
		return nil, err
	}
	o := &filterOp{child: child, cond: cond}
	o.step = o.take
	return o, nil
}

// Run implements Op.
func (o *filterOp) Run(c *Execution, emit Emit) error {
	o.c, o.emit = c, emit
	return o.child.Run(c, o.step)
}

func (o *filterOp) take(row types.Row) error {
	ok, err := o.cond.IsTrue(&o.c.Ctx, row)
	if err != nil || !ok {
		o.removed++
		return err
	}
	return o.emit(row)
}

// projectOp computes output columns.
type projectOp struct {
	child Op
	exprs []expr.Eval
	out   types.Row
	c     *Execution
	emit  Emit
	step  Emit
}

func (k *Compiler) project(n *plan.Project) (Op, error) {
	if scan, ok := n.Child.(*plan.Scan); ok && !n.Sets && k.Measure == Unmeasured {
		return k.sources.ProjectedScan(scan, n.Exprs)
	}
	child, err := k.Node(n.Child)
	if err != nil {
		return nil, err
	}
	if n.Sets {
		return k.projectSet(n, child)
	}
	fs, err := k.Exprs(n.Exprs)
	if err != nil {
		return nil, err
	}
	o := &projectOp{child: child, exprs: fs, out: make(types.Row, len(fs))}
	o.step = o.take
	return o, nil
}

// Run implements Op.
func (o *projectOp) Run(c *Execution, emit Emit) error {
	o.c, o.emit = c, emit
	return o.child.Run(c, o.step)
}

func (o *projectOp) take(row types.Row) error {
	if err := expr.EvalInto(&o.c.Ctx, o.out, o.exprs, row); err != nil {
		return err
	}
	return o.emit(o.out)
}

// limitOp passes on count rows after the first offset, and those that are equal to the last one in
// ties.
type limitOp struct {
	child         Op
	count, offset expr.Eval
	ties          Ordering
	skip, left    int64     // left < 0 is no bound
	last          types.Row // the last of count rows, if there are ties
	done          bool      // this operator has stopped its child
	emit          Emit
	step          Emit
}

func (k *Compiler) limit(n *plan.Limit) (Op, error) {
	child, err := k.Node(n.Child)
	if err != nil {
		return nil, err
	}
	o := &limitOp{child: child}
	if len(n.Ties) > 0 {
		o.ties = NewOrdering(n.Ties)
	}
	if o.count, err = k.Optional(n.Count); err != nil {
		return nil, err
	}
	if o.offset, err = k.Optional(n.Offset); err != nil {
		return nil, err
	}
	o.step = o.take
	return o, nil
}

// Run implements Op.
func (o *limitOp) Run(c *Execution, emit Emit) error {
	var err error
	if o.left, o.skip, err = Bounds(c, o.count, o.offset); err != nil {
		return err
	}
	o.emit, o.done, o.last = emit, false, nil
	if o.left == 0 {
		return nil
	}
	err = o.child.Run(c, o.step)
	if err == ErrStop && o.done {
		return nil
	}
	return err
}

func (o *limitOp) take(row types.Row) error {
	if o.skip > 0 {
		o.skip--
		return nil
	}
	if o.last != nil && o.ties.Compare(o.last, row) != 0 {
		o.done = true
		return ErrStop
	}
	if err := o.emit(row); err != nil {
		return err
	}
	if o.left > 0 {
		o.left--
		switch {
		case o.left > 0 || o.last != nil:
		case o.ties == nil:
			o.done = true
			return ErrStop
		default:
			o.last, o.left = make(types.Row, len(row)), -1
			for i, d := range row {
				o.last[i] = d.Clone()
			}
		}
	}
	return nil
}

// Bounds evaluates LIMIT (-1: none) and OFFSET.
func Bounds(c *Execution, count, offset expr.Eval) (limit, skip int64, err error) {
	limit = -1
	if count != nil {
		d, err := count(&c.Ctx, nil)
		switch {
		case err != nil:
			return 0, 0, err
		case d.IsNull():
		case d.N < 0:
			return 0, 0, pgerr.New(pgerr.InvalidRowCountInLimit, "LIMIT must not be negative")
		default:
			limit = d.N
		}
	}
	if offset != nil {
		d, err := offset(&c.Ctx, nil)
		switch {
		case err != nil:
			return 0, 0, err
		case d.N < 0:
			return 0, 0, pgerr.New(pgerr.InvalidRowCountInOffset, "OFFSET must not be negative")
		}
		skip = d.N
	}
	return limit, skip, nil
}

// appendOp runs its inputs one after the other.
type appendOp struct{ inputs []Op }

func (k *Compiler) appendRows(n *plan.Append) (Op, error) {
	o := &appendOp{}
	for _, in := range n.Inputs {
		op, err := k.Node(in)
		if err != nil {
			return nil, err
		}
		o.inputs = append(o.inputs, op)
	}
	return o, nil
}

// Run implements Op.
func (o *appendOp) Run(c *Execution, emit Emit) error {
	for _, in := range o.inputs {
		if err := in.Run(c, emit); err != nil {
			return err
		}
	}
	return nil
}
