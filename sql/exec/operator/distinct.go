package operator

import (
	"github.com/sherddb/sherd/sql/exec/memory"
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
	seen := &memory.KeySet{Mem: c.Mem}
	defer seen.Free()
	var buf []byte
	return o.child.Run(c, func(row types.Row) error {
		buf = appendRowKey(buf[:0], row, o.keys, o.types)
		fresh, err := seen.Add(buf)
		if err != nil || !fresh {
			return err
		}
		return emit(row)
	})
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
	counts, err := o.countRight(c)
	defer counts.free()
	if err != nil {
		return err
	}
	seen := &memory.KeySet{Mem: c.Mem}
	defer seen.Free()
	var buf []byte
	return o.left.Run(c, func(row types.Row) error {
		buf = appendRowKey(buf[:0], row, nil, o.types)
		ok, err := o.keeps(counts, seen, buf)
		if err != nil || !ok {
			return err
		}
		return emit(row)
	})
}

// keeps reports whether a row of the left side is part of the result.
func (o *setOp) keeps(right *keyCounts, seen *memory.KeySet, key []byte) (bool, error) {
	n := right.counts[string(key)]
	if o.all {
		if n != nil && *n > 0 {
			*n--
			return o.kind == query.Intersect, nil
		}
		return o.kind == query.Except, nil
	}
	if (n != nil) != (o.kind == query.Intersect) {
		return false, nil
	}
	return seen.Add(key)
}

func (o *setOp) union(c *Execution, emit Emit) error {
	seen := &memory.KeySet{Mem: c.Mem}
	defer seen.Free()
	var buf []byte
	take := func(row types.Row) error {
		if !o.all {
			buf = appendRowKey(buf[:0], row, nil, o.types)
			if fresh, err := seen.Add(buf); err != nil || !fresh {
				return err
			}
		}
		return emit(row)
	}
	if err := o.left.Run(c, take); err != nil {
		return err
	}
	return o.right.Run(c, take)
}

// keyCounts is how often each key occurs.
type keyCounts struct {
	mem    *memory.Account
	counts map[string]*int64
	taken  int64
}

func (k *keyCounts) free() { k.mem.Release(k.taken) }

func (o *setOp) countRight(c *Execution) (*keyCounts, error) {
	k := &keyCounts{mem: c.Mem, counts: map[string]*int64{}}
	var buf []byte
	err := o.right.Run(c, func(row types.Row) error {
		buf = appendRowKey(buf[:0], row, nil, o.types)
		if n := k.counts[string(buf)]; n != nil {
			*n++
			return nil
		}
		size := int64(len(buf)) + memory.MapEntrySize
		if err := c.Mem.Grow(size); err != nil {
			return err
		}
		k.taken += size
		one := int64(1)
		k.counts[string(buf)] = &one
		return nil
	})
	return k, err
}
