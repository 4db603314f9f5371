package route

import (
	"bytes"
	"slices"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/types"
)

// Rows of a range table are in the segment that their encoded primary key belongs to
// (catalog.Table.Segments), in the order of keys. If segments are split or merged, their rows are
// copied to buckets with new numbers, so a bucket always stands for one range of keys. Entries of
// indexes lead to the segment that the primary key belongs to, whichever bucket they name.

// Span evaluates a plan.KeySpan to ranges of encoded keys.
type Span struct {
	table  *table.Table
	equal  [][]expr.Eval
	bounds *Bounds
	arms   []*Span // if there are some, they say all
}

// NewSpan compiles a span of a table's keys; nil is none.
func NewSpan(k *expr.Compiler, t *table.Table, x *plan.KeySpan) (*Span, error) {
	if x == nil {
		return nil, nil
	}
	if len(x.Equal) > len(t.Key) {
		return nil, pgerr.New(pgerr.InternalError, "a key range that table %q has not", t.Def.Name)
	}
	o := &Span{table: t}
	for _, keys := range x.Arms {
		arm, err := NewSpan(k, t, &plan.KeySpan{Equal: keys.Equal, KeyBounds: keys.KeyBounds})
		if err != nil {
			return nil, err
		}
		o.arms = append(o.arms, arm)
	}
	for _, list := range x.Equal {
		fs, err := k.Exprs(list)
		if err != nil {
			return nil, err
		}
		o.equal = append(o.equal, fs)
	}
	var err error
	o.bounds, err = NewBounds(k, &x.KeyBounds, PrimaryKey(t)[len(x.Equal):])
	return o, err
}

// PrimaryKey returns the columns of a table's primary key.
func PrimaryKey(t *table.Table) []Column {
	out := make([]Column, len(t.Key))
	for i, col := range t.Key {
		out[i].Type = t.Def.Columns[col].Type
	}
	return out
}

// Everything reports whether the bounds of the running statement exclude no key.
func (o *Span) Everything(c *expr.Ctx) (bool, error) {
	if len(o.equal) > 0 || len(o.arms) > 0 {
		return false, nil
	}
	return o.bounds.Everything(c)
}

// Ranges returns the ranges of the keys, in order; none if no row can match. An end without bytes is
// open.
func (o *Span) Ranges(c *expr.Ctx) ([]shardmap.KeyRange, error) {
	ranges, err := o.ranges(c)
	return Disjoint(ranges), err
}

// ranges is Ranges, unordered and possibly overlapping.
func (o *Span) ranges(c *expr.Ctx) (out []shardmap.KeyRange, err error) {
	for _, arm := range o.arms {
		list, err := arm.ranges(c)
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	if len(o.arms) > 0 {
		return out, nil
	}
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
	for _, s := range starts {
		r, ok, err := o.bounds.Range(c, s)
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

// buckets returns the buckets that rows of the ranges can be in.
func (o *Span) buckets(c *expr.Ctx) (set shardmap.BucketSet, err error) {
	ranges, err := o.ranges(c)
	for _, r := range ranges {
		set = set.Union(o.table.Def.Segments.Of(r).Buckets())
	}
	return set, err
}

// Disjoint returns the union of ranges, in order. It changes the list.
func Disjoint(ranges []shardmap.KeyRange) (out []shardmap.KeyRange) {
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
