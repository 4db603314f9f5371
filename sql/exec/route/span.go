package route

import (
	"bytes"
	"slices"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// Rows of a range table are in the segment that their encoded primary key belongs to
// (catalog.Table.Segments), in the order of keys. If segments are split or merged, their rows are
// copied to buckets with new numbers, so a bucket always stands for one range of keys. Entries of
// indexes lead to the segment that the primary key belongs to, whichever bucket they name.

// Span evaluates a plan.KeySpan to ranges of encoded keys.
type Span struct {
	table        *table.Table
	equal        [][]expr.Eval
	lo, hi       expr.Eval
	loInc, hiInc bool
	prefix       expr.Eval
	loRow, hiRow rowBound
}

// rowBound is a bound on several columns together; without values there is none.
type rowBound struct {
	values    []expr.Eval
	inclusive bool
}

// NewSpan compiles a span of a table's keys; nil is none.
func NewSpan(k *expr.Compiler, t *table.Table, x *plan.KeySpan) (*Span, error) {
	if x == nil {
		return nil, nil
	}
	left := len(t.Key) - len(x.Equal)
	if !t.Ranged() || left < 0 || left == 0 && (x.Lo != nil || x.Hi != nil || x.Prefix != nil) ||
		max(len(x.LoRow), len(x.HiRow)) > left {
		return nil, pgerr.New(pgerr.InternalError, "a key range that table %q has not", t.Def.Name)
	}
	o := &Span{table: t, loInc: x.LoInc, hiInc: x.HiInc}
	for _, list := range x.Equal {
		fs, err := k.Exprs(list)
		if err != nil {
			return nil, err
		}
		o.equal = append(o.equal, fs)
	}
	for _, e := range []struct {
		into *expr.Eval
		from query.Expr
	}{{&o.lo, x.Lo}, {&o.hi, x.Hi}, {&o.prefix, x.Prefix}} {
		var err error
		if *e.into, err = k.Optional(e.from); err != nil {
			return nil, err
		}
	}
	var err error
	o.loRow.inclusive, o.hiRow.inclusive = x.LoRowInc, x.HiRowInc
	if o.loRow.values, err = k.Exprs(x.LoRow); err != nil {
		return nil, err
	}
	o.hiRow.values, err = k.Exprs(x.HiRow)
	return o, err
}

// Ranges returns the ranges of the keys, in order; none if no row can match.
func (o *Span) Ranges(c *expr.Ctx) ([]shardmap.KeyRange, error) {
	ranges, err := o.ranges(c)
	return disjoint(ranges), err
}

// ranges is Ranges, unordered and possibly overlapping.
func (o *Span) ranges(c *expr.Ctx) ([]shardmap.KeyRange, error) {
	starts := [][]byte{nil}
	for i, list := range o.equal {
		var next [][]byte
		for _, f := range list {
			d, err := f(c, nil)
			if err != nil {
				return nil, err
			}
			if d.IsNull() {
				continue
			}
			for _, s := range starts {
				next = append(next, o.append(s, i, d))
			}
		}
		starts = next
	}
	var out []shardmap.KeyRange
	for _, s := range starts {
		r, ok, err := o.behind(c, s)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, r)
		}
	}
	return out, nil
}

func (o *Span) append(start []byte, column int, d types.Datum) []byte {
	return types.AppendKey(bytes.Clone(start), o.table.Def.Columns[o.table.Key[column]].Type, d, false)
}

