package operator

import (
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/types"
)

// The left rows of a batch. The first one is small, because a LIMIT above may need no more.
const (
	firstLookupBatch = 16
	lookupBatchStep  = 8
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

// lookupBatch is left rows that are joined together, and their values, each once.
type lookupBatch struct {
	store  memory.Arena
	rows   []types.Row
	seen   memory.KeySet
	values []types.Datum
	key    []byte
}

// Run implements Op.
func (o *lookupJoinOp) Run(c *Execution, emit Emit) error {
	o.c, o.emit = c, emit
	b := &lookupBatch{store: memory.Arena{Mem: c.Mem}, seen: memory.KeySet{Mem: c.Mem}}
	defer b.free()
	size := firstLookupBatch
	err := o.left.Run(c, func(row types.Row) error {
		if err := o.add(c, b, row); err != nil || len(b.rows) < size {
			return err
		}
		size = min(size*lookupBatchStep, lastLookupBatch)
		return o.join(c, b)
	})
	if err != nil || len(b.rows) == 0 {
		return err
	}
	return o.join(c, b)
}

func (o *lookupJoinOp) add(c *Execution, b *lookupBatch, row types.Row) error {
	kept, err := b.store.Clone(row)
	if err != nil {
		return err
	}
	b.rows = append(b.rows, kept)
	v, err := o.value.value(&c.Ctx, kept)
	if err != nil || v.IsNull() {
		return err
	}
	b.key = types.AppendKey(b.key[:0], o.elem, v, false)
	fresh, err := b.seen.Add(b.key)
	if err != nil || !fresh {
		return err
	}
	if v, err = b.store.Datum(v); err != nil {
		return err
	}
	b.values = append(b.values, v)
	return nil
}

// join looks up the rows of a batch, emits what it is joined with, and empties it.
func (o *lookupJoinOp) join(c *Execution, b *lookupBatch) error {
	j := o.begin(c)
	defer j.free()
	if len(b.values) > 0 {
		n := int32(len(b.values))
		c.SetOuter(o.value.param, types.NewArray(o.elem, []int32{n}, []int32{1}, b.values))
		if err := o.right.Run(c, j.takeRight); err != nil {
			return err
		}
	}
	j.table.met = make([]bool, len(j.table.rows))
	for _, row := range b.rows {
		if err := j.takeLeft(row); err != nil {
			return err
		}
	}
	b.free()
	return j.finish()
}

func (b *lookupBatch) free() {
	b.store.Free()
	b.seen.Free()
	clear(b.rows)
	b.rows, b.values = b.rows[:0], b.values[:0]
}
