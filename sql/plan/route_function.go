package plan

import (
	"slices"

	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// A policy may place by a function of a field: numeric(n), day(at). Placement reads the field's
// text (package shardmap), and a query compares what a cast makes of that text. A cast is taken
// here only if package exec can say, for each of its values, in which buckets all texts lie that
// have it: see functionValues there.

// fieldCast is the reading of a policy's field, under a function, through a cast.
type fieldCast struct {
	to      types.OID // 0: it is none
	rounded bool      // to an integer, from a number that may have been between two
}

// numberCasts are the functions of casts from numbers. Those to integers round; the others map
// integers to themselves, within the precision of their type, and keep the order.
var numberCasts = map[string]fieldCast{
	"int2_numeric": {to: types.Numeric}, "int4_numeric": {to: types.Numeric}, "int8_numeric": {to: types.Numeric},
	"i2tod": {to: types.Float8}, "i4tod": {to: types.Float8}, "i8tod": {to: types.Float8},
	"numeric_float8": {to: types.Float8}, "jsonb_numeric": {to: types.Numeric}, "jsonb_float4": {to: types.Float4},
	"jsonb_float8": {to: types.Float8},
	"jsonb_int2":   {types.Int2, true}, "jsonb_int4": {types.Int4, true}, "jsonb_int8": {types.Int8, true},
}

var (
	numbersOfText  = []types.OID{types.Int2, types.Int4, types.Int8, types.Numeric, types.Float4, types.Float8}
	instantsOfText = []types.OID{types.TimestampTZ, types.Timestamp, types.Date}
)

// castOf reads `(doc ->> 'F')::type`, `(doc -> 'F')::type` and `column::type` of a field under a
// function.
func (m *matcher) castOf(e query.Expr, f shardmap.Field) fieldCast {
	if f.Func == shardmap.PlainField {
		return fieldCast{}
	}
	switch n := e.(type) {
	case *query.CoerceIO:
		to := numbersOfText
		if f.OfTime() {
			to = instantsOfText
		}
		if n.Typmod() < 0 && slices.Contains(to, n.Type()) && m.isFieldText(n.Arg, f) {
			return fieldCast{to: n.Type()}
		}
	case *query.Call:
		if f.Func != shardmap.NumericFunc || len(n.Args) != 1 {
			return fieldCast{}
		}
		arg := n.Args[0]
		if arg.Type() == types.JSONB && m.isField(arg, f, false) ||
			arg.Type() != types.JSONB && m.isPolicyColumn(arg, f) {
			return numberCasts[n.Proc.Src]
		}
	}
	return fieldCast{}
}

// isFieldText reports whether e is the field's text: from the document, or a column of text.
func (m *matcher) isFieldText(e query.Expr, f shardmap.Field) bool {
	return e.Type() == types.Text && m.isField(e, f, true) || textLike(e.Type()) && m.isPolicyColumn(e, f)
}

// value returns v as the type of the cast with which it is compared, nil if it cannot. What was
// rounded to an integer is compared as float8, which package exec knows may have been rounded.
func (c fieldCast) value(v query.Expr, as narrowing) query.Expr {
	if c.to == 0 {
		return nil
	}
	if v.Type() != c.to {
		v = narrowed(v, c.to, as)
	}
	if v != nil && c.rounded {
		return castTo(v, types.Float8)
	}
	return v
}

// castElements is value for the elements of an array that a cast of the field is one of.
func (m *matcher) castElements(a *query.ArrayOp, f shardmap.Field) query.Expr {
	c := m.castOf(a.Left, f)
	if c.to == 0 {
		return nil
	}
	array := a.Array
	if types.ElemOf(array.Type()) != c.to {
		array = narrowedArray(array, c.to)
	}
	if array == nil || !c.rounded {
		return array
	}
	each := castTo(&query.Element{T: query.Of(c.to)}, types.Float8)
	return &query.ArrayCoerce{T: query.Of(types.ArrayTypeOf(types.Float8)), Arg: array, Elem: each}
}

// fieldRange finds bounds at both ends of a field under day, hour or month.
func (m *matcher) fieldRange(f shardmap.Field) (FieldRange, bool) {
	var out FieldRange
	if !f.OfTime() || f.Func == shardmap.TicksFunc {
		return out, false
	}
	for _, c := range m.conds {
		call, ok := c.(*query.Call)
		if !ok || len(call.Args) != 2 {
			continue
		}
		op, side, v := call.Op, call.Args[0], call.Args[1]
		own := m.fieldBound(side, f)
		if own == nil {
			op, side, v = flip(op), v, side
			own = m.fieldBound(side, f)
		}
		if own == nil || !known(v) {
			continue
		}
		if b := boundOf(op, v, toLower, func(as narrowing) query.Expr { return own(v, as) }); b != nil {
			out.From = b.value
		}
		if b := boundOf(op, v, toUpper, func(as narrowing) query.Expr { return own(v, as) }); b != nil {
			out.To, out.ToInc = b.value, b.inclusive
		}
	}
	return out, out.From != nil && out.To != nil
}

// fieldBound returns how a value is converted with which e, an instant of the field, is compared;
// nil if e is none.
func (m *matcher) fieldBound(e query.Expr, f shardmap.Field) func(query.Expr, narrowing) query.Expr {
	if m.isPolicyColumn(e, f) && slices.Contains(instantsOfText, e.Type()) {
		return func(v query.Expr, as narrowing) query.Expr { return m.keyValue(m.position(e), v, as) }
	}
	if c := m.castOf(e, f); c.to != 0 {
		return c.value
	}
	return nil
}
