package exec

import (
	"bytes"
	"slices"
	"unsafe"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/keyfilter"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/exec/operator"
	"github.com/sherddb/sherd/sql/exec/route"
	"github.com/sherddb/sherd/sql/exec/splitdoc"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

func aliasString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// scanOp reads one table inside a fragment: the task's buckets, some keys, or a range in key order.
// It decodes only the slots that the plan needs.
type scanOp struct {
	table     *table.Table
	access    plan.AccessKind
	slots     []scanSlot
	filter    expr.Eval
	keys      [][]expr.Eval
	array     expr.Eval
	desc      bool
	anyOrder  bool
	index     *indexValues
	entries   entriesAlone
	hot       *splitdoc.Combiner // nil: none of the rows is a split document
	span      *route.Span
	only      *keyfilter.Scan
	out       types.Row
	columns   []expr.Eval
	projected types.Row // nil: out is passed on
	reader    types.RowReader
	vals      types.Row
	key       []byte
	c         *Ctx
	emit      Emit
	takeRow   func(key, value []byte) error // take, bound once
	removed   int64
}

// entriesAlone is how a scan reads entries of its index without their rows.
type entriesAlone struct {
	reader *table.EntryReader // nil: they do not have all that the scan reads
	filter expr.Eval          // what they need not meet anyway
	unread []int              // slots that they do not have
}

// Removed implements operator.Filtering.
func (o *scanOp) Removed() int64 { return o.removed }

// scanSlot is an output slot: a column's position, or a system column.
type scanSlot struct {
	col  int
	kind types.Kind
}

func (k *compiler) scan(n *plan.Scan) (*scanOp, error) {
	t, err := table.New(n.Table)
	if err != nil {
		return nil, err
	}
	o := &scanOp{
		table: t, access: n.Access, desc: n.Desc, anyOrder: n.AnyOrder,
		out: make(types.Row, len(n.Slots)), slots: make([]scanSlot, 0, len(n.Slots)),
	}
	for _, s := range n.Slots {
		sl := scanSlot{col: s}
		if s >= len(t.Kinds) { // a damaged task of another node
			return nil, internal("column %d of a table with %d columns is scanned", s+1, len(t.Kinds))
		}
		if s >= 0 {
			sl.kind = t.Kinds[s]
		}
		o.slots = append(o.slots, sl)
	}
	for _, tuple := range n.Keys {
		fs, err := k.Exprs(tuple)
		if err != nil {
			return nil, err
		}
		o.keys = append(o.keys, fs)
	}
	for _, e := range []struct {
		into *expr.Eval
		from query.Expr
	}{{&o.filter, n.Filter}, {&o.array, n.KeyArray}, {&o.entries.filter, n.EntryFilter}} {
		if *e.into, err = k.Optional(e.from); err != nil {
			return nil, err
		}
	}
	if o.index, err = k.indexValues(n.Index); err != nil {
		return nil, err
	}
	if o.span, err = k.span(t, n); err != nil {
		return nil, err
	}
	if o.entries.reader, err = o.entryReader(n); err != nil {
		return nil, err
	}
	if len(n.Keys) > 0 {
		o.vals = make(types.Row, len(n.Keys[0]))
	}
	if o.only, err = keyfilter.NewScan(n); err != nil {
		return nil, err
	}
	o.takeRow = o.take
	o.hot, err = splitdoc.NewCombiner(&k.Compiler.Compiler, n)
	return o, err
}

// entryReader returns a reader of the entries that the scan reads, nil if it has to read the rows.
func (o *scanOp) entryReader(n *plan.Scan) (*table.EntryReader, error) {
	columns, ok := n.EntryColumns()
	if !n.EntryAlone {
		o.entries.filter = o.filter
	}
	for slot := range n.Slots {
		if !slices.ContainsFunc(columns, func(c plan.EntryColumn) bool { return c.Slot == slot }) {
			o.entries.unread = append(o.entries.unread, slot)
		}
	}
	switch {
	case !ok:
		return nil, nil
	case o.index == nil:
		return table.NewEntryReader(o.table, nil, columns)
	case o.index.rule.Late:
		return nil, nil
	}
	return table.NewEntryReader(o.table, o.index.rule, columns)
}

// span compiles the keys that a scan is restricted to; nil is all.
func (k *compiler) span(t *table.Table, n *plan.Scan) (*route.Span, error) {
	x := n.Span
	switch {
	case n.Access != plan.ScanOrdered:
		if x != nil && !t.Ranged() {
			return nil, internal("a key range that table %q has not", t.Def.Name)
		}
	case t.Order == 0:
		return nil, internal("table %q has no index in the order of keys", t.Def.Name)
	case x == nil:
		x = &plan.KeySpan{KeyBounds: plan.KeyBounds{Lo: n.Lo, Hi: n.Hi, LoInc: n.LoInc, HiInc: n.HiInc}}
	}
	return route.NewSpan(&k.Compiler.Compiler, t, x)
}

// Run implements Op.
func (o *scanOp) Run(x *operator.Execution, emit Emit) error {
	c := statement(x)
	if c.local == nil {
		return internal("table %q is scanned outside a fragment", o.table.Def.Name)
	}
	view, err := c.local.open(c)
	if err != nil {
		return err
	}
	o.c, o.emit = c, emit
	if err := o.only.Start(&c.Ctx); err != nil {
		return err
	}
	if o.hot != nil {
		if err := o.hot.Start(&c.Ctx); err != nil {
			return err
		}
	}
	if all, err := o.everything(c); all || err != nil {
		if err != nil {
			return err
		}
		return o.byBuckets(c, view)
	}
	switch o.access {
	case plan.ScanKeys:
		return o.byKeys(c, view)
	case plan.ScanOrdered:
		return o.ordered(c, view)
	case plan.ScanIndex:
		return o.byIndex(c, view)
	case plan.ScanFound:
		if c.local.task.FoundBy == o.index.scan.N {
			return o.byFound(c, view)
		}
	}
	if o.span != nil {
		return o.bySpan(c, view)
	}
	return o.byBuckets(c, view)
}

// byBuckets reads all rows in the task's buckets.
func (o *scanOp) byBuckets(c *Ctx, view View) error {
	for _, iv := range c.local.task.Buckets.Intervals() {
		if err := view.Scan(c.ctx(), o.table.BucketSpan(iv), false, o.takeRow); err != nil {
			return err
		}
	}
	return nil
}

// everything reports whether the rows may be read in any order and the bound of the index, which
// only the running statement has, excludes none of them.
func (o *scanOp) everything(c *Ctx) (bool, error) {
	switch {
	case !o.anyOrder:
	case o.access == plan.ScanOrdered:
		return o.span.Everything(&c.Ctx)
	case o.access == plan.ScanIndex && len(o.index.keys) == 1 && len(o.index.keys[0].equal) == 0 &&
		o.index.scan.Index.Where == nil:
		return o.index.keys[0].bounds.Everything(&c.Ctx)
	}
	return false, nil
}

// take decodes a row, filters it and passes it or its projection on.
func (o *scanOp) take(key, value []byte) error {
	if err := o.c.Tick(); err != nil {
		return err
	}
	o.c.local.read++
	ok, err := o.decode(o.c, key, value)
	return o.pass(ok, err)
}

// pass passes out, or its projection, on if the filter has kept it.
func (o *scanOp) pass(kept bool, err error) error {
	if err != nil || !kept {
		o.removed++
		return err
	}
	if !o.only.Keeps(o.out) {
		return nil
	}
	if o.projected == nil {
		return o.emit(o.out)
	}
	if err := expr.EvalInto(&o.c.Ctx, o.projected, o.columns, o.out); err != nil {
		return err
	}
	return o.emit(o.projected)
}

// takeEntry is take for a row whose slots are in an entry of the index and in its primary key.
func (o *scanOp) takeEntry(key, primaryKey []byte) error {
	if err := o.c.Tick(); err != nil {
		return err
	}
	o.c.local.read++
	if err := o.entries.reader.Read(o.out, key, primaryKey); err != nil {
		return err
	}
	for _, slot := range o.entries.unread { // it may be that of a row that was read
		o.out[slot] = types.Null
	}
	return o.pass(o.entries.filter.Holds(&o.c.Ctx, o.out))
}

// decode decodes a stored row into out and reports whether the filter keeps it.
func (o *scanOp) decode(c *Ctx, key, value []byte) (bool, error) {
	if err := o.reader.Reset(value); err != nil {
		return false, err
	}
	for i := range o.slots {
		s := &o.slots[i]
		if s.col < 0 {
			o.out[i] = o.table.SystemColumn(s.col, key)
			continue
		}
		if s.kind == types.KindNull {
			o.out[i] = types.Null
			continue
		}
		d, missing, err := o.reader.Column(s.col, s.kind)
		if err != nil {
			return false, err
		}
		if missing {
			d = o.table.Missing[s.col]
		}
		o.out[i] = d
	}
	if o.hot != nil {
		if err := o.hot.Apply(key, o.out); err != nil {
			return false, err
		}
	}
	return o.filter.Holds(&c.Ctx, o.out)
}

// newest reads the present version of a row, under its lock, and reports whether the scan still
// returns it.
func (o *scanOp) newest(c *Ctx, key []byte) (bool, error) {
	value, err := c.local.tx.Newest(c.ctx(), key)
	if err != nil {
		return false, err
	}
	if value == nil {
		return false, o.gone(c, key)
	}
	return o.decode(c, key, value)
}

// byKeys reads single rows by primary key, each once even if several tuples are equal.
func (o *scanOp) byKeys(c *Ctx, view View) error {
	if o.array != nil {
		return o.byArray(c, view)
	}
	var seen memory.KeySet
	for _, tuple := range o.keys {
		if err := expr.EvalInto(&c.Ctx, o.vals, tuple, nil); err != nil {
			return err
		}
		if len(o.keys) > 1 && !table.AnyNull(o.vals) {
			if fresh, err := seen.Add(o.table.AppendKey(nil, o.vals)); err != nil || !fresh {
				if err != nil {
					return err
				}
				continue
			}
		}
		if err := o.lookup(c, view, o.vals); err != nil {
			return err
		}
	}
	return nil
}

// byArray reads the rows whose single key column is in an array, each once.
func (o *scanOp) byArray(c *Ctx, view View) error {
	d, err := o.array(&c.Ctx, nil)
	if err != nil || d.IsNull() {
		return err
	}
	a, err := types.ArrayOf(d)
	if err != nil {
		return err
	}
	var seen memory.KeySet
	for i := range a.Len() {
		v := types.Row{a.At(i)}
		if v[0].IsNull() {
			continue
		}
		fresh, err := seen.Add(o.table.AppendKey(nil, v))
		if err != nil {
			return err
		}
		if !fresh {
			continue
		}
		if err := o.lookup(c, view, v); err != nil {
			return err
		}
	}
	return nil
}

// lookup reads the row of a key, if the key's bucket is the task's.
func (o *scanOp) lookup(c *Ctx, view View, keys types.Row) error {
	bucket, ok, err := o.table.BucketOf(keys)
	if err != nil || !ok || !c.local.task.Buckets.Contains(bucket) {
		return err
	}
	o.key = o.table.AppendKey(o.table.AppendRowPrefix(o.key[:0], bucket), keys)
	value, err := view.Get(c.ctx(), o.key)
	if err != nil || value == nil {
		return err
	}
	return o.take(o.key, value)
}

// ordered reads by the index in primary key order.
func (o *scanOp) ordered(c *Ctx, view View) error {
	ranges, err := o.span.Ranges(&c.Ctx)
	if err != nil {
		return err
	}
	prefix := o.table.OrderPrefix(nil)
	for i, r := range ranges {
		ranges[i] = shardmap.KeyRange{Start: slices.Concat(prefix, r.Start), End: slices.Concat(prefix, r.End)}
		if len(r.End) == 0 {
			ranges[i].End = txn.PrefixEnd(prefix)
		}
	}
	return scanRanges(c, view, ranges, o.desc, func(key, value []byte) error {
		return o.followOrder(c, view, key[len(prefix):], value)
	})
}

// followOrder reads the row of an entry of the index in primary key order, if the task reads its
// bucket.
func (o *scanOp) followOrder(c *Ctx, view View, primaryKey, value []byte) error {
	p, ok := table.PlaceOfOrder(value)
	if !ok {
		return o.table.DamagedEntry(primaryKey)
	}
	p = p.By(o.table, primaryKey)
	if !c.local.task.Buckets.Contains(p.Bucket) {
		return c.Tick()
	}
	if o.entries.reader != nil && p.Stands(view) {
		return o.takeEntry(nil, primaryKey)
	}
	o.key = append(o.table.AppendRowPrefix(o.key[:0], p.Bucket), primaryKey...)
	row, err := view.Get(c.ctx(), o.key)
	if err != nil {
		return err
	}
	if row == nil && !p.Stands(view) { // see table/confirm.go
		return c.Tick()
	}
	if row == nil {
		return internal("index entry of table %q names a row that is not there", o.table.Def.Name)
	}
	return o.take(o.key, row)
}

// bySpan reads the rows of the task's buckets whose keys are in the span.
func (o *scanOp) bySpan(c *Ctx, view View) error {
	ranges, err := o.span.Ranges(&c.Ctx)
	if err != nil {
		return err
	}
	for _, r := range ranges {
		set := o.table.Def.Segments.Of(r).Buckets().Intersect(c.local.task.Buckets)
		for _, iv := range set.Intervals() {
			for b := shardmap.Bucket(iv.Lo); uint32(b) < iv.Hi; b++ {
				prefix := o.table.AppendRowPrefix(nil, b)
				s := txn.Span{
					Start: append(bytes.Clone(prefix), r.Start...), End: append(bytes.Clone(prefix), r.End...),
				}
				if len(r.End) == 0 {
					s.End = o.table.BucketSpan(shardmap.OneBucket(b)).End
				}
				if err := view.Scan(c.ctx(), s, false, o.takeRow); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// gone handles a row that a READ COMMITTED statement has waited for and that is deleted now. The
// row may exist under another key; then the statement runs again, with a snapshot that shows it.
// Otherwise the row is left out. It is also left out if the scan looks up the old key, because a
// row under another key is not asked for.
func (o *scanOp) gone(c *Ctx, key []byte) error {
	t := o.table
	if t.Def.Forwarding == 0 {
		if o.access == plan.ScanKeys {
			return nil
		}
		if left, err := c.local.tx.Left(key); err != nil || !left {
			return err
		}
	}
	return pgerr.New(pgerr.SerializationFailure, "could not serialize access due to concurrent update").
		WithDetail("%s was deleted, or has another key now.", pgerr.Capital(t.NameOf(c.Env, key))).
		WithHint("Try the transaction again.")
}
