package exec

import (
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec/expr"
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
	program, err := compileNode(plan.Stage{Modify: m}, 0)
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
	in := &restoring{of: r, insertion: insertion{c: c, o: &insertOp{node: r.node, rule: rule, next: make(types.Row, len(rule.table.kinds))}}}
	in.out = sender{c: c, node: plan.Stage{Modify: r.node}, program: r.program}
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
	if err := o.rule.generate(in.c, o.next); err != nil {
		return err
	}
	if err := o.rule.checkThere(in.c, o.next); err != nil {
		return err
	}
	if r := in.of; r.Judge && !r.Misplaced {
		r.Misplaced = o.rule.table.checkPlace(o.next) != nil
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
	if in.bytes, err = in.out.addEntries(in.c, o.rule.indexes, o.next, &w, in.bytes); err != nil || !in.out.full() {
		return err
	}
	in.bytes = nil // writes in progress use the old ones
	return in.out.flushBehind()
}

// keep returns the bucket of an existing row. tail is the hidden id of a row without primary key.
func (in *restoring) keep() (bucket shardmap.Bucket, tail []byte, err error) {
	o, t := in.o, in.o.rule.table
	if len(t.key) == 0 {
		tail = newRowID()
		return bucketOfRowID(tail), tail, nil
	}
	o.keys = t.keyValues(o.keys, o.next)
	switch {
	case t.def.Anchors:
		bucket, err = t.def.Prefixes.BucketOf(o.keys[0].S)
	case t.def.Policy != nil:
		bucket, err = t.policyBucket(o.next, o.keys)
	default:
		bucket, err = t.ownBucket(o.keys)
	}
	return bucket, nil, err
}

// checkThere checks an existing row against constraints that are added or kept.
func (r *tableRule) checkThere(c *Ctx, row types.Row) error {
	for i := range r.table.def.Columns {
		if col := &r.table.def.Columns[i]; col.NotNull && !col.Dropped && row[i].IsNull() {
			e := pgerr.New(pgerr.NotNullViolation, `column "%s" of relation "%s" contains null values`, col.Name, r.table.def.Name)
			e.Schema, e.Table, e.Column = r.schema, r.table.def.Name, col.Name
			return e
		}
	}
	for _, k := range r.checks {
		d, err := k.expr(&c.Ctx, row)
		if err != nil {
			return err
		}
		if !d.IsNull() && d.N == 0 {
			e := pgerr.New(pgerr.CheckViolation, `check constraint "%s" of relation "%s" is violated by some row`, k.name, r.table.def.Name)
			e.Schema, e.Table, e.Constraint = r.schema, r.table.def.Name, k.name
			return e
		}
	}
	if !r.table.def.PolicyValidated {
		return nil
	}
	return r.table.checkPlace(row)
}

// notUnique returns the error of a primary key that is added to rows; value is a row with the key
// of another, encoded.
func (r *tableRule) notUnique(c *Ctx, value []byte) error {
	names, values, err := r.keyTexts(c, value)
	if err != nil {
		return err
	}
	e := pgerr.New(pgerr.UniqueViolation, `could not create unique index "%s"`, r.table.primaryKey().Name).
		WithDetail("Key (%s)=(%s) is duplicated.", strings.Join(names, ", "), strings.Join(values, ", "))
	e.Schema, e.Table, e.Constraint = r.schema, r.table.def.Name, r.table.primaryKey().Name
	return e
}

// keyTexts prints the primary key of an encoded row.
func (r *tableRule) keyTexts(c *Ctx, value []byte) (names, values []string, err error) {
	row := make(types.Row, len(r.table.kinds))
	var reader types.RowReader
	if err := r.table.decode(&reader, row, value); err != nil {
		return nil, nil, err
	}
	for _, i := range r.table.key {
		col := &r.table.def.Columns[i]
		names, values = append(names, col.Name), append(values, types.Output(col.Type, row[i], c.Env))
	}
	return names, values, nil
}
