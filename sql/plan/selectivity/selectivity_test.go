package selectivity_test

import (
	"math"
	"testing"

	"github.com/sherddb/sherd/sql/plan/selectivity"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/statistics"
	"github.com/sherddb/sherd/sql/types"
)

// columns are: 0, unique in 1,000 rows; 1, of which 90 % are 7 and 10 % null; 2, spread evenly from 0
// to 1,000; 3, of which nothing is known.
func columns(e query.Expr) (statistics.Variable, bool) {
	s, ok := e.(*query.Slot)
	if !ok {
		return statistics.Variable{}, false
	}
	v := statistics.Variable{Rows: 1000}
	switch s.N {
	case 0:
		v.Unique = true
	case 1:
		v.Column = &statistics.Column{Type: types.Int4, NullFrac: 0.1, Distinct: 1,
			Common: []statistics.Value{{Value: types.NewInt(7), Frac: 0.9}}}
	case 2:
		v.Column = &statistics.Column{Type: types.Int4, Distinct: -1}
		for i := range 11 {
			v.Column.Bounds = append(v.Column.Bounds, types.NewInt(int64(i)*100))
		}
	}
	return v, true
}

func slot(n int) query.Expr { return &query.Slot{T: query.Of(types.Int4), N: n} }

func number(n int) query.Expr {
	return &query.Const{T: query.Of(types.Int4), Value: types.NewInt(int64(n))}
}

func compare(op string, a, b query.Expr) query.Expr {
	return &query.Call{T: query.Of(types.Bool), Op: op, Args: []query.Expr{a, b}}
}

func TestOf(t *testing.T) {
	param := &query.Param{T: query.Of(types.Int4), N: 0}
	null := func(n int, not bool) query.Expr { return &query.NullTest{Arg: slot(n), Not: not} }
	list := &query.Array{T: query.Of(types.Int4Array), Elems: []query.Expr{param, param}}
	for _, x := range []struct {
		name  string
		conds []query.Expr
		want  float64
	}{
		{"none", nil, 1},
		{"unique", []query.Expr{compare("=", slot(0), param)}, 0.001},
		{"unique, the other way round", []query.Expr{compare("=", number(3), slot(0))}, 0.001},
		{"the common value", []query.Expr{compare("=", slot(1), number(7))}, 0.9},
		{"another value", []query.Expr{compare("<>", slot(1), number(7))}, 0},
		{"null", []query.Expr{null(1, false)}, 0.1},
		{"not null", []query.Expr{null(1, true)}, 0.9},
		{"one side", []query.Expr{compare("<", slot(2), number(250))}, 0.25},
		{"two conditions are one range", []query.Expr{
			compare(">=", slot(2), number(200)), compare(">", number(300), slot(2)),
		}, 0.1},
		{"a parameter as a bound", []query.Expr{compare(">", slot(2), param)}, 0.05},
		{"two parameters as bounds", []query.Expr{compare(">", slot(2), param), compare("<=", slot(2), param)}, 0.005},
		{"independent", []query.Expr{compare("=", slot(1), number(7)), compare("<", slot(2), number(500))}, 0.45},
		{"or", []query.Expr{&query.Or{Args: []query.Expr{
			compare("<", slot(2), number(500)), null(1, false),
		}}}, 0.55},
		{"not", []query.Expr{&query.Not{Arg: compare("<", slot(2), number(100))}}, 0.9},
		{"in", []query.Expr{
			&query.ArrayOp{T: query.Of(types.Bool), Op: "=", Left: slot(0), Array: list},
		}, 0.002},
		{"not in", []query.Expr{
			&query.ArrayOp{T: query.Of(types.Bool), Op: "<>", All: true, Left: slot(0), Array: list},
		}, 0.998},
		{"a pattern", []query.Expr{compare("~~", slot(3), &query.Const{
			T: query.Of(types.Text), Value: types.NewText(`a\_b%`),
		})}, 0.005},
		{"a pattern that begins with anything", []query.Expr{compare("~", slot(3), &query.Const{
			T: query.Of(types.Text), Value: types.NewText("a"),
		})}, 1.0 / 3},
		{"never", []query.Expr{&query.Const{T: query.Of(types.Bool), Value: types.NewBool(false)}}, 0},
	} {
		if got := selectivity.Columns(columns).Of(x.conds); math.Abs(got-x.want) > 0.01*x.want+1e-9 {
			t.Errorf("%s: %g, want %g", x.name, got, x.want)
		}
	}
}

