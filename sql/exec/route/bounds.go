package route

import (
	"bytes"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// Column says how a column of a key is encoded.
type Column struct {
	Type             types.OID
	Desc, NullsFirst bool
}

// Append appends a value of the column to a key.
func (c Column) Append(key []byte, d types.Datum) []byte {
	return types.AppendKeyNulls(key, c.Type, d, c.Desc, c.NullsFirst)
}

// Bounds evaluates plan.KeyBounds to ranges of encoded keys.
type Bounds struct {
	columns []Column // behind those that have values
	bounds  []bound
	prefix  expr.Eval
	notNull bool
}

// bound is a bound on one or several columns together.
type bound struct {
	values           []expr.Eval
	inclusive, lower bool
}

// NewBounds compiles bounds of keys whose remaining columns are given.
func NewBounds(k *expr.Compiler, x *plan.KeyBounds, columns []Column) (*Bounds, error) {
	o := &Bounds{columns: columns, notNull: x.NotNull}
	for _, b := range []struct {
		values           []query.Expr
		inclusive, lower bool
	}{
		{one(x.Lo), x.LoInc, true}, {one(x.Hi), x.HiInc, false},
		{x.LoRow, x.LoRowInc, true}, {x.HiRow, x.HiRowInc, false},
	} {
		if len(b.values) == 0 {
			continue
		}
		fs, err := k.Exprs(b.values)
		if err != nil {
			return nil, err
		}
		o.bounds = append(o.bounds, bound{fs, b.inclusive, b.lower})
	}
	var err error
	if o.prefix, err = k.Optional(x.Prefix); err != nil {
		return nil, err
	}
	return o, o.check()
}

// check refuses bounds that the key does not have: in a damaged task of another node.
func (o *Bounds) check() error {
	needed := 0
	if o.prefix != nil || o.notNull {
		needed = 1
	}
	for _, b := range o.bounds {
		needed = max(needed, len(b.values))
	}
	if needed > len(o.columns) {
		return pgerr.New(pgerr.InternalError, "bounds of %d columns, of which a key has %d", needed, len(o.columns))
	}
	for _, b := range o.bounds {
		for _, c := range o.columns[:len(b.values)] {
			if c.Desc != o.columns[0].Desc {
				return pgerr.New(pgerr.InternalError, "a bound on columns in two directions")
			}
		}
	}
	return nil
}

func one(e query.Expr) []query.Expr {
	if e == nil {
		return nil
	}
	return []query.Expr{e}
}

// Open reports whether nothing is bounded.
func (o *Bounds) Open() bool { return len(o.bounds) == 0 && o.prefix == nil && !o.notNull }

// Everything reports whether the bounds of the running statement exclude no text: the column begins
// with an empty one.
func (o *Bounds) Everything(c *expr.Ctx) (bool, error) {
	if len(o.bounds) > 0 || o.prefix == nil {
		return false, nil
	}
	d, err := o.prefix(c, nil)
	return err == nil && !d.IsNull() && d.S == "", err
}

// Range returns the range of the keys that begin with start and whose next columns are within the
// bounds; ok is false if no key can be. A bounded column is not null.
func (o *Bounds) Range(c *expr.Ctx, start []byte) (r shardmap.KeyRange, ok bool, err error) {
	r = shardmap.KeyRange{Start: start, End: txn.PrefixEnd(start)}
	if o.Open() {
		return r, true, nil
	}
	r = shardmap.KeyRange{ // without nulls, which are before or after all values
		Start: append(bytes.Clone(start), 0x01), End: append(bytes.Clone(start), 0xff),
	}
	for i := range o.bounds {
		if ok, err := o.narrow(c, start, &o.bounds[i], &r); !ok || err != nil {
			return r, false, err
		}
	}
	if o.prefix != nil {
		d, err := o.prefix(c, nil)
		if err != nil || d.IsNull() {
			return r, false, err
		}
		text := o.columns[0].Append(bytes.Clone(start), d)
		text = text[:len(text)-textEnd]
		within(&r, text, txn.PrefixEnd(text))
	}
	return r, bytes.Compare(r.Start, r.End) < 0, nil
}

// narrow narrows a range by a bound; ok is false if no key can match. If a value is null, no row
// that equals the bound up to the null matches, so the bound ends before the null and is exclusive.
func (o *Bounds) narrow(c *expr.Ctx, start []byte, b *bound, r *shardmap.KeyRange) (ok bool, err error) {
	key, inclusive := bytes.Clone(start), b.inclusive
	for i, f := range b.values {
		d, err := f(c, nil)
		if err != nil {
			return false, err
		}
		if d.IsNull() {
			if i == 0 {
				return false, nil
			}
			inclusive = false
			break
		}
		key = o.columns[i].Append(key, d)
	}
	end := txn.PrefixEnd(key)
	switch starts := b.lower != o.columns[0].Desc; {
	case starts && inclusive:
		within(r, key, nil)
	case starts:
		within(r, end, nil)
	case inclusive:
		within(r, nil, end)
	default:
		within(r, nil, key)
	}
	return true, nil
}

// within narrows a range; nil is open.
func within(r *shardmap.KeyRange, start, end []byte) {
	if start != nil && bytes.Compare(start, r.Start) > 0 {
		r.Start = start
	}
	if end != nil && (len(r.End) == 0 || bytes.Compare(end, r.End) < 0) {
		r.End = end
	}
}

// textEnd is the number of bytes that end a text in a key, after its characters.
var textEnd = len(types.AppendKey(nil, types.Text, types.NewText("x"), false)) - len("x") - 1
