package statistics

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sherddb/sherd/sql/types"
)

// cities has 1,000 rows of city, country and number: the city decides the country, of which there are
// 3; the number is i % 4.
func cities() (members []Member, rows [][]types.Datum) {
	for i := range 1000 {
		city := i % 30
		row := []types.Datum{
			types.NewInt(int64(city)), types.NewText(fmt.Sprintf("country %d", city%3)), types.NewInt(int64(i % 4)),
		}
		if i%100 == 0 {
			row[2] = types.Null
		}
		rows = append(rows, row)
	}
	members = []Member{
		{Key{Position: 1}, types.Int4}, {Key{Position: 2}, types.Text}, {Key{Index: 9, Position: 1}, types.Int4},
	}
	return members, rows
}

var everything = Wanted{Combinations: true, Dependencies: true, Common: true, Target: 100}

// describe lists combinations and dependencies as PostgreSQL prints them, with members from 1.
func describe(x *Extended) string {
	names := func(s Set) string {
		var out []string
		for i := range x.Members {
			if s.Has(i) {
				out = append(out, fmt.Sprint(i+1))
			}
		}
		return strings.Join(out, ", ")
	}
	var out []string
	for _, c := range x.Combinations {
		out = append(out, fmt.Sprintf("%s: %.0f", names(c.Members), c.Distinct))
	}
	for _, d := range x.Dependencies {
		out = append(out, fmt.Sprintf("%s => %d: %.3f", names(d.From), d.To+1, d.Degree))
	}
	return strings.Join(out, "; ")
}

// TestBuildExtended checks statistics of all rows, in PostgreSQL's order.
func TestBuildExtended(t *testing.T) {
	members, rows := cities()
	x := BuildExtended(9, members, rows, 1000, everything)
	want := "1, 2: 30; 1, 3: 63; 2, 3: 15; 1, 2, 3: 63; 1 => 2: 1.000; 1, 3 => 2: 1.000; 2, 3 => 1: 0.010"
	if got := describe(x); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if len(x.Common) != 63 {
		t.Errorf("%d common rows", len(x.Common))
	}
	sum := 0.0
	for i, c := range x.Common {
		sum += c.Frac
		if i > 0 && c.Frac > x.Common[i-1].Frac {
			t.Errorf("row %d is more common than the one before", i)
		}
	}
	if math.Abs(sum-1) > 1e-9 {
		t.Errorf("all common rows have a share of %v", sum)
	}
	// A row with city 1 has one of 2 numbers, if not null.
	first := x.Common[0]
	if base := first.Base; base <= 0 || base > first.Frac/2 {
		t.Errorf("%v: base %v, share %v", first.Values, base, first.Frac)
	}
	part := BuildExtended(9, members, rows, 1000, Wanted{Dependencies: true})
	if len(part.Combinations)+len(part.Common) > 0 || len(part.Dependencies) != 3 {
		t.Errorf("only dependencies: %+v", part)
	}
	if BuildExtended(9, members, nil, 0, everything) != nil {
		t.Error("statistics of no rows")
	}
}

// TestExtendedOfSample checks that rows that are rare in a sample are estimated to be more in the table,
// and are not listed as common ones.
func TestExtendedOfSample(t *testing.T) {
	members := []Member{{Key{Position: 1}, types.Int4}, {Key{Position: 2}, types.Int4}}
	var rows [][]types.Datum
	for i := range 1000 {
		row := []types.Datum{types.NewInt(int64(i)), types.NewInt(int64(-i))}
		if i%2 == 0 {
			row = []types.Datum{types.NewInt(7), types.NewInt(7)}
		}
		rows = append(rows, row)
	}
	x := BuildExtended(9, members, rows, 100_000, everything)
	if n := x.Combinations[0].Distinct; n < 900 || n > 1100 { // 1000·501/(500 + 500·0.01)
		t.Errorf("%v combinations", n)
	}
	if len(x.Common) != 1 || x.Common[0].Frac != 0.5 {
		t.Errorf("common: %+v", x.Common)
	}
	wide := types.NewText(strings.Repeat("x", MaxWidth+1))
	texts := []Member{{Key{Position: 1}, types.Text}, {Key{Position: 2}, types.Text}}
	few := [][]types.Datum{{wide, wide}, {types.NewText("a"), types.NewText("b")}, {Wide(5000), types.Null}}
	x = BuildExtended(9, texts, few, 3, everything)
	if len(x.Common) != 1 || x.Common[0].Frac != 1.0/3 || x.Dependencies[0].Degree != 1.0/3 {
		t.Errorf("wide values: %+v", x)
	}
}

// analyzed returns statistics of the table of cities, its columns included.
func analyzed(want Wanted) *Table {
	members, rows := cities()
	out := &Table{Rows: 1000, Together: []Extended{*BuildExtended(9, members, rows, 1000, want)}}
	for i, m := range members {
		values := make([]types.Datum, len(rows))
		for j := range rows {
			values[j] = rows[j][i]
		}
		out.Columns = append(out.Columns, Build(Field{Key: m.Key, Type: m.Type, Target: 100}, values, 1000))
	}
	return out
}

// equals returns the condition that a member has a value.
func equals(t *Table, member int, d types.Datum, known bool) Term {
	v := t.Variable(t.Together[0].Members[member].Key)
	out := Term{Variable: v, Share: v.Equal(d), Equal: true}
	if known {
		out.Matches = func(x types.Datum) bool { return !x.IsNull() && x == d }
	}
	return out
}