// TestTimes compares dates with timestamps: 100 rows on each day from 2000-01-01 to 2000-01-11.
func TestTimes(t *testing.T) {
	const day = int64(86_400_000_000)
	constant := func(d types.Datum) query.Expr { return &query.Const{Value: d} }
	date := func(n int64) query.Expr { return constant(types.NewDate(n)) }
	at := func(n int64) query.Expr { return constant(types.NewTimestamp(n)) }
	for _, x := range []struct {
		name  string
		of    types.OID
		conds []query.Expr
		want  float64
	}{
		{"dates before a timestamp", types.Date, []query.Expr{compare("<", slot(2), at(5*day))}, 0.5},
		{"dates between timestamps", types.Date, []query.Expr{
			compare(">=", slot(2), at(2*day)), compare(">", at(4*day), slot(2)),
		}, 0.2},
		{"dates up to a time of day", types.Date, []query.Expr{compare("<", slot(2), at(2*day+1))}, 0.3},
		{"dates from a time of day", types.Date, []query.Expr{compare(">=", slot(2), at(8*day+1))}, 0.1},
		{"dates that are a timestamp", types.Date, []query.Expr{compare("=", slot(2), at(2*day))}, 0.1},
		{"dates before infinity", types.Date, []query.Expr{compare("<", slot(2), at(1<<63-1))}, 1},
		{"timestamps from a date", types.Timestamp, []query.Expr{compare(">=", slot(2), date(4))}, 0.6},
		{"timestamps with time zone up to a date", types.TimestampTZ, []query.Expr{
			compare("<", slot(2), date(3)),
		}, 0.3},
		{"timestamps before infinity", types.Timestamp, []query.Expr{compare("<", slot(2), date(1<<31-1))}, 1},
	} {
		of := selectivity.Columns(func(e query.Expr) (v statistics.Variable, ok bool) {
			if _, ok = e.(*query.Slot); !ok {
				return v, false
			}
			v.Rows, v.Column = 1000, &statistics.Column{Type: x.of, Distinct: 10}
			for i := range int64(11) {
				if x.of == types.Date {
					v.Column.Bounds = append(v.Column.Bounds, types.NewDate(i))
				} else {
					v.Column.Bounds = append(v.Column.Bounds, types.NewTimestamp(i*day))
				}
			}
			return v, true
		})
		if got := of.Of(x.conds); math.Abs(got-x.want) > 0.02 {
			t.Errorf("%s: %g, want %g", x.name, got, x.want)
		}
	}
}

// together has 1,000 rows of two columns of a type, 4 and 5, that are always equal.
func together(oid types.OID, value func(i int) types.Datum) selectivity.Columns {
	members := []statistics.Member{
		{Key: statistics.Key{Position: 4}, Type: oid}, {Key: statistics.Key{Position: 5}, Type: oid},
	}
	var rows [][]types.Datum
	var values []types.Datum
	for i := range 1000 {
		v := value(i)
		values, rows = append(values, v), append(rows, []types.Datum{v, v})
	}
	want := statistics.Wanted{Dependencies: true, Common: true, Target: 100}
	table := &statistics.Table{
		Rows: 1000, Together: []statistics.Extended{*statistics.BuildExtended(9, members, rows, 1000, want)},
	}
	for _, m := range members {
		field := statistics.Field{Key: m.Key, Type: m.Type, Target: 100}
		table.Columns = append(table.Columns, statistics.Build(field, values, 1000))
	}
	return func(e query.Expr) (statistics.Variable, bool) {
		s, ok := e.(*query.Slot)
		if !ok {
			return statistics.Variable{}, false
		}
		return table.Variable(statistics.Key{Position: int16(s.N)}), true
	}
}

