package operator

import (
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/types"
)

// The left rows of a batch. The first one is small, because a LIMIT above may need no more.
const (
	firstLookupBatch = 32
	lookupBatchStep  = 4
	lastLookupBatch  = 1024
)

// lookupJoinOp is a hash join in batches of left rows. The right side reads, for each batch, the
// rows that have one of its values.
type lookupJoinOp struct {
	hashJoinOp
	value bindEval
	elem  types.OID
}

func (k *Compiler) lookupJoin(n *plan.LookupJoin) (Op, error) {
	join, err := k.hashJoin(n.Join)
	if err != nil {
		return nil, err
	}
	values, err := k.binds([]plan.Bind{n.Values})
	if err != nil {
		return nil, err
	}
	return &lookupJoinOp{hashJoinOp: *join.(*hashJoinOp), value: values[0], elem: n.Values.Expr.Type()}, nil
}

// lookupBatch is left rows that are joined together.
type lookupBatch struct {
	store memory.Arena
	rows  []types.Row
}

// Run implements Op.
func (o *lookupJoinOp) Run(c *Execution, emit Emit) error {
	o.c, o.emit = c, emit
	b := &lookupBatch{store: memory.Arena{Mem: c.Mem}}
	defer b.free()
	size := firstLookupBatch
	err := o.left.Run(c, func(row types.Row) error {
		kept, err := b.store.Clone(row)
		if err != nil {
			return err
		}
		if b.rows = append(b.rows, kept); len(b.rows) < size {
			return nil
		}
		size = min(size*lookupBatchStep, lastLookupBatch)
		return o.joinBatch(c, b)
	})
	if err != nil || len(b.rows) == 0 {
		return err
	}
	return o.joinBatch(c, b)
}

// joinBatch joins the rows of a batch, and empties it.
func (o *lookupJoinOp) joinBatch(c *Execution, b *lookupBatch) error {
	err := o.join(c, b.rows)
	b.free()
	return err
}

// join looks up what rows are joined with, and emits it in their order. If there is not enough room
// for that, it looks up each half of the rows by itself: the order would be lost in files.
func (o *lookupJoinOp) join(c *Execution, rows []types.Row) error {
	done, err := o.joinTogether(c, rows)
	if done || err != nil {
		return err
	}
	half := len(rows) / 2
	if err := o.join(c, rows[:half]); err != nil {
		return err
	}
	return o.join(c, rows[half:])
}

// joinTogether is join without the halves: done is false if there is not enough room.
func (o *lookupJoinOp) joinTogether(c *Execution, rows []types.Row) (done bool, err error) {
	j := o.begin(c)
	defer j.free()
	j.whole = len(rows) > 1
	if err := o.lookUp(c, rows, j.takeRight); err != nil {
		if err == ErrStop && j.full {
			return false, nil
		}
		return false, err
	}
	j.table.met = make([]bool, len(j.table.rows))
	for _, row := range rows {
		if err := j.takeLeft(row); err != nil {
			return false, err
		}
	}
	return true, j.finish()
}

// lookUp runs the right side with the values that rows have.
func (o *lookupJoinOp) lookUp(c *Execution, rows []types.Row, emit Emit) error {
	store, seen := memory.Arena{Mem: c.Mem}, memory.KeySet{Mem: c.Mem}
	defer store.Free()
	defer seen.Free()
	var values []types.Datum
	var key []byte
	for _, row := range rows {
		v, err := o.value.value(&c.Ctx, row)
		if err != nil {
			return err
		}
		if v.IsNull() {
			continue
		}
		key = types.AppendKey(key[:0], o.elem, v, false)
		fresh, err := seen.Add(key)
		if err != nil {
			return err
		}
		if !fresh {
			continue
		}
		if v, err = store.Datum(v); err != nil {
			return err
		}
		values = append(values, v)
	}
	if len(values) == 0 {
		return nil
	}
	n := int32(len(values))
	c.SetOuter(o.value.param, types.NewArray(o.elem, []int32{n}, []int32{1}, values))
	return o.right.Run(c, emit)
}

func (b *lookupBatch) free() {
	b.store.Free()
	clear(b.rows)
	b.rows = b.rows[:0]
}
