package statistics

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sherddb/sherd/sql/types"
)

// near reports whether got is within tolerance of want, or within three thousandths.
func near(got, want, tolerance float64) bool {
	return math.Abs(got-want) <= max(tolerance*want, 0.003)
}

// sampled builds the statistics of a column from a sample of values for the default target.
func sampled(oid types.OID, values []types.Datum) Variable {
	s := NewSample[types.Datum](SampleRows(DefaultTarget), rand.New(rand.NewPCG(1, 2)))
	for _, v := range values {
		s.Add(func() types.Datum { return v })
	}
	c := Build(Field{Key: Key{Position: 1}, Type: oid, Target: DefaultTarget}, s.Items(), float64(len(values)))
	return Variable{Column: &c, Rows: float64(len(values))}
}

func ints(n int, f func(i int) int64) []types.Datum {
	out := make([]types.Datum, n)
	for i := range out {
		out[i] = types.NewInt(f(i))
	}
	return out
}

// distributions are columns of 200,000 rows, of which 30,000 are sampled.
var distributions = map[string]func(r *rand.Rand) []types.Datum{
	"uniform": func(r *rand.Rand) []types.Datum {
		return ints(200_000, func(int) int64 { return r.Int64N(1000) })
	},
	"key": func(r *rand.Rand) []types.Datum {
		return ints(200_000, func(i int) int64 { return int64(i) })
	},
	"exponential": func(r *rand.Rand) []types.Datum {
		return ints(200_000, func(int) int64 { return int64(r.ExpFloat64() * 500) })
	},
	"skewed": func(r *rand.Rand) []types.Datum {
		z := rand.NewZipf(r, 1.3, 5, 100_000)
		return ints(200_000, func(int) int64 { return int64(z.Uint64()) })
	},
	"nulls": func(r *rand.Rand) []types.Datum {
		v := ints(200_000, func(int) int64 { return r.Int64N(5000) })
		for i := range v {
			if r.IntN(4) == 0 {
				v[i] = types.Null
			}
		}
		return v
	},
	"flags": func(r *rand.Rand) []types.Datum {
		return ints(200_000, func(int) int64 { return int64(min(r.IntN(100), 2)) })
	},
	"small": func(r *rand.Rand) []types.Datum {
		return ints(500, func(int) int64 { return r.Int64N(300) })
	},
}

// TestDistributions compares estimates with what columns of known distributions contain.
func TestDistributions(t *testing.T) {
	for name, make := range distributions {
		t.Run(name, func(t *testing.T) {
			values := make(rand.New(rand.NewPCG(7, 9)))
			v := sampled(types.Int4, values)
			exact := map[int64]int{}
			nulls := 0
			for _, d := range values {
				if d.IsNull() {
					nulls++
					continue
				}
				exact[d.N]++
			}
			n := float64(len(values))
			if got, want := v.IsNull(), float64(nulls)/n; !near(got, want, 0.05) {
				t.Errorf("null: got %v, want %v", got, want)
			}
			if got, want := v.Distinct(), float64(len(exact)); got < want/4 || got > want*2 {
				t.Errorf("distinct: got %v, want %v", got, want)
			}
			for _, x := range []int64{0, 1, 2, 3, 10, 100, 999, 4000, 150_000} {
				got, want := v.Equal(types.NewInt(x)), float64(exact[x])/n
				if !near(got, want, 0.25) {
					t.Errorf("= %d: got %v, want %v", x, got, want)
				}
				less, upTo := 0, 0
				for k, c := range exact {
					if k < x {
						less += c
					}
					if k <= x {
						upTo += c
					}
				}
				b := types.NewInt(x)
				if got, want := v.Range(nil, &Bound{Value: b}), float64(less)/n; math.Abs(got-want) > 0.02 {
					t.Errorf("< %d: got %v, want %v", x, got, want)
				}
				if got, want := v.Range(nil, &Bound{Value: b, Inclusive: true}), float64(upTo)/n; math.Abs(got-want) > 0.02 {
					t.Errorf("<= %d: got %v, want %v", x, got, want)
				}
				want = float64(len(values)-nulls-less) / n
				if got := v.Range(&Bound{Value: b, Inclusive: true}, nil); math.Abs(got-want) > 0.02 {
					t.Errorf(">= %d: got %v, want %v", x, got, want)
				}
			}
		})
	}
}

