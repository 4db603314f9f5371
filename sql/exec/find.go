package exec

import (
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec/operator"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/plan/walk"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// finder looks rows up in a global index before the fragments with the rows are reached.
type finder struct {
	values  *indexValues
	program *Program
	node    plan.Find
	found   [][]byte // keys of rows, of the last find
}

func (k *compiler) finder(x *plan.IndexScan) (*finder, error) {
	if x == nil {
		return nil, nil
	}
	values, err := k.indexValues(x)
	if err != nil {
		return nil, err
	}
	f := &finder{values: values, node: plan.Find{Scan: x}}
	f.program, err = compileNode(f.node, 0)
	k.Own(f)
	return f, err
}

// IndexBuckets returns the buckets of the entries that a lookup reads, for EXPLAIN; known is false
// if they depend on the running plan.
func IndexBuckets(c *Ctx, x *plan.IndexScan) (set shardmap.BucketSet, known bool) {
	for _, e := range walk.IndexExprs(x) {
		lateral := false
		walk.Visit(e, func(e query.Expr) {
			_, outer := e.(*query.Outer)
			lateral = lateral || outer
		})
		if lateral {
			return set, false
		}
	}
	c.link()
	values, err := newCompiler().indexValues(x)
	if err != nil {
		return set, false
	}
	prefixes, err := values.prefixes(c)
	if err != nil {
		return set, false
	}
	var buckets []shardmap.Bucket
	for _, p := range prefixes {
		buckets = append(buckets, table.BucketIn(p))
	}
	return shardmap.BucketSetOf(buckets...), true
}

// prefixes returns the prefixes of the entries' keys. Their buckets are at the same place as those
// of rows.
func (o *indexValues) prefixes(c *Ctx) ([][]byte, error) {
	var out [][]byte
	err := o.keys[0].tuples(c, func(vals types.Row) error {
		b := o.rule.ValueBucket(vals, nil, true)
		prefix := append(o.rule.AppendPrefix(nil), byte(b>>16), byte(b>>8), byte(b))
		out = append(out, o.rule.AppendColumns(prefix, vals))
		return nil
	})
	return out, err
}

// find looks the rows up and returns their buckets that are in set.
func (f *finder) find(c *Ctx, set shardmap.BucketSet) (shardmap.BucketSet, error) {
	f.found = nil
	prefixes, err := f.values.prefixes(c)
	if err != nil || len(prefixes) == 0 {
		return shardmap.BucketSet{}, err
	}
	t, err := c.reads.of(c, f.node.Scan.Table)
	if err != nil {
		return shardmap.BucketSet{}, err
	}
	var buckets []shardmap.Bucket
	err = f.askAll(c, t, prefixes, 0, func(key []byte) {
		if b := table.BucketIn(key); set.Contains(b) {
			f.found, buckets = append(f.found, key), append(buckets, b)
		}
	})
	return shardmap.BucketSetOf(buckets...), err
}

// askAll looks prefixes up, each in the fragment with its entries.
func (f *finder) askAll(c *Ctx, t txn.Timestamp, prefixes [][]byte, rerouted int, take func(key []byte)) error {
	byFragment := map[shardmap.FragmentID]*Task{}
	var order []shardmap.FragmentID
	m := c.Gateway.mapOf(f.node.Scan.Table)
	for _, p := range prefixes {
		id := m.Lookup(table.BucketIn(p))
		if byFragment[id] == nil {
			byFragment[id] = &Task{
				Txn: c.Gateway.Txn, T: t, Epoch: m.Epoch(), Plan: f.node,
				Params: c.Params, Outers: c.Outers, Env: c.Env,
				Session: c.Session, Mem: c.Mem, Limits: c.Limits, Seen: c.seen(id), program: f.program,
			}
			order = append(order, id)
		}
		byFragment[id].Prefix = append(byFragment[id].Prefix, p)
	}
	for _, id := range order {
		task := byFragment[id]
		err := c.reads.missing[id]
		var keys [][]byte
		if err == nil {
			keys, err = f.ask(c, id, task)
		}
		if c.lost(err, 0) { // the rows that its entries lead to are missing in the result
			c.Partial.lacks([]Missing{{id, err}})
			continue
		}
		m, ok, err := c.Gateway.rerouted(c.ctx(), err, task.Epoch)
		switch {
		case ok && rerouted < maxReroutes:
			c.Gateway.adopt(m)
			err = f.askAll(c, t, task.Prefix, rerouted+1, take)
		case err == nil:
			for _, key := range keys {
				take(key)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ask runs a lookup in one fragment.
func (f *finder) ask(c *Ctx, id shardmap.FragmentID, task *Task) ([][]byte, error) {
	var buckets []shardmap.Bucket
	for _, p := range task.Prefix {
		buckets = append(buckets, table.BucketIn(p))
	}
	task.Buckets = shardmap.BucketSetOf(buckets...)
	fragment, err := c.Gateway.Fragment(id)
	if err != nil {
		return nil, err
	}
	var keys [][]byte
	_, err = c.Gateway.run(c.ctx(), fragment, task, func(row types.Row) error {
		keys = append(keys, []byte(row[0].S))
		return nil
	})
	return keys, c.fault(err)
}

// findOp runs a plan.Find.
type findOp struct {
	rule *table.Index
	key  []byte
	out  types.Row
}

func (k *compiler) find(n plan.Find) (operator.Op, error) {
	values, err := k.indexValues(n.Scan)
	if err != nil {
		return nil, err
	}
	return &findOp{rule: values.rule, out: make(types.Row, 1)}, nil
}

// Run implements Op.
func (o *findOp) Run(x *operator.Execution, emit Emit) error {
	c := statement(x)
	view, err := c.local.open(c)
	if err != nil {
		return err
	}
	for _, prefix := range c.local.task.Prefix {
		err := scanEntries(c, o.rule, view, prefix, func(key, value []byte) error {
			c.local.read++
			row, err := o.rule.Table.RowOfEntry(o.key[:0], key, value)
			if err != nil {
				return err
			}
			o.key, o.out[0] = row, types.NewBytes(aliasString(row))
			return emit(o.out)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
