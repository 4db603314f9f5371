package exec

import (
	"cmp"
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/exec/posting"
	"github.com/sherddb/sherd/sql/exec/route"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/gin"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// indexValues evaluates the values that a plan.IndexScan looks up.
type indexValues struct {
	scan *plan.IndexScan
	rule *table.Index // of a global index without its expressions: how entries are spelt
	keys []indexKeys  // one, or one for each arm
}

// indexKeys evaluates plan.IndexKeys.
type indexKeys struct {
	*plan.IndexKeys
	rule   *table.Index
	equal  [][]expr.Eval
	arrays []expr.Eval
	bounds *route.Bounds // of the columns behind those with values
	terms  []expr.Eval   // the values of Terms
}

func (k *compiler) indexValues(x *plan.IndexScan) (*indexValues, error) {
	if x == nil {
		return nil, nil
	}
	t, err := table.New(x.Table)
	if err != nil {
		return nil, err
	}
	o := &indexValues{scan: x}
	if o.rule, err = k.scanRule(t, x.Index); err != nil {
		return nil, err
	}
	all := x.All()
	for i := range all {
		keys, err := k.indexKeys(&all[i], o.rule)
		if err != nil {
			return nil, err
		}
		o.keys = append(o.keys, keys)
	}
	return o, nil
}

func (k *compiler) indexKeys(x *plan.IndexKeys, rule *table.Index) (o indexKeys, err error) {
	o = indexKeys{IndexKeys: x, rule: rule}
	if len(x.Equal) > len(rule.Types) {
		return o, internal("index %q has fewer columns than are looked up", rule.Def.Name)
	}
	for i, list := range x.Equal {
		fs, err := k.Exprs(list)
		if err != nil {
			return o, err
		}
		array, err := k.Optional(x.Arrays[i])
		if err != nil {
			return o, err
		}
		o.equal, o.arrays = append(o.equal, fs), append(o.arrays, array)
	}
	for _, t := range x.Terms {
		if rule.Def.Method != catalog.GIN || t.Column < 0 || t.Column >= len(rule.Types) {
			return o, internal("index %q has no terms of column %d", rule.Def.Name, t.Column)
		}
		f, err := k.Expr(t.Value)
		if err != nil {
			return o, err
		}
		o.terms = append(o.terms, f)
	}
	o.bounds, err = route.NewBounds(&k.Compiler.Compiler, &x.KeyBounds, indexColumns(rule)[len(o.equal):])
	return o, err
}

// indexColumns returns how the columns of entries are encoded. The primary key follows those of an
// index that is not unique.
func indexColumns(x *table.Index) []route.Column {
	out := make([]route.Column, len(x.Types))
	for i, t := range x.Types {
		order := x.Def.OrderOf(i)
		out[i] = route.Column{
			Type: t, Desc: order&catalog.KeyDesc != 0, NullsFirst: order&catalog.KeyNullsFirst != 0,
		}
	}
	if !x.Def.Unique {
		out = append(out, route.PrimaryKey(x.Table)...)
	}
	return out
}

// scanRule returns the rule of an index that is read. Entries of a global index are in the fragment
// of their bucket, and do not have to be confirmed by rows.
func (k *compiler) scanRule(t *table.Table, x query.Index) (*table.Index, error) {
	if x.Def.Global {
		r := table.NewGlobalIndex(t, x)
		k.use([]*table.Index{r})
		k.Own(r)
		return r, nil
	}
	rules, err := k.indexRules(t, []query.Index{x})
	if err != nil {
		return nil, err
	}
	return rules[0], nil
}

// tuples calls f once for every combination of the first columns' values; nulls match nothing. vals
// is valid during the call.
func (o *indexKeys) tuples(c *Ctx, f func(vals types.Row) error) error {
	if o.Paired {
		return o.pairs(c, f)
	}
	lists := make([][]types.Datum, len(o.equal))
	for i := range o.equal {
		if slices.Contains(o.Nulls, i) {
			lists[i] = []types.Datum{types.Null}
			continue
		}
		list, err := o.column(c, i)
		if err != nil || len(list) == 0 {
			return err
		}
		lists[i] = list
	}
	vals := make(types.Row, len(lists))
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

// pairs is tuples for columns whose values belong together.
func (o *indexKeys) pairs(c *Ctx, f func(vals types.Row) error) error {
	var seen memory.KeySet
	vals := make(types.Row, len(o.equal))
	for n := range o.equal[0] {
		var key []byte
		for i := range vals {
			var err error
			if vals[i], err = o.equal[i][n](&c.Ctx, nil); err != nil {
				return err
			}
			key = types.AppendKey(key, o.rule.Types[i], vals[i], false)
		}
		if table.AnyNull(vals) {
			continue
		}
		fresh, err := seen.Add(key)
		if err == nil && fresh {
			err = f(vals)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// column returns the different values of a column.
func (o *indexKeys) column(c *Ctx, i int) ([]types.Datum, error) {
	var data []types.Datum
	if o.arrays[i] != nil {
		elems, err := o.arrays[i].Elements(&c.Ctx)
		if err != nil {
			return nil, err
		}
		data = elems
	}
	for _, f := range o.equal[i] {
		d, err := f(&c.Ctx, nil)
		if err != nil {
			return nil, err
		}
		data = append(data, d)
	}
	if len(data) == 1 && !data[0].IsNull() {
		return data, nil
	}
	var seen memory.KeySet
	var out []types.Datum
	for _, d := range data {
		if d.IsNull() {
			continue
		}
		fresh, err := seen.Add(types.AppendKey(nil, o.rule.Types[i], d, false))
		if err != nil {
			return nil, err
		}
		if fresh {
			out = append(out, d)
		}
	}
	return out, nil
}

// whole reports whether the values of all columns are known, so that a unique index has at most one
// entry for them.
func (o *indexKeys) whole() bool { return len(o.equal) == len(o.rule.Types) }

// byIndex reads by a local index: first entries, then their rows.
func (o *scanOp) byIndex(c *Ctx, view View) error {
	x := o.index
	if len(x.keys) == 1 && len(x.keys[0].terms) > 0 {
		return o.byTerms(c, view, &x.keys[0])
	}
	follow := func(key, value []byte) error { return o.follow(c, view, key, value) }
	var ranges []shardmap.KeyRange
	for i := range x.keys {
		keys := &x.keys[i]
		err := keys.tuples(c, func(vals types.Row) error {
			prefix := x.rule.AppendColumns(x.rule.AppendPrefix(nil), vals)
			if len(x.keys) == 1 && keys.whole() && x.rule.Def.Unique && !table.AnyNull(vals) {
				return scanEntries(c, x.rule, view, prefix, follow)
			}
			r, ok, err := keys.bounds.Range(&c.Ctx, prefix)
			if ok {
				ranges = append(ranges, r)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return scanRanges(c, view, route.Disjoint(ranges), x.scan.Backward, follow)
}

// search returns what the conditions of a scan by a GIN index find together.
func (o *indexKeys) search(c *Ctx) (gin.Search, error) {
	list := make([]gin.Search, len(o.terms))
	for i, f := range o.terms {
		d, err := f(&c.Ctx, nil)
		if err != nil {
			return gin.Search{}, err
		}
		t := &o.Terms[i]
		if list[i], err = o.rule.TermColumn(t.Column).Search(t.Op, d); err != nil {
			return gin.Search{}, err
		}
	}
	return gin.Both(list...), nil
}

// byTerms reads by a GIN index. If the conditions have no terms, or very many rows have them, it reads
// all rows.
func (o *scanOp) byTerms(c *Ctx, view View, keys *indexKeys) error {
	s, err := keys.search(c)
	if err != nil {
		return err
	}
	if s.Kind == gin.Some {
		return view.Scan(c.ctx(), txn.Prefix(keys.rule.AppendTerm(nil, s.Term)), false, func(key, value []byte) error {
			return o.follow(c, view, key, value)
		})
	}
	lists := posting.Lists{Memory: c.Mem, Read: func(t gin.Term, f func(row []byte) error) error {
		var row []byte
		return view.Scan(c.ctx(), txn.Prefix(keys.rule.AppendTerm(nil, t)), false, func(key, value []byte) error {
			if err := c.Tick(); err != nil {
				return err
			}
			counts, err := o.counts(c, view, key, value)
			if err != nil || !counts {
				return err
			}
			if row, err = o.table.RowOfEntry(row[:0], key, value); err != nil {
				return err
			}
			return f(row)
		})
	}}
	defer lists.Free()
	rows, ok, err := lists.Find(&s)
	if err != nil {
		return err
	}
	if !ok {
		return o.byBuckets(c, view)
	}
	for _, row := range rows {
		if err := o.present(c, view, row); err != nil {
			return err
		}
	}
	return nil
}

// scanRanges scans ranges of keys that are disjoint and ascend; none is open. backward goes from the
// last of them to the first.
func scanRanges(
	c *Ctx, view View, ranges []shardmap.KeyRange, backward bool, f func(key, value []byte) error,
) error {
	if len(ranges) == 1 {
		return view.Scan(c.ctx(), txn.Span(ranges[0]), backward, f)
	}
	spans := make([]txn.Span, len(ranges))
	for i, r := range ranges {
		spans[i] = txn.Span(r)
	}
	if backward {
		slices.Reverse(spans)
	}
	return view.ScanAll(c.ctx(), spans, backward, f)
}

// entries calls f with the entries whose columns are those of prefix.
func scanEntries(c *Ctx, x *table.Index, view View, prefix []byte, f func(key, value []byte) error) error {
	if !x.Def.Unique || x.Late {
		return view.Scan(c.ctx(), txn.Prefix(prefix), false, f)
	}
	value, err := view.Get(c.ctx(), prefix)
	if err != nil || value == nil {
		return err
	}
	return f(prefix, value)
}

// counts reports whether the task reads the bucket of an entry, and the entry is of the present
// generation.
func (o *scanOp) counts(c *Ctx, view View, key, value []byte) (bool, error) {
	p, ok := o.table.PlaceOf(key, value)
	switch {
	case !ok: // damaged: the caller finds that too
		return true, nil
	case !c.local.task.Buckets.Contains(p.Bucket):
		return false, nil
	case p.Stands(view):
		return true, nil
	}
	return o.index.rule.Confirmed(&c.Ctx, key, value, func(row []byte) ([]byte, error) {
		return view.Get(c.ctx(), row)
	})
}

// follow reads the row of an entry, if the task reads its bucket and the entry is of the present
// generation.
func (o *scanOp) follow(c *Ctx, view View, key, value []byte) error {
	counts, err := o.counts(c, view, key, value)
	if err != nil || !counts {
		return cmp.Or(err, c.Tick())
	}
	row, err := o.table.RowOfEntry(o.key[:0], key, value)
	if err != nil {
		return err
	}
	o.key = row
	if o.entries.reader != nil {
		return o.takeEntry(key, row[table.KeyAt:])
	}
	return o.present(c, view, row)
}

// present reads a row that an entry has named.
func (o *scanOp) present(c *Ctx, view View, key []byte) error {
	value, err := view.Get(c.ctx(), key)
	if err != nil {
		return err
	}
	if value == nil {
		return internal("index entry of table %q names a row that is not there", o.table.Def.Name)
	}
	return o.take(key, value)
}

// byFound reads the rows that the gateway has found.
func (o *scanOp) byFound(c *Ctx, view View) error {
	for _, key := range c.local.task.Found {
		if !c.local.task.Buckets.Contains(table.BucketIn(key)) {
			continue
		}
		if err := o.present(c, view, key); err != nil {
			return err
		}
	}
	return nil
}
