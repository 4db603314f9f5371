package plan

import (
	"math"

	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// A condition may compare a column with a value of another type that the column's ordering knows
// too: an int column with a bigint parameter, a date with a timestamp. Keys, entries of indexes and
// buckets are found by values of the column's own type, so the value is converted when the scan
// begins. What is found need not be exact, but must not miss a row: the scan tests the condition
// itself as well.

// narrowing is for what a value is converted.
type narrowing uint8

const (
	toEqual narrowing = iota
	toLower           // an inclusive lower bound
	toUpper           // an inclusive upper bound
)

// narrowed returns the value of type t that a column of this type has, or by which it is bounded,
// where it is compared with v. The expression is null if no row can meet the condition. nil: the
// types are not compared by one ordering, or it cannot be said. Only functions are used that nodes
// of all releases know.
func narrowed(v query.Expr, t types.OID, as narrowing) query.Expr {
	from := v.Type()
	if c, ok := v.(*query.Const); ok && c.Value.IsNull() && (from == t || related(from, t)) {
		return &query.Const{T: query.Of(t)}
	}
	switch {
	case integer(t) && integer(from):
		return narrowedInt(v, t, as)
	case t == types.Float8 && from == types.Float4, t == types.Text && from == types.Name:
		return castTo(v, t)
	case t == types.Date && from == types.Timestamp:
		return castTo(v, t) // of its midnight, which is not after it
	case t == types.TimestampTZ && from == types.Timestamp:
		return castTo(v, t) // as the comparison does it, by the session's time zone
	case from == types.Date && (t == types.Timestamp || t == types.TimestampTZ):
		return timestampOfDate(v, t, as)
	case from == types.TimestampTZ && (t == types.Timestamp || t == types.Date) && as != toEqual:
		return localBound(v, t, as)
	}
	return nil
}

// localBound converts an instant to a bound of local times or of days, by the session's time zone.
// Local times are not in the order of their instants where a zone's clocks are changed, but no zone
// has changed them by more than a day: so far away is the bound.
func localBound(v query.Expr, t types.OID, as narrowing) query.Expr {
	op, limit, open, beyond := "-", "4000-01-01 00:00:00+00 BC", "-infinity", "<"
	if as == toUpper {
		op, limit, open, beyond = "+", "290000-01-01 00:00:00+00", "infinity", ">"
	}
	last, err := types.Input(types.TimestampTZ, -1, limit, nil)
	end, err2 := types.Input(t, -1, open, nil)
	day, err3 := types.Input(types.Interval, -1, "1 day", nil)
	if err != nil || err2 != nil || err3 != nil {
		return nil
	}
	aDay := &query.Const{T: query.Of(types.Interval), Value: day}
	local := castTo(v, types.Timestamp)
	moved := operation(op, types.Timestamp, local, aDay)
	if t == types.Date {
		moved = castTo(moved, types.Date)
	}
	far := compared(beyond, v, &query.Const{T: query.Of(types.TimestampTZ), Value: last})
	return caseOf(t, query.When{Cond: far, Result: &query.Const{T: query.Of(t), Value: end}},
		query.When{Cond: &query.NullTest{T: query.Of(types.Bool), Arg: v, Not: true}, Result: moved})
}

// related reports whether narrowed converts from one type to the other.
func related(from, t types.OID) bool {
	return narrowed(&query.Element{T: query.Of(from)}, t, toEqual) != nil
}

// narrowedInt converts an integer of another width.
func narrowedInt(v query.Expr, t types.OID, as narrowing) query.Expr {
	lo, hi := int64(math.MinInt64)>>(64-8*width(t)), int64(math.MaxInt64)>>(64-8*width(t))
	if c, ok := v.(*query.Const); ok {
		n := c.Value.N
		switch {
		case as == toLower && n < lo:
			n = lo
		case as == toUpper && n > hi:
			n = hi
		case n < lo || n > hi:
			return &query.Const{T: query.Of(t)}
		}
		return intConst(t, n)
	}
	fits := func(op string, n int64) query.Expr { return compared(op, v, intConst(v.Type(), n)) }
	own := castTo(v, t)
	switch as {
	case toLower:
		return caseOf(t, query.When{Cond: fits("<", lo), Result: intConst(t, lo)},
			query.When{Cond: fits("<=", hi), Result: own})
	case toUpper:
		return caseOf(t, query.When{Cond: fits(">", hi), Result: intConst(t, hi)},
			query.When{Cond: fits(">=", lo), Result: own})
	}
	return caseOf(t, query.When{Cond: &query.And{Args: []query.Expr{fits(">=", lo), fits("<=", hi)}}, Result: own})
}

// timestampOfDate converts a date to its midnight. There are dates after the last timestamp: the
// next one is infinity.
func timestampOfDate(v query.Expr, t types.OID, as narrowing) query.Expr {
	day, err := types.Input(types.Date, -1, "294277-01-01", nil)
	infinity, err2 := types.Input(t, -1, "infinity", nil)
	if err != nil || err2 != nil {
		return nil
	}
	last := &query.Const{T: query.Of(types.Date), Value: day}
	whens := []query.When{{Cond: compared("<", v, last), Result: castTo(v, t)}}
	if as != toEqual {
		whens = append(whens, query.When{
			Cond: compared(">=", v, last), Result: &query.Const{T: query.Of(t), Value: infinity},
		})
	} else {
		whens = append(whens, query.When{Cond: &query.Not{Arg: call("isfinite", types.Bool, v)}, Result: castTo(v, t)})
	}
	return caseOf(t, whens...)
}

func caseOf(t types.OID, whens ...query.When) query.Expr {
	return &query.Case{T: query.Of(t), Whens: whens}
}

func intConst(t types.OID, n int64) query.Expr {
	return &query.Const{T: query.Of(t), Value: types.NewInt(n)}
}

// compared applies a comparison that both types have.
func compared(op string, a, b query.Expr) query.Expr { return operation(op, types.Bool, a, b) }

// operation applies an operator that both types have.
func operation(op string, ret types.OID, a, b query.Expr) query.Expr {
	o := pgcatalog.OperatorFor(op, a.Type(), b.Type())
	return &query.Call{T: query.Of(ret), Proc: pgcatalog.ProcByOID(o.Proc), Args: []query.Expr{a, b}, Op: op}
}

// call applies a function of one argument.
func call(name string, ret types.OID, v query.Expr) query.Expr {
	for _, f := range pgcatalog.ProcsByName(name) {
		if len(f.ArgTypes) == 1 && f.ArgTypes[0] == v.Type() {
			return &query.Call{T: query.Of(ret), Proc: f, Args: []query.Expr{v}}
		}
	}
	return nil
}

// castTo applies the function of a cast; nil where there is none.
func castTo(v query.Expr, t types.OID) query.Expr {
	c := pgcatalog.CastBetween(v.Type(), t)
	if c == nil || c.Func == 0 {
		return nil
	}
	return &query.Call{T: query.Of(t), Proc: pgcatalog.ProcByOID(c.Func), Args: []query.Expr{v}, Cast: 'e'}
}

// narrowedArray converts the elements of an array with which a column of type t is compared by =
// ANY; nil as of narrowed.
func narrowedArray(a query.Expr, t types.OID) query.Expr {
	elem := types.ElemOf(a.Type())
	if !related(elem, t) {
		return nil
	}
	elems, ok := constantElements(a)
	if lit, isLit := a.(*query.Array); isLit && !lit.Multi {
		elems, ok = lit.Elems, true
	}
	if !ok {
		one := narrowed(&query.Element{T: query.Of(elem)}, t, toEqual)
		return &query.ArrayCoerce{T: query.Of(types.ArrayTypeOf(t)), Arg: a, Elem: one}
	}
	out := make([]query.Expr, len(elems))
	for i, e := range elems {
		out[i] = narrowed(e, t, toEqual)
	}
	return arrayOf(t, out)
}

// keyValue returns v as the column's values are encoded, nil where that cannot be.
func (m *matcher) keyValue(col int, v query.Expr, as narrowing) query.Expr {
	if m.keyLike(col, v.Type()) {
		return v
	}
	return narrowed(v, m.valueType(col), as)
}

// keyElements is keyValue for the elements of an array.
func (m *matcher) keyElements(col int, array query.Expr) query.Expr {
	if m.keyLike(col, types.ElemOf(array.Type())) {
		return array
	}
	return narrowedArray(array, m.valueType(col))
}

// indexValue is keyValue for the key of an index.
func (m *matcher) indexValue(key, v query.Expr, as narrowing) query.Expr {
	if col, ok := bare(key).(*query.Var); ok {
		return m.keyValue(col.Col, v, as)
	}
	if m.fits(key, v) {
		return v
	}
	return narrowed(v, key.Type(), as)
}
