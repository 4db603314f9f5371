package operator

import (
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

func colTypes(n plan.Node) []types.OID {
	cols := n.Output()
	out := make([]types.OID, len(cols))
	for i, c := range cols {
		out[i] = c.Type
	}
	return out
}

// distinctOp keeps the first row of each key.
type distinctOp struct {
	child  Op
	keys   []int
	types  []types.OID
	sorted bool
}

func (k *Compiler) distinctRows(n *plan.Distinct) (Op, error) {
	child, err := k.Node(n.Child)
	if err != nil {
		return nil, err
	}
	return &distinctOp{child: child, keys: n.Keys, types: colTypes(n.Child), sorted: n.Sorted}, nil
}

// Run implements Op.
func (o *distinctOp) Run(c *Execution, emit Emit) error {
	if o.sorted {
		return o.neighbours(c, emit)
	}
	d := newDedup(c, o.keys, o.types, emit)
	defer d.free()
	if err := o.child.Run(c, d.take); err != nil {
		return err
	}
	return d.finish()
}

// neighbours drops rows with the same key as the row before.
func (o *distinctOp) neighbours(c *Execution, emit Emit) error {
	var last, buf []byte
	first := true
	return o.child.Run(c, func(row types.Row) error {
		buf = appendRowKey(buf[:0], row, o.keys, o.types)
		if !first && string(buf) == string(last) {
			return nil
		}
		first = false
		last, buf = buf, last
		return emit(row)
	})
}

// setOp is UNION (distinct), INTERSECT and EXCEPT.
type setOp struct {
	left, right Op
	types       []types.OID
	kind        query.SetOpKind
	all         bool
}

func (k *Compiler) setOperation(n *plan.SetOperation) (Op, error) {
	left, err := k.Node(n.Left)
	if err != nil {
		return nil, err
	}
	right, err := k.Node(n.Right)
	if err != nil {
		return nil, err
	}
	return &setOp{left: left, right: right, types: colTypes(n), kind: n.Kind, all: n.All}, nil
}

// Run implements Op.
func (o *setOp) Run(c *Execution, emit Emit) error {
	if o.kind == query.Union {
		return o.union(c, emit)
	}
	m := newKeyCounts(c, o, emit)
	defer m.free()
	if err := o.right.Run(c, m.takeRight); err != nil {
		return err
	}
	if err := o.left.Run(c, m.takeLeft); err != nil {
		return err
	}
	return m.finish()
}

func (o *setOp) union(c *Execution, emit Emit) error {
	if o.all {
		if err := o.left.Run(c, emit); err != nil {
			return err
		}
		return o.right.Run(c, emit)
	}
	d := newDedup(c, nil, o.types, emit)
	defer d.free()
	if err := o.left.Run(c, d.take); err != nil {
		return err
	}
	if err := o.right.Run(c, d.take); err != nil {
		return err
	}
	return d.finish()
}
