package exec

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// indexValues evaluates what a plan.IndexScan looks for.
type indexValues struct {
	scan   *plan.IndexScan
	rule   *indexRule // without its expressions: how entries are spelt
	equal  [][]Eval
	arrays []Eval
	lo, hi Eval
}

func (k *compiler) indexValues(x *plan.IndexScan) (*indexValues, error) {
	if x == nil {
		return nil, nil
	}
	t, err := newTable(x.Table)
	if err != nil {
		return nil, err
	}
	rule := k.uses(&indexRule{table: t, def: x.Index.Def, late: isDeferrable(x.Table, x.Index.Def), types: typesOf(x.Index.Keys)})
	o := &indexValues{scan: x, rule: rule}
	for i, list := range x.Equal {
		fs, err := k.exprs(list)
		if err != nil {
			return nil, err
		}
		array, err := k.optional(x.Arrays[i])
		if err != nil {
			return nil, err
		}
		o.equal, o.arrays = append(o.equal, fs), append(o.arrays, array)
	}
	if o.lo, err = k.optional(x.Lo); err != nil {
		return nil, err
	}
	o.hi, err = k.optional(x.Hi)
	return o, err
}

// tuples calls f for every combination of the first columns' values, each once; nulls match nothing. vals is valid during the call.
func (o *indexValues) tuples(c *Ctx, f func(vals Row) error) error {
	if o.scan.Paired {
		return o.pairs(c, f)
	}
	lists := make([][]types.Datum, len(o.equal))
	for i := range o.equal {
		list, err := o.column(c, i)
		if err != nil || len(list) == 0 {
			return err
		}
		lists[i] = list
	}
	vals := make(Row, len(lists))
	var each func(i int) error
	each = func(i int) error {
		if i == len(lists) {
			return f(vals)
		}
		for _, d := range lists[i] {
			vals[i] = d
			if err := each(i + 1); err != nil {
				return err
			}
		}
		return nil
	}
	return each(0)
}