// TestExact checks a column of which all rows are read: everything is exact.
func TestExact(t *testing.T) {
	v := sampled(types.Int4, ints(1000, func(i int) int64 { return int64(i % 10) }))
	c := v.Column
	if c.Distinct != 10 || len(c.Common) != 10 || len(c.Bounds) != 0 || c.NullFrac != 0 {
		t.Fatalf("got %+v", c)
	}
	for i := range int64(10) {
		if got := v.Equal(types.NewInt(i)); math.Abs(got-0.1) > 1e-9 {
			t.Errorf("= %d: got %v", i, got)
		}
	}
	if got := v.Equal(types.NewInt(11)); got > 1e-9 {
		t.Errorf("a value that is not there: got %v", got)
	}
	in := []types.Datum{types.NewInt(1), types.NewInt(2), types.NewInt(1), types.Null}
	if got := v.In(in); math.Abs(got-0.2) > 1e-9 {
		t.Errorf("IN: got %v", got)
	}
	lo, hi := &Bound{Value: types.NewInt(2)}, &Bound{Value: types.NewInt(4), Inclusive: true}
	if got := v.Range(lo, hi); math.Abs(got-0.2) > 1e-9 {
		t.Errorf("range: got %v", got)
	}
	if got := v.NotEqual(types.NewInt(3)); math.Abs(got-0.9) > 1e-9 {
		t.Errorf("<>: got %v", got)
	}
}

// TestPrefix compares estimates of prefixes with texts of known shares.
func TestPrefix(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	values := make([]types.Datum, 100_000)
	for i := range values {
		city := []string{"amsterdam", "berlin", "bern", "zurich"}[min(r.IntN(10), 3)]
		values[i] = types.NewText(fmt.Sprintf("%s-%05d", city, r.IntN(40_000)))
	}
	v := sampled(types.Text, values)
	for _, p := range []string{"", "a", "b", "ber", "berlin-", "berlin-1", "zurich-39", "q", "\xff"} {
		want := 0.0
		for _, d := range values {
			if len(d.S) >= len(p) && d.S[:len(p)] == p {
				want++
			}
		}
		if got := v.Prefix(p); math.Abs(got-want/100_000) > 0.02 {
			t.Errorf("%q: got %v, want %v", p, got, want/100_000)
		}
	}
}

// TestJoin compares estimates of joins with the number of pairs.
func TestJoin(t *testing.T) {
	type side struct {
		v     Variable
		count map[int64]float64
	}
	sides := map[string]side{}
	for name, column := range distributions {
		values := column(rand.New(rand.NewPCG(7, 9)))
		s := side{sampled(types.Int4, values), map[int64]float64{}}
		for _, d := range values {
			if !d.IsNull() {
				s.count[d.N]++
			}
		}
		sides[name] = s
	}
	for a, x := range sides {
		for b, y := range sides {
			pairs, semi := 0.0, 0.0
			for k, n := range x.count {
				if m := y.count[k]; m > 0 {
					pairs += n * m
					semi += n
				}
			}
			// As in PostgreSQL, the values of one side are assumed to be among those of the other. The
			// estimate is wrong by the share that is not, and that of values that few rows have.
			product := x.v.Rows * y.v.Rows
			if got := Join(x.v, y.v) * product; got < pairs/10 || got > pairs*25+product/200 {
				t.Errorf("%s, %s: got %.0f pairs, want %.0f", a, b, got, pairs)
			}
			if got := SemiJoin(x.v, y.v) * x.v.Rows; got < semi/10 || got > x.v.Rows {
				t.Errorf("%s, %s: got %.0f rows, want %.0f", a, b, got, semi)
			}
		}
	}
}

