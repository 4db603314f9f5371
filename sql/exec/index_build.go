package exec

import (
	"bytes"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec/operator"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// Fill adds the entries of the existing rows to a new index, one fragment after another. It leaves
// existing entries alone, because writers maintain the index already.
type Fill struct {
	table  *catalog.Table
	schema string
	index  query.Index
}

// FillPlace is how far a Fill is in a fragment. The zero place is the beginning.
type FillPlace struct {
	After []byte // the key of the last row done
	Done  bool
	Rows  int64 // looked at so far
}

// NewFill returns a Fill for an index that plan.TableIndexes has returned.
func NewFill(table *catalog.Table, schema string, index query.Index) *Fill {
	return &Fill{table: table, schema: schema, index: index}
}

// All adds all entries in the transaction of c, while no transaction writes to the table. Rows in
// the transaction's write buffers count.
func (f *Fill) All(c *Ctx) error {
	m := c.Gateway.mapOf(f.table)
	for _, share := range m.Split(c.Gateway.Map.All()) {
		at := FillPlace{}
		if err := f.wherever(c, share, &at, 0, false); err != nil {
			return err
		}
	}
	return nil
}

// wherever fills the index in the buckets of a share, wherever they are by now, in the order of
// buckets. That is the order of keys, so one place is valid in all fragments.
func (f *Fill) wherever(c *Ctx, share shardmap.Share, at *FillPlace, limit int, beside bool) error {
	epoch := c.Gateway.Map.Epoch()
	err := f.run(c, share, at, limit, beside)
	m, ok, err := c.Gateway.rerouted(c.ctx(), err, epoch)
	if !ok {
		return err
	}
	c.Gateway.adopt(m)
	after := at.After
	for _, r := range m.Ranges() {
		part := share.Buckets.Intersect(shardmap.NewBucketSet(r.Interval))
		if part.IsEmpty() {
			continue
		}
		at.After = after
		share := shardmap.Share{Fragment: r.Fragment, Buckets: part}
		if err := f.wherever(c, share, at, limit, beside); err != nil || !at.Done {
			return err
		}
	}
	return nil
}

// Some adds entries from a place on for at most limit rows in one fragment's buckets, while other
// writers maintain the index already. The caller must commit the transaction of c afterwards. Each
// row is locked until then, so its entry belongs to the newest version.
func (f *Fill) Some(c *Ctx, share shardmap.Share, at FillPlace, limit int) (FillPlace, error) {
	err := f.wherever(c, share, &at, limit, true)
	return at, err
}

func (f *Fill) run(c *Ctx, share shardmap.Share, at *FillPlace, limit int, beside bool) error {
	node := &plan.Fill{Table: f.table, Schema: f.schema, Index: f.index, After: at.After, Limit: limit, Beside: beside}
	program, err := compileNode(node, 0)
	if err != nil {
		return err
	}
	stage := plan.Stage{Modify: &plan.Modify{
		Kind: plan.ModInsert, Table: f.table, Schema: f.schema, Indexes: []query.Index{f.index},
	}}
	out := &sender{c: c, node: stage}
	if out.program, err = compileNode(stage, 0); err != nil {
		return err
	}
	var t txn.Timestamp
	if !f.table.IsTemporary() {
		if t, err = c.Gateway.Snapshot(c.ctx(), []shardmap.Share{share}); err != nil {
			return err
		}
	}
	fragment, err := c.Gateway.Fragment(share.Fragment)
	if err != nil {
		return err
	}
	task := &Task{
		Txn: c.Gateway.Txn, T: t, Epoch: c.Gateway.Map.Epoch(), Buckets: share.Buckets, Plan: node,
		Params: c.Params, Outers: c.Outers,
		Env: c.Env, Session: c.Session, Mem: c.Mem, Limits: c.Limits, program: program,
	}
	before := c.Affected
	var last []byte
	r, err := c.Gateway.run(c.ctx(), fragment, task, func(row types.Row) error {
		if row[1].IsNull() {
			last = []byte(row[0].S)
			return nil
		}
		w := Write{
			Kind: WriteEntry, Key: []byte(row[0].S), Value: []byte(row[1].S), Exclusive: row[2].Bool(),
			Row: []byte(row[3].S), Building: true,
		}
		out.add(shardmap.Bucket(row[4].N), w)
		if out.full() {
			_, err := out.flush()
			return err
		}
		return nil
	})
	if err == nil {
		_, err = out.flush()
	}
	c.Affected = before
	at.Rows += r.Rows
	at.After, at.Done = last, last == nil
	return c.fault(err)
}

// fillOp runs a plan.Fill.
type fillOp struct {
	node *plan.Fill
	rule *table.Rule
	row  types.Row
	next types.Row
	read types.RowReader
	list []table.Entry
	buf  []byte
}

func (k *compiler) fill(n *plan.Fill) (operator.Op, error) {
	rule, err := k.tableRule(&plan.Modify{
		Kind: plan.ModInsert, Table: n.Table, Schema: n.Schema, Indexes: []query.Index{n.Index},
	})
	if err != nil {
		return nil, err
	}
	return &fillOp{node: n, rule: rule, row: make(types.Row, len(n.Table.Columns)), next: make(types.Row, 5)}, nil
}

// Run implements Op.
func (o *fillOp) Run(x *operator.Execution, emit Emit) error {
	c := statement(x)
	view, err := c.local.open(c)
	if err != nil {
		return err
	}
	var last []byte
	rows := 0
	for _, iv := range c.local.task.Buckets.Intervals() {
		span := o.rule.Table.BucketSpan(iv)
		if o.node.After != nil && bytes.Compare(o.node.After, span.Start) >= 0 {
			span.Start = append(bytes.Clone(o.node.After), 0)
		}
		if bytes.Compare(span.Start, span.End) >= 0 {
			continue
		}
		err := view.Scan(c.ctx(), span, false, func(key, value []byte) error {
			if err := c.Tick(); err != nil {
				return err
			}
			rows++
			c.local.read++
			if err := o.take(c, key, value, emit); err != nil {
				return err
			}
			if rows == o.node.Limit {
				last = bytes.Clone(key)
				return operator.ErrStop
			}
			return nil
		})
		if err == operator.ErrStop {
			break
		}
		if err != nil {
			return err
		}
	}
	if last == nil {
		return nil
	}
	o.next[0], o.next[1] = types.NewBytes(aliasString(last)), types.Null
	return emit(o.next)
}

// take adds the entries of a row.
func (o *fillOp) take(c *Ctx, key, value []byte, emit Emit) error {
	if o.node.Beside {
		_, err := lockRow(c, o.rule.Table, key, txn.LockRequest{Mode: txn.Share, T: maxT}, "indexing")
		if err != nil {
			return err
		}
		if value, err = c.local.tx.Newest(c.ctx(), key); err != nil || value == nil {
			return err
		}
	}
	if err := o.rule.Table.Decode(&o.read, o.row, value); err != nil {
		return err
	}
	list, buf, err := o.rule.Indexes[0].Entries(&c.Ctx, o.row, key, o.list[:0], o.buf[:0])
	o.list, o.buf = list, buf
	for _, e := range list {
		if err == nil {
			err = o.add(c, &e, value, emit)
		}
	}
	return err
}

// add adds an entry of a row.
func (o *fillOp) add(c *Ctx, e *table.Entry, value []byte, emit Emit) error {
	if e.Index.Def.Global {
		o.next[0], o.next[1] = types.NewBytes(aliasString(e.Key)), types.NewBytes(aliasString(e.Value))
		o.next[2] = types.NewBool(e.Exclusive)
		o.next[3], o.next[4] = types.NewBytes(aliasString(value)), types.NewInt(int64(e.Bucket))
		return emit(o.next)
	}
	// That of a term is put again: a writer that changed the row has not put those which stayed.
	if !e.Exclusive && e.Index.Def.Method != catalog.GIN {
		if existing, err := newestEntry(c, e.Index, e.Key); err != nil || existing != nil {
			return err
		}
	}
	taken, _, err := stageEntry(c, e.Index, e.Key, e.Value, e.Exclusive)
	if err == nil && taken {
		err = o.rule.Indexes[0].NotUnique(&c.Ctx, o.rule.Schema, o.row)
	}
	return err
}