// TestTogether checks conditions on columns of a statistics object: known values are looked up in the
// common rows, others use that each column decides the other.
func TestTogether(t *testing.T) {
	of := together(types.Int4, func(i int) types.Datum { return types.NewInt(int64(i % 10)) })
	param := &query.Param{T: query.Of(types.Int4), N: 0}
	list := func(values ...int) query.Expr {
		var elems []types.Datum
		for _, v := range values {
			elems = append(elems, types.NewInt(int64(v)))
		}
		return &query.Const{T: query.Of(types.Int4Array), Value: types.NewList(types.Int4, elems)}
	}
	in := func(n int, array query.Expr, not bool) query.Expr {
		op := "="
		if not {
			op = "<>"
		}
		return &query.ArrayOp{Op: op, All: not, Left: slot(n), Array: array}
	}
	or := func(arms ...query.Expr) query.Expr { return &query.Or{Args: arms} }
	decimal := &query.Const{T: query.Of(types.Numeric), Value: types.NewNumeric(3, 0)}
	for _, x := range []struct {
		name  string
		conds []query.Expr
		want  float64
	}{
		{"equal values", []query.Expr{compare("=", slot(4), number(3)), compare("=", number(3), slot(5))}, 0.1},
		{"different values", []query.Expr{compare("=", slot(4), number(3)), compare("=", slot(5), number(4))}, 0},
		{"values that are not known", []query.Expr{compare("=", slot(4), param), compare("=", slot(5), param)}, 0.1},
		{"one of them is known", []query.Expr{compare("=", slot(4), param), compare("=", slot(5), number(3))}, 0.1},
		{"lists", []query.Expr{in(4, list(1, 2, 3), false), in(5, list(3, 4), false)}, 0.1},
		{"not in a list", []query.Expr{in(4, list(1, 2, 3), true), compare("=", slot(5), number(3))}, 0},
		{"ranges", []query.Expr{
			compare("<", slot(4), number(5)), compare(">=", slot(4), number(2)), compare("<=", slot(5), number(3)),
		}, 0.2},
		{"not equal", []query.Expr{compare("<>", slot(4), number(5)), compare("<", slot(5), number(5))}, 0.5},
		{"null", []query.Expr{&query.NullTest{Arg: slot(4)}, compare("=", slot(5), number(5))}, 0},
		{"not null", []query.Expr{&query.NullTest{Arg: slot(4), Not: true}, compare("=", slot(5), number(5))}, 0.1},
		{"another type, which is not compared", []query.Expr{
			compare("=", slot(4), decimal), compare("=", slot(5), number(5)),
		}, 0.1},
		{"alternatives", []query.Expr{or(compare("=", slot(4), number(3)), compare("=", number(4), slot(4))),
			compare("=", slot(5), number(4))}, 0.1},
		{"alternatives that are not known", []query.Expr{
			or(compare("=", slot(4), param), compare("=", slot(4), number(4))), compare("=", slot(5), param),
		}, 0.1},
		{"alternatives of two columns", []query.Expr{
			or(compare("=", slot(4), number(3)), compare("=", slot(5), number(4))), compare("=", slot(5), number(4)),
		}, 0.019},
		{"within OR", []query.Expr{&query.Or{Args: []query.Expr{
			&query.And{Args: []query.Expr{compare("=", slot(4), number(3)), compare("=", slot(5), number(3))}},
			&query.And{Args: []query.Expr{compare("=", slot(4), number(3)), compare("=", slot(5), number(4))}},
		}}}, 0.1},
	} {
		if got := of.Of(x.conds); math.Abs(got-x.want) > 1e-6 {
			t.Errorf("%s: %v, not %v", x.name, got, x.want)
		}
	}
}

// TestTogetherOfBooleans checks conditions that are a column, or its negation.
func TestTogetherOfBooleans(t *testing.T) {
	of := together(types.Bool, func(i int) types.Datum { return types.NewBool(i%5 == 0) })
	yes := func(n int) query.Expr { return &query.Slot{T: query.Of(types.Bool), N: n} }
	no := func(n int) query.Expr { return &query.Not{Arg: yes(n)} }
	for _, x := range []struct {
		name  string
		conds []query.Expr
		want  float64
	}{
		{"both", []query.Expr{yes(4), yes(5)}, 0.2},
		{"neither", []query.Expr{no(4), no(5)}, 0.8},
		{"one of them", []query.Expr{yes(4), no(5)}, 0},
	} {
		if got := of.Of(x.conds); math.Abs(got-x.want) > 1e-6 {
			t.Errorf("%s: %v, not %v", x.name, got, x.want)
		}
	}
}
