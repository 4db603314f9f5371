package exec

import (
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/types"
)

// Restore stores existing rows again under a changed definition of their table, for ALTER TABLE: in
// the buckets of the new key, with the new types, with all index entries. Only this transaction
// knows the table's new storage.
//
// A row keeps its id: no part of it is completed, and only a policy that queries rely on is
// checked. The errors are those of a constraint that is added to existing rows, not those of an
// insert.
type Restore struct {
	// Judge makes Run check the rows against a policy that is not validated. Misplaced reports
	// whether a row is in a bucket that the policy does not allow.
	Judge, Misplaced bool

	node    *plan.Modify
	program *Program
}

// NewRestore returns a Restore for the result of plan.Restoring.
func NewRestore(m *plan.Modify) (*Restore, error) {
	program, err := compileNode(plan.AtFragment(m), 0)
	return &Restore{node: m, program: program}, err
}

// restoring is one execution, at the gateway.
type restoring struct {
	insertion
	of    *Restore
	cols  []int // of the values
	exprs []expr.Eval
}

// Run stores the rows that source emits, as wide as the table was, in the transaction of c.
func (r *Restore) Run(c *Ctx, source func(Emit) error) error {
	k := newCompiler()
	rule, err := k.tableRule(r.node)
	if err != nil {
		return err
	}
	o := &insertOp{node: r.node, rule: rule, next: make(types.Row, len(rule.Table.Kinds))}
	in := &restoring{of: r, insertion: insertion{c: c, o: o}}
	in.out = sender{c: c, node: plan.AtFragment(r.node), program: r.program}
	for _, a := range r.node.Assign {
		f, err := k.Expr(a.Expr)
		if err != nil {
			return err
		}
		in.cols, in.exprs = append(in.cols, a.Col), append(in.exprs, f)
	}
	before := c.Affected
	err = source(in.take)
	if err == nil {
		_, err = in.out.flush()
	}
	if waited := in.out.wait(); err == nil {
		err = waited
	}
	c.Affected = before
	return err
}

func (in *restoring) take(row types.Row) error {
	o := in.o
	for i, f := range in.exprs {
		d, err := f(&in.c.Ctx, row)
		if err != nil {
			return err
		}
		o.next[in.cols[i]] = d
	}
	if err := o.rule.Generate(&in.c.Ctx, o.next); err != nil {
		return err
	}
	if err := o.rule.CheckThere(&in.c.Ctx, o.next); err != nil {
		return err
	}
	if r := in.of; r.Judge && !r.Misplaced {
		r.Misplaced = o.rule.Table.CheckPlace(o.next) != nil
	}
	bucket, tail, err := in.keep()
	if err != nil {
		return err
	}
	w := Write{Kind: WriteInsert, Place: in.place, Building: true}
	in.place++
	if w.Key, w.Value, err = in.encode(bucket, tail); err != nil {
		return err
	}
	in.out.add(bucket, w)
	if in.bytes, err = in.out.addEntries(in.c, o.rule.Indexes, o.next, &w, in.bytes); err != nil || !in.out.full() {
		return err
	}
	in.bytes = nil // writes in progress use the old ones
	return in.out.flushBehind()
}

// keep returns the bucket of an existing row. tail is the hidden id of a row without primary key.
func (in *restoring) keep() (bucket shardmap.Bucket, tail []byte, err error) {
	o, t := in.o, in.o.rule.Table
	if len(t.Key) == 0 {
		tail = table.NewRowID()
		return table.BucketOfRowID(tail), tail, nil
	}
	o.keys = t.KeyValues(o.keys, o.next)
	switch {
	case t.Def.Anchors:
		bucket, err = t.Def.Prefixes.BucketOf(o.keys[0].S)
	case t.Def.Policy != nil:
		bucket, err = t.PolicyBucket(o.next, o.keys)
	default:
		bucket, err = t.OwnBucket(o.keys)
	}
	return bucket, nil, err
}