// pairs is tuples where the columns' values go together.
func (o *indexValues) pairs(c *Ctx, f func(vals Row) error) error {
	var seen keySet
	vals := make(Row, len(o.equal))
	for n := range o.equal[0] {
		var key []byte
		for i := range vals {
			var err error
			if vals[i], err = o.equal[i][n](c, nil); err != nil {
				return err
			}
			key = types.AppendKey(key, o.rule.types[i], vals[i], false)
		}
		if anyNull(vals) {
			continue
		}
		fresh, err := seen.add(key)
		if err == nil && fresh {
			err = f(vals)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// column gives the different values of a column.
func (o *indexValues) column(c *Ctx, i int) ([]types.Datum, error) {
	var data []types.Datum
	if o.arrays[i] != nil {
		elems, err := arrayElems(c, o.arrays[i])
		if err != nil {
			return nil, err
		}
		data = elems
	}
	for _, f := range o.equal[i] {
		d, err := f(c, nil)
		if err != nil {
			return nil, err
		}
		data = append(data, d)
	}
	if len(data) == 1 && !data[0].IsNull() {
		return data, nil
	}
	var seen keySet
	var out []types.Datum
	for _, d := range data {
		if d.IsNull() {
			continue
		}
		fresh, err := seen.add(types.AppendKey(nil, o.rule.types[i], d, false))
		if err != nil {
			return nil, err
		}
		if fresh {
			out = append(out, d)
		}
	}
	return out, nil
}

// bounds gives the span of the entries behind prefix, whose column i lies between the bounds; empty where none can.
func (o *indexValues) bounds(c *Ctx, prefix []byte, i int) (span txn.Span, empty bool, err error) {
	span = txn.Prefix(prefix)
	desc := o.rule.def.OrderOf(i)&catalog.KeyDesc != 0
	for _, b := range []struct {
		f     Eval
		inc   bool
		lower bool
	}{{o.lo, o.scan.LoInc, true}, {o.hi, o.scan.HiInc, false}} {
		if b.f == nil {
			continue
		}
		d, err := b.f(c, nil)
		if err != nil || d.IsNull() {
			return span, true, err
		}
		key := o.rule.appendColumn(slices.Clone(prefix), i, d)
		if start := b.lower != desc; start {
			if span.Start = key; !b.inc {
				span.Start = txn.PrefixEnd(key)
			}
		} else if span.End = key; b.inc {
			span.End = txn.PrefixEnd(key)
		}
	}
	return span, span.Start == nil || bytes.Compare(span.Start, span.End) >= 0, nil
}

func (x *indexRule) appendColumn(dst []byte, i int, d types.Datum) []byte {
	o := x.def.OrderOf(i)
	return types.AppendKeyNulls(dst, x.types[i], d, o&catalog.KeyDesc != 0, o&catalog.KeyNullsFirst != 0)
}

// whole tells whether the values of all columns are given, so that a unique index has at most one entry for them.
func (o *indexValues) whole() bool { return len(o.equal) == len(o.rule.types) }

// byIndex reads by a local index: entries, then the rows they lead to.
func (o *scanOp) byIndex(c *Ctx, view View) error {
	x := o.index
	return x.tuples(c, func(vals Row) error {
		prefix := x.rule.appendColumns(x.rule.appendPrefix(nil), vals)
		if x.whole() {
			return x.rule.entries(c, view, prefix, func(key, value []byte) error { return o.follow(c, view, key, value) })
		}
		span, empty, err := x.bounds(c, prefix, len(vals))
		if err != nil || empty {
			return err
		}
		return view.Scan(c.ctx(), span, false, func(key, value []byte) error { return o.follow(c, view, key, value) })
	})
}

// entries gives the entries whose columns are those of prefix.
func (x *indexRule) entries(c *Ctx, view View, prefix []byte, f func(key, value []byte) error) error {
	if !x.def.Unique || x.late {
		return view.Scan(c.ctx(), txn.Prefix(prefix), false, f)
	}
	value, err := view.Get(c.ctx(), prefix)
	if err != nil || value == nil {
		return err
	}
	return f(prefix, value)
}

// follow reads the row that an entry leads to, if its bucket is the task's, and the entry of its stay.
func (o *scanOp) follow(c *Ctx, view View, key, value []byte) error {
	if p, ok := placeOfEntry(value); ok {
		if !c.local.task.Buckets.Contains(p.bucket) {
			return c.tick()
		}
		if !p.stands(view) {
			counts, err := o.index.rule.confirmed(c, key, value, func(row []byte) ([]byte, error) { return view.Get(c.ctx(), row) })
			if err != nil || !counts {
				return cmp.Or(err, c.tick())
			}
		}
	}
	row, err := o.table.rowOfEntry(o.key[:0], key, value)
	if err != nil {
		return err
	}
	o.key = row
	return o.present(c, view, row)
}

// present reads a row that an entry has named.
func (o *scanOp) present(c *Ctx, view View, key []byte) error {
	value, err := view.Get(c.ctx(), key)
	if err != nil {
		return err
	}
	if value == nil {
		return internal("index entry of table %q names a row that is not there", o.table.def.Name)
	}
	return o.take(key, value)
}

// byFound reads the rows that the gateway has found.
func (o *scanOp) byFound(c *Ctx, view View) error {
	for _, key := range c.local.task.Found {
		if !c.local.task.Buckets.Contains(bucketOfKey(key)) {
			continue
		}
		if err := o.present(c, view, key); err != nil {
			return err
		}
	}
	return nil
}

// finder looks rows up by a global index, before the fragments that hold them are asked.
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
	return f, err
}

// IndexBuckets gives the buckets of the entries that a lookup reads, for EXPLAIN; known is false where it hangs on the running plan.
func IndexBuckets(c *Ctx, x *plan.IndexScan) (set shardmap.BucketSet, known bool) {
	for _, e := range indexExprs(x) {
		lateral := false
		visitExpr(e, func(e query.Expr) {
			_, outer := e.(*plan.Outer)
			lateral = lateral || outer
		})
		if lateral {
			return set, false
		}
	}
	values, err := (&compiler{}).indexValues(x)
	if err != nil {
		return set, false
	}
	prefixes, err := values.prefixes(c)
	if err != nil {
		return set, false
	}
	var buckets []shardmap.Bucket
	for _, p := range prefixes {
		buckets = append(buckets, bucketOfKey(p))
	}
	return shardmap.BucketSetOf(buckets...), true
}

// prefixes gives what the keys of the entries begin with; their buckets stand where those of rows do.
func (o *indexValues) prefixes(c *Ctx) ([][]byte, error) {
	var out [][]byte
	err := o.tuples(c, func(vals Row) error {
		b := o.rule.valueBucket(vals, nil, true)
		prefix := append(o.rule.appendPrefix(nil), byte(b>>16), byte(b>>8), byte(b))
		out = append(out, o.rule.appendColumns(prefix, vals))
		return nil
	})
	return out, err
}

// find looks the rows up and gives those of their buckets that lie in set.
func (f *finder) find(c *Ctx, set shardmap.BucketSet) (shardmap.BucketSet, error) {
	f.found = nil
	prefixes, err := f.values.prefixes(c)
	if err != nil || len(prefixes) == 0 {
		return shardmap.BucketSet{}, err
	}
	t, err := c.reads.at(c)
	if err != nil {
		return shardmap.BucketSet{}, err
	}
	var buckets []shardmap.Bucket
	err = f.askAll(c, t, prefixes, 0, func(key []byte) {
		if b := bucketOfKey(key); set.Contains(b) {
			f.found, buckets = append(f.found, key), append(buckets, b)
		}
	})
	return shardmap.BucketSetOf(buckets...), err
}

// askAll looks prefixes up, each in the fragment that has its entries.
func (f *finder) askAll(c *Ctx, t txn.Timestamp, prefixes [][]byte, rerouted int, take func(key []byte)) error {
	byFragment := map[shardmap.FragmentID]*Task{}
	var order []shardmap.FragmentID
	for _, p := range prefixes {
		id := c.Gateway.Map.Lookup(bucketOfKey(p))
		if byFragment[id] == nil {
			byFragment[id] = &Task{
				Txn: c.Gateway.Txn, T: t, Epoch: c.Gateway.Map.Epoch(), Plan: f.node, Params: c.Params, Outers: c.outers, Env: c.Env,
				Session: c.Session, Mem: c.Mem, Limits: c.Limits, Seen: c.seen(id), program: f.program,
			}
			order = append(order, id)
		}
		byFragment[id].Prefix = append(byFragment[id].Prefix, p)
	}
	for _, id := range order {
		task := byFragment[id]
		keys, err := f.ask(c, id, task)
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
		buckets = append(buckets, bucketOfKey(p))
	}
	task.Buckets = shardmap.BucketSetOf(buckets...)
	fragment, err := c.Gateway.Fragment(id)
	if err != nil {
		return nil, err
	}
	var keys [][]byte
	_, err = guarded(c.ctx(), fragment, task, func(row Row) error {
		keys = append(keys, []byte(row[0].S))
		return nil
	})
	return keys, c.fault(err)
}

// findOp runs a plan.Find.
type findOp struct {
	rule *indexRule
	key  []byte
	out  Row
}

func (k *compiler) find(n plan.Find) (Op, error) {
	values, err := k.indexValues(n.Scan)
	if err != nil {
		return nil, err
	}
	return &findOp{rule: values.rule, out: make(Row, 1)}, nil
}

// Run implements Op.
func (o *findOp) Run(c *Ctx, emit Emit) error {
	view, err := c.local.open(c)
	if err != nil {
		return err
	}
	for _, prefix := range c.local.task.Prefix {
		err := o.rule.entries(c, view, prefix, func(key, value []byte) error {
			c.local.read++
			row, err := o.rule.table.rowOfEntry(o.key[:0], key, value)
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