// TestShare checks conditions on several columns: with common rows they are exact, with dependencies
// the decided column does not count, and without both they are independent.
func TestShare(t *testing.T) {
	city, country, number := types.NewInt(4), types.NewText("country 1"), types.NewInt(2)
	const ofCity, ofCountry, ofNumber = 0.033, 0.333, 0.25
	for _, x := range []struct {
		name  string
		want  Wanted
		known bool
		share func(*Table, bool) []Term
		is    float64
	}{
		{"nothing", Wanted{}, true, func(a *Table, known bool) []Term {
			return []Term{equals(a, 0, city, known), equals(a, 1, country, known)}
		}, ofCity * ofCountry},
		{"dependency", Wanted{Dependencies: true}, false, func(a *Table, known bool) []Term {
			return []Term{equals(a, 0, city, known), equals(a, 1, country, known)}
		}, ofCity},
		{"dependency, and an independent expression", Wanted{Dependencies: true}, false, func(a *Table, known bool) []Term {
			return []Term{equals(a, 2, number, known), equals(a, 1, country, known), equals(a, 0, city, known)}
		}, ofCity * ofNumber},
		{"one condition", everything, true, func(a *Table, known bool) []Term {
			return []Term{equals(a, 0, city, known)}
		}, ofCity},
		{"common rows", Wanted{Common: true, Target: 100}, true, func(a *Table, known bool) []Term {
			return []Term{equals(a, 0, city, known), equals(a, 1, country, known)}
		}, ofCity},
		{"common rows that contradict", Wanted{Common: true, Target: 100}, true, func(a *Table, known bool) []Term {
			return []Term{equals(a, 0, city, known), equals(a, 1, types.NewText("country 2"), known)}
		}, 0},
		{"common rows, values not known", Wanted{Common: true, Target: 100}, false, func(a *Table, known bool) []Term {
			return []Term{equals(a, 0, city, known), equals(a, 1, country, known)}
		}, ofCity * ofCountry},
		{"common rows of three", everything, true, func(a *Table, known bool) []Term {
			return []Term{equals(a, 0, city, known), equals(a, 1, country, known), equals(a, 2, number, known)}
		}, 0.016},
	} {
		a := analyzed(x.want)
		if got := Share(x.share(a, x.known)); math.Abs(got-x.is) > 0.1*x.is+1e-9 {
			t.Errorf("%s: %v, not %v", x.name, got, x.is)
		}
	}
}

// TestExtendedIsShrunk checks that large statistics of several columns fit with those of the columns.
func TestExtendedIsShrunk(t *testing.T) {
	members := []Member{{Key{Position: 1}, types.Text}, {Key{Position: 2}, types.Text}}
	var rows [][]types.Datum
	for i := range 500 {
		long := types.NewText(fmt.Sprintf("%0900d", i))
		rows = append(rows, []types.Datum{long, long})
	}
	want := everything
	want.Target = 1000
	a := &Table{Rows: 500, Together: []Extended{*BuildExtended(9, members, rows, 500, want)}}
	b := a.Encode()
	if len(b) > MaxSize {
		t.Fatalf("%d bytes", len(b))
	}
	got, err := Decode(b)
	if err != nil || len(got.Together) != 1 {
		t.Fatal(got, err)
	}
	if x := got.Together[0]; len(x.Common) < 5 || len(x.Common) > 20 || len(x.Dependencies) != 2 ||
		!slices.Equal(x.Common[0].Values, a.Together[0].Common[0].Values) {
		t.Errorf("%d common rows, %s", len(x.Common), describe(&x))
	}
	if len(a.Together[0].Common) != 500 {
		t.Error("encoding has changed the statistics")
	}
}

// TestGroups checks numbers of groups: with a combination they are exact, without one several columns
// make at most a tenth of the rows, and conditions make them fewer.
func TestGroups(t *testing.T) {
	plain, known := analyzed(Wanted{}), analyzed(Wanted{Combinations: true})
	of := func(a *Table, kept float64, members ...int) []Grouping {
		g := Grouping{Rows: 1000, Kept: kept}
		for _, m := range members {
			g.Variables = append(g.Variables, a.Variable(a.Together[0].Members[m].Key))
		}
		return []Grouping{g}
	}
	for _, x := range []struct {
		name   string
		tables []Grouping
		rows   float64
		want   float64
	}{
		{"one column", of(plain, 1000, 0), 1000, 30},
		{"two columns", of(plain, 1000, 0, 1), 1000, 90},
		{"three columns, at most a tenth", of(plain, 1000, 0, 1, 2), 1000, 100},
		{"a combination of two", of(known, 1000, 1, 0), 1000, 30},
		{"a combination of three", of(known, 1000, 0, 1, 2), 1000, 63},
		{"a combination, and a condition", of(known, 20, 0, 1), 20, 15},
		{"fewer rows than groups", of(known, 1000, 0), 7, 7},
		{"two tables", append(of(plain, 1000, 0), of(plain, 1000, 1)...), 5000, 90},
		{"no column", nil, 1000, 1},
	} {
		if got := Groups(x.tables, x.rows); got != x.want {
			t.Errorf("%s: %v, not %v", x.name, got, x.want)
		}
	}
}