// behind returns the range of the keys that begin with start and whose next column is within the
// bounds.
func (o *Span) behind(c *expr.Ctx, start []byte) (r shardmap.KeyRange, ok bool, err error) {
	r = shardmap.KeyRange{Start: start, End: txn.PrefixEnd(start)}
	narrow := func(f expr.Eval, take func(d types.Datum)) bool {
		if f == nil || err != nil {
			return err == nil
		}
		var d types.Datum
		if d, err = f(c, nil); err != nil || d.IsNull() {
			return false
		}
		take(d)
		return true
	}
	next := len(o.equal)
	ok = narrow(o.lo, func(d types.Datum) {
		if r.Start = o.append(start, next, d); !o.loInc {
			r.Start = txn.PrefixEnd(r.Start)
		}
	}) && narrow(o.hi, func(d types.Datum) {
		if r.End = o.append(start, next, d); o.hiInc {
			r.End = txn.PrefixEnd(r.End)
		}
	}) && narrow(o.prefix, func(d types.Datum) {
		text := o.append(start, next, d)
		text = text[:len(text)-textEnd]
		if bytes.Compare(text, r.Start) > 0 {
			r.Start = text
		}
		if end := txn.PrefixEnd(text); len(r.End) == 0 || bytes.Compare(end, r.End) < 0 {
			r.End = end
		}
	})
	if ok {
		ok, err = o.byRows(c, start, &r)
	}
	return r, ok && (len(r.End) == 0 || bytes.Compare(r.Start, r.End) < 0), err
}

// byRows narrows a range of keys that begin with start by the bounds on rows; ok is false if no key
// can match.
func (o *Span) byRows(c *expr.Ctx, start []byte, r *shardmap.KeyRange) (ok bool, err error) {
	lo, inclusive, ok, err := o.rowKey(c, start, &o.loRow)
	if !ok || err != nil {
		return false, err
	}
	if len(o.loRow.values) > 0 {
		if !inclusive {
			lo = txn.PrefixEnd(lo)
		}
		if bytes.Compare(lo, r.Start) > 0 {
			r.Start = lo
		}
	}
	hi, inclusive, ok, err := o.rowKey(c, start, &o.hiRow)
	if !ok || err != nil {
		return false, err
	}
	if len(o.hiRow.values) > 0 {
		if inclusive {
			hi = txn.PrefixEnd(hi)
		}
		if len(hi) > 0 && (len(r.End) == 0 || bytes.Compare(hi, r.End) < 0) {
			r.End = hi
		}
	}
	return true, nil
}

// rowKey returns the key, beginning with start, that a bound on several columns stands for. If a
// value is null, no row that equals the bound up to the null matches, so the bound ends before the
// null and is exclusive; ok is false if nothing is left.
func (o *Span) rowKey(c *expr.Ctx, start []byte, b *rowBound) (key []byte, inclusive, ok bool, err error) {
	key = start
	for i, f := range b.values {
		d, err := f(c, nil)
		if err != nil {
			return nil, false, false, err
		}
		if d.IsNull() {
			return key, false, i > 0, nil
		}
		key = o.append(key, len(o.equal)+i, d)
	}
	return key, b.inclusive, true, nil
}

// textEnd is the number of bytes that end a text in a key, after its characters.
var textEnd = len(types.AppendKey(nil, types.Text, types.NewText("x"), false)) - len("x") - 1

// buckets returns the buckets that rows of the ranges can be in.
func (o *Span) buckets(c *expr.Ctx) (set shardmap.BucketSet, err error) {
	ranges, err := o.ranges(c)
	for _, r := range ranges {
		set = set.Union(o.table.Def.Segments.Of(r).Buckets())
	}
	return set, err
}

// disjoint returns the union of ranges, in order.
func disjoint(ranges []shardmap.KeyRange) (out []shardmap.KeyRange) {
	if len(ranges) < 2 {
		return ranges
	}
	slices.SortFunc(ranges, func(a, b shardmap.KeyRange) int { return bytes.Compare(a.Start, b.Start) })
	for _, r := range ranges {
		if n := len(out); n > 0 && (len(out[n-1].End) == 0 || bytes.Compare(r.Start, out[n-1].End) <= 0) {
			if last := &out[n-1]; len(last.End) > 0 && (len(r.End) == 0 || bytes.Compare(r.End, last.End) > 0) {
				last.End = r.End
			}
			continue
		}
		out = append(out, r)
	}
	return out
}
