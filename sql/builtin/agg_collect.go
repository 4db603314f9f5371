package builtin

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/jsonb"
	"github.com/sherddb/sherd/sql/types"
)

// collectAggregates are the aggregates that keep every value: arrays, joined text, documents.
var collectAggregates = map[string]*Agg{
	"array_agg(2776)":             {New: newCollector(collectArray), Ordered: true},
	"array_agg(2277)":             {New: newCollector(collectArrays), Ordered: true},
	"string_agg(25,25)":           {New: newCollector(collectText), Ordered: true},
	"string_agg(17,17)":           {New: newCollector(collectText), Ordered: true},
	"jsonb_agg(2283)":             {New: newCollector(collectJSONBArray), Ordered: true},
	"jsonb_object_agg(2276,2276)": {New: newCollector(collectJSONBObject), Ordered: true},
	"json_agg(2283)":              {New: newCollector(collectJSONArray), Ordered: true},
	"json_object_agg(2276,2276)":  {New: newCollector(collectJSONObject), Ordered: true},
}

// collector keeps the arguments of every row; finish builds the result. The arguments are also the
// partial state.
type collector struct {
	args  int
	vals  []types.Datum // args values per row
	final func(c *Ctx, vals []types.Datum) (types.Datum, error)
}

func newCollector(final func(*Ctx, []types.Datum) (types.Datum, error)) func([]uint32, uint32) AggState {
	return func(argTypes []uint32, _ uint32) AggState { return &collector{args: len(argTypes), final: final} }
}

func (s *collector) Step(_ *Ctx, a []types.Datum) error {
	for _, d := range a {
		s.vals = append(s.vals, d.Clone())
	}
	return nil
}

func (s *collector) Final(c *Ctx) (types.Datum, error) {
	if len(s.vals) == 0 {
		return types.Null, nil
	}
	return s.final(c, s.vals)
}

func (s *collector) Partial(*Ctx) (types.Datum, error) {
	if len(s.vals) == 0 {
		return types.Null, nil
	}
	return pack(s.vals...), nil
}

func (s *collector) Combine(_ *Ctx, partial types.Datum) error {
	if partial.IsNull() {
		return nil
	}
	vals, err := unpack(partial, -1)
	s.vals = append(s.vals, vals...)
	return err
}

func collectArray(c *Ctx, vals []types.Datum) (types.Datum, error) {
	return types.NewList(types.ElemOf(c.RetType), vals), nil
}

func collectArrays(_ *Ctx, vals []types.Datum) (types.Datum, error) { return StackArrays(vals) }

// StackArrays returns an array with one more dimension, of one or more arrays of equal dimensions
// (2202E and 22004 if they are others).
func StackArrays(vals []types.Datum) (types.Datum, error) {
	var elems []types.Datum
	var dims, lowers []int32
	elem := uint32(0)
	for i, v := range vals {
		if v.IsNull() {
			return types.Null, pgerr.New(pgerr.NullValueNotAllowed, "cannot accumulate null arrays")
		}
		a, err := types.ArrayOf(v)
		if err != nil {
			return types.Null, err
		}
		if a.NDim == 0 {
			return types.Null, pgerr.New(pgerr.ArraySubscriptError, "cannot accumulate empty arrays")
		}
		if i == 0 {
			elem = a.Elem
			dims, lowers = append([]int32{int32(len(vals))}, a.Dims()...), append([]int32{1}, a.Lowers()...)
		} else if !sameDims(dims[1:], a.Dims()) {
			return types.Null, pgerr.New(pgerr.ArraySubscriptError,
				"cannot accumulate arrays of different dimensionality")
		}
		elems = append(elems, a.Elems()...)
	}
	return types.NewArray(elem, dims, lowers, elems), nil
}

func sameDims(a, b []int32) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// collectText joins values; each has the separator before it. Null values are skipped.
func collectText(c *Ctx, vals []types.Datum) (types.Datum, error) {
	b := c.builder()
	kind := types.KindNull
	for i := 0; i < len(vals); i += 2 {
		if vals[i].IsNull() {
			continue
		}
		separator := vals[i+1].S
		if kind == types.KindNull {
			separator = ""
		}
		kind = vals[i].K
		if err := b.add(separator, vals[i].S); err != nil {
			return types.Null, err
		}
	}
	if kind == types.KindNull {
		return types.Null, nil
	}
	return types.Datum{K: kind, S: b.b.String()}, nil
}

func collectJSONBArray(c *Ctx, vals []types.Datum) (types.Datum, error) {
	var b jsonb.Builder
	b.BeginArray()
	for _, v := range vals {
		if err := c.addJSONB(&b, c.argType(0), v); err != nil {
			return types.Null, err
		}
	}
	b.End()
	return finish(&b, nil)
}

func nullField() error {
	return pgerr.New(pgerr.InvalidParameterValue, "field name must not be null")
}

func collectJSONBObject(c *Ctx, vals []types.Datum) (types.Datum, error) {
	var b jsonb.Builder
	b.BeginObject()
	for i := 0; i < len(vals); i += 2 {
		if vals[i].IsNull() {
			return types.Null, nullField()
		}
		key, err := c.jsonKey(c.argType(0), vals[i])
		if err != nil {
			return types.Null, err
		}
		b.Key(key)
		if err := c.addJSONB(&b, c.argType(1), vals[i+1]); err != nil {
			return types.Null, err
		}
	}
	b.End()
	return finish(&b, nil)
}

func collectJSONArray(c *Ctx, vals []types.Datum) (types.Datum, error) {
	b := []byte{'['}
	var err error
	for i, v := range vals {
		if i > 0 {
			b = append(b, ", "...)
			if v.K == types.KindArray || v.K == types.KindRecord {
				b = append(b, "\n "...)
			}
		}
		if b, err = c.appendJSON(b, c.argType(0), v, false); err != nil {
			return types.Null, err
		}
	}
	return types.NewText(string(append(b, ']'))), nil
}

func collectJSONObject(c *Ctx, vals []types.Datum) (types.Datum, error) {
	b := []byte("{ ")
	for i := 0; i < len(vals); i += 2 {
		if i > 0 {
			b = append(b, ", "...)
		}
		if vals[i].IsNull() {
			return types.Null, nullField()
		}
		key, err := c.jsonKey(c.argType(0), vals[i])
		if err != nil {
			return types.Null, err
		}
		b = append(jsonb.AppendQuoted(b, key), " : "...)
		if b, err = c.appendJSON(b, c.argType(1), vals[i+1], false); err != nil {
			return types.Null, err
		}
	}
	return types.NewText(string(append(b, " }"...))), nil
}