// TestUnknown checks the estimates of a column of which nothing is known.
func TestUnknown(t *testing.T) {
	var none *Table
	v := none.Variable(Key{Position: 1})
	one := types.NewInt(1)
	for what, got := range map[string][2]float64{
		"equal":      {v.Equal(one), defaultEqual},
		"null":       {v.IsNull(), defaultNull},
		"one side":   {v.Range(&Bound{Value: one}, nil), defaultOneSided},
		"range":      {v.Range(&Bound{Value: one}, &Bound{Unknown: true}), defaultRange},
		"prefix":     {v.Prefix("a"), defaultPrefix},
		"null const": {v.Equal(types.Null), 0},
		"unique":     {Variable{Rows: 1000, Unique: true}.Equal(one), 0.001},
		"rows":       {Variable{Rows: 1000}.Equal(one), 0.005},
		"few rows":   {Variable{Rows: 10}.EqualUnknown(), 0.1},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: got %v, want %v", what, got[0], got[1])
		}
	}
}

// TestWide checks that values that are too wide are left out and still counted.
func TestWide(t *testing.T) {
	values := make([]types.Datum, 100)
	for i := range values {
		values[i] = types.NewText(string(make([]byte, 2000+i)))
		if i%2 == 0 {
			values[i] = types.NewText("short")
		}
	}
	c := sampled(types.Text, values).Column
	if len(c.Common) != 1 || c.Common[0].Frac != 0.5 || len(c.Bounds) != 0 {
		t.Errorf("got %d common values, %d bounds", len(c.Common), len(c.Bounds))
	}
	if c.Distinct != -0.51 {
		t.Errorf("got %v distinct", c.Distinct)
	}
	if c := sampled(types.JSON, values).Column; c.Distinct != 0 || c.Width < 1000 || len(c.Common) != 0 {
		t.Errorf("json: got %+v", c)
	}
}

// TestNewerValues checks that a range beyond the bounds is not taken for empty, and that ends in the
// wrong order are.
func TestNewerValues(t *testing.T) {
	v := sampled(types.Int4, ints(10_000, func(i int) int64 { return int64(i) }))
	if got := v.Range(&Bound{Value: types.NewInt(20_000)}, nil); got <= 0 || got > 0.001 {
		t.Errorf("got %v", got)
	}
	if got := v.Range(&Bound{Value: types.NewInt(500)}, &Bound{Value: types.NewInt(400)}); got != 0 {
		t.Errorf("got %v", got)
	}
	if got := v.Range(&Bound{Value: types.Null}, nil); got != 0 {
		t.Errorf("got %v", got)
	}
}

// TestCorrelation checks the coefficient of columns in order, in reverse order and in none.
func TestCorrelation(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for name, x := range map[string]struct {
		f    func(i int) int64
		want float64
	}{
		"ascending":  {func(i int) int64 { return int64(i) }, 1},
		"descending": {func(i int) int64 { return -int64(i) }, -1},
		"random":     {func(int) int64 { return r.Int64N(1e9) }, 0},
	} {
		c := sampled(types.Int4, ints(50_000, x.f)).Column
		if !c.Ordered || math.Abs(c.Correlation-x.want) > 0.02 {
			t.Errorf("%s: got %v", name, c.Correlation)
		}
	}
}

// TestMerge checks that columns that were not analyzed again stay, but for those that are refused.
func TestMerge(t *testing.T) {
	of := func(rows float64, positions ...int16) *Table {
		out := &Table{Rows: rows}
		for _, p := range positions {
			out.Columns = append(out.Columns, Column{Key: Key{Position: p}, Width: rows})
		}
		return out
	}
	got := of(1, 1, 2, 4).Merge(of(2, 2, 3), Applies{
		Column:   func(c *Column) bool { return c.Position != 4 },
		Extended: func(x *Extended) bool { return x.Object != 4 },
	})
	var list []float64
	for _, c := range got.Columns {
		list = append(list, float64(c.Position), c.Width)
	}
	if !slices.Equal(list, []float64{1, 1, 2, 2, 3, 2}) || got.Rows != 2 {
		t.Errorf("got %v of %v rows", list, got.Rows)
	}
}
