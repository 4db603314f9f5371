package exec

import (
	"encoding/binary"

	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec/operator"
	"github.com/sherddb/sherd/sql/exec/route"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/types"
)

// aheadReads has a Gather read for many sets of outer values in one task per fragment, whose plan
// is a plan.Each. The task has the sets as one value: for each its number and its values.
type aheadReads struct {
	each *plan.Each
	into *operator.Ahead
	sets []aheadSet // of the tasks that are made
	buf  []byte
}

// aheadSet is a set of outer values.
type aheadSet struct {
	number  int
	values  string
	buckets shardmap.BucketSet
}

// readAhead prepares a Gather that reads ahead.
func (k *compiler) readAhead(o *gatherOp) error {
	each, ok := o.node.Child.(*plan.Each)
	switch {
	case o.node.Batch == 0:
		return nil
	case !ok || o.index != nil:
		return internal("a step of type %T is read ahead", o.node.Child)
	}
	o.ahead = &aheadReads{each: each}
	o.ahead.into = k.FillAhead(o.node.Batch, each.Params, o.readSets)
	if len(o.node.Merge) > 0 {
		number := plan.SortKey{Slot: len(o.node.Cols), Type: types.Int4}
		o.merge = operator.NewOrdering(append([]plan.SortKey{number}, o.node.Merge...))
	}
	k.Own(o.ahead)
	return nil
}

// runAhead emits the rows of the present outer values: those that were read ahead, or it reads them
// now.
func (o *gatherOp) runAhead(c *Ctx, emit Emit) error {
	a := o.ahead
	if set, ok := a.into.Find(&c.Execution); ok {
		return a.into.Emit(&c.Execution, set, emit)
	}
	set, err := o.buckets(c)
	if err != nil || set.IsEmpty() {
		return err
	}
	a.buf = operator.AppendSet(a.buf[:0], &c.Execution, a.each.Params)
	a.sets = append(a.sets[:0], aheadSet{values: string(a.buf), buckets: set})
	width := len(o.node.Cols)
	return o.read(c, set, func(row types.Row) error { return emit(row[:width]) })
}

// readSets reads the rows of some sets, which operator.AppendSet has encoded.
func (o *gatherOp) readSets(x *operator.Execution, sets []string, keep func(set int, row types.Row) error) error {
	c, a := statement(x), o.ahead
	if c.Gateway == nil {
		return internal("a fragment was asked to read ahead")
	}
	a.sets = a.sets[:0]
	var all []shardmap.BucketSet
	for i, values := range sets {
		if _, err := operator.SetOuters(x, a.each.Params, []byte(values)); err != nil {
			return err
		}
		set, err := o.buckets(c)
		if err != nil {
			return err
		}
		if set.IsEmpty() {
			continue
		}
		a.sets = append(a.sets, aheadSet{i, values, set})
		if o.router.Lateral() || len(a.sets) == 1 {
			all = append(all, set)
		}
	}
	if len(a.sets) == 0 {
		return nil
	}
	width := len(o.node.Cols)
	return o.read(c, shardmap.UnionOf(all...), func(row types.Row) error {
		return keep(int(row[width].N), row[:width])
	})
}

// outersFor returns the outer values of a task, with the sets that some of its buckets are for.
func (o *gatherOp) outersFor(c *Ctx, s shardmap.Share) types.Row {
	var list []byte
	for _, set := range o.ahead.sets {
		if o.router.Lateral() && set.buckets.Intersect(s.Buckets).IsEmpty() {
			continue
		}
		list = append(binary.AppendUvarint(list, uint64(set.number)), set.values...)
	}
	at := o.ahead.each.Sets
	out := make(types.Row, max(len(c.Outers), at+1))
	copy(out, c.Outers)
	out[at] = types.NewBytes(aliasString(list))
	return out
}

// eachOp runs its child for each set of outer values of its task, and reads for it only the buckets
// of its route.
type eachOp struct {
	child  operator.Op
	params []int
	sets   int
	router *route.Router // nil: all sets are read in all buckets of the task
	out    types.Row
}

func (k *compiler) each(n *plan.Each) (operator.Op, error) {
	child, err := k.Node(n.Child)
	if err != nil {
		return nil, err
	}
	r, err := route.New(&k.Compiler.Compiler, &n.Route)
	if err != nil {
		return nil, err
	}
	if !r.Lateral() {
		r = nil
	}
	return &eachOp{
		child: child, params: n.Params, sets: n.Sets, router: r, out: make(types.Row, len(n.Child.Output())+1),
	}, nil
}

// Run implements Op.
func (o *eachOp) Run(x *operator.Execution, emit Emit) error {
	c := statement(x)
	if c.local == nil {
		return internal("sets of outer values are read outside a fragment")
	}
	task := c.local.task
	defer func() { c.local.task = task }()
	own, last := *task, len(o.out)-1
	take := func(row types.Row) error {
		copy(o.out, row)
		return emit(o.out)
	}
	for list := []byte(c.Outer(o.sets).S); len(list) > 0; {
		number, n := binary.Uvarint(list)
		if n <= 0 {
			return internal("the sets of outer values of a task are damaged")
		}
		var err error
		if list, err = operator.SetOuters(x, o.params, list[n:]); err != nil {
			return err
		}
		if o.router != nil {
			set, err := o.router.Buckets(&c.Ctx)
			if err != nil {
				return err
			}
			if own.Buckets = set.Intersect(task.Buckets); own.Buckets.IsEmpty() {
				continue
			}
			c.local.task = &own
		}
		o.out[last] = types.NewInt(int64(number))
		if err := o.child.Run(x, take); err != nil {
			return err
		}
		if err := c.Cancelled(); err != nil {
			return err
		}
	}
	return nil
}
