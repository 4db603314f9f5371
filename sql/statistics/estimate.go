package statistics

import (
	"math"
	"strings"

	"github.com/sherddb/sherd/sql/types"
)

// What PostgreSQL assumes if nothing is known.
const (
	defaultEqual    = 0.005
	defaultOneSided = 1.0 / 3
	defaultRange    = 0.005
	defaultNull     = 0.005
	defaultDistinct = 200
	defaultPrefix   = 0.005
)

// Variable is a column or an expression in the conditions of a statement. Its methods estimate
// which share of the table's rows meets a condition on it.
type Variable struct {
	Column *Column // nil: nothing is known
	Rows   float64 // of the table; 0: unknown
	// Unique: no two rows have the same value, because of a key or a unique index.
	Unique bool
	// Keys names the variable among the members of the table's statistics objects, Together.
	Keys     []Key
	Together []Extended
}

// Distinct returns how many values differ, at least 1.
func (v Variable) Distinct() float64 {
	rows := v.Rows
	switch {
	case v.Unique && rows > 0:
		return max(rows*(1-v.nullFrac()), 1)
	case v.Column == nil || v.Column.Distinct == 0:
		if v.Column != nil && types.KindOf(v.Column.Type) == types.KindBool {
			return 2
		}
		if rows > 0 {
			return max(min(rows, defaultDistinct), 1)
		}
		return defaultDistinct
	case v.Column.Distinct > 0:
		if rows > 0 {
			return max(min(v.Column.Distinct, rows), 1)
		}
		return max(v.Column.Distinct, 1)
	}
	if rows <= 0 {
		return defaultDistinct
	}
	return max(math.Round(-v.Column.Distinct*rows), 1)
}

// Known reports whether Distinct is more than a guess.
func (v Variable) Known() bool { return v.Unique || v.Column != nil && v.Column.Distinct != 0 }

// IsNull estimates IS NULL.
func (v Variable) IsNull() float64 {
	if v.Column == nil {
		return defaultNull
	}
	return share(v.Column.NullFrac)
}

func (v Variable) nullFrac() float64 {
	if v.Column == nil {
		return 0
	}
	return share(v.Column.NullFrac)
}

// Equal estimates equality with a value.
func (v Variable) Equal(d types.Datum) float64 {
	switch {
	case d.IsNull():
		return 0
	case v.Unique && v.Rows >= 1:
		return 1 / v.Rows
	case v.Column == nil || !v.takes(d):
		return v.EqualUnknown()
	}
	compare := types.Comparer(v.Column.Type)
	for _, c := range v.Column.Common {
		if compare(c.Value, d) == 0 {
			return share(c.Frac)
		}
	}
	rest := share(1 - v.nullFrac() - v.commonFrac())
	if others := v.Distinct() - float64(len(v.Column.Common)); others > 1 {
		rest /= others
	}
	if n := len(v.Column.Common); n > 0 { // it would be listed if it were more common
		rest = min(rest, v.Column.Common[n-1].Frac)
	}
	return share(rest)
}

// EqualUnknown estimates equality with a value that is not known yet, such as a parameter.
func (v Variable) EqualUnknown() float64 {
	if v.Unique && v.Rows >= 1 {
		return 1 / v.Rows
	}
	if v.Column == nil && v.Rows <= 0 {
		return defaultEqual
	}
	sel := (1 - v.nullFrac()) / v.Distinct()
	if v.Column != nil && len(v.Column.Common) > 0 {
		sel = min(sel, v.Column.Common[0].Frac)
	}
	return share(sel)
}

// NotEqual estimates <> with a value.
func (v Variable) NotEqual(d types.Datum) float64 {
	if d.IsNull() {
		return 0
	}
	return share(1 - v.nullFrac() - v.Equal(d))
}

// In estimates equality with one of some values. Equal values count once.
func (v Variable) In(values []types.Datum) float64 {
	sum := 0.0
	seen := map[types.Datum]bool{}
	for _, d := range values {
		if !seen[d] {
			seen[d] = true
			sum += v.Equal(d)
		}
	}
	return min(share(sum), 1-v.nullFrac())
}

// InUnknown estimates equality with one of n values that are not known yet.
func (v Variable) InUnknown(n int) float64 {
	return min(share(float64(n)*v.EqualUnknown()), 1-v.nullFrac())
}

// Bound is one end of a range.
type Bound struct {
	Value     types.Datum
	Inclusive bool
	Unknown   bool // there is a bound, and its value is not known yet
}

// Range estimates a range; a nil bound is open.
func (v Variable) Range(lo, hi *Bound) float64 {
	if lo == nil && hi == nil {
		return 1 - v.nullFrac()
	}
	for _, b := range []*Bound{lo, hi} {
		if b != nil && !b.Unknown && b.Value.IsNull() {
			return 0
		}
	}
	if !v.bounded(lo) || !v.bounded(hi) {
		if lo != nil && hi != nil {
			return min(defaultRange, 1-v.nullFrac())
		}
		return defaultOneSided * (1 - v.nullFrac())
	}
	c := v.Column
	compare := types.Comparer(c.Type)
	common := 0.0
	for _, x := range c.Common {
		if within(x.Value, lo, hi, compare) {
			common += x.Frac
		}
	}
	rest := share(1 - v.nullFrac() - v.commonFrac())
	below, upTo := 0.0, 1.0
	if lo != nil {
		below = v.below(lo.Value, !lo.Inclusive)
	}
	if hi != nil {
		upTo = v.below(hi.Value, hi.Inclusive)
	}
	if lo != nil && hi != nil && compare(lo.Value, hi.Value) > 0 {
		return 0
	}
	return min(share(common+rest*max(upTo-below, 0)), 1-v.nullFrac())
}

// bounded reports whether a bound can be found in the statistics.
func (v Variable) bounded(b *Bound) bool {
	if b == nil {
		return true
	}
	return !b.Unknown && v.Column != nil && (len(v.Column.Bounds) > 0 || len(v.Column.Common) > 0) && v.takes(b.Value)
}

func within(d types.Datum, lo, hi *Bound, compare func(a, b types.Datum) int) bool {
	if lo != nil {
		if n := compare(d, lo.Value); n < 0 || n == 0 && !lo.Inclusive {
			return false
		}
	}
	if hi != nil {
		if n := compare(d, hi.Value); n > 0 || n == 0 && !hi.Inclusive {
			return false
		}
	}
	return true
}

// below returns the share of the values that are not common below d, or up to it.
func (v Variable) below(d types.Datum, inclusive bool) float64 {
	b := v.Column.Bounds
	if len(b) < 2 {
		return 0.5
	}
	least := 0.01 / float64(len(b)-1) // newer rows may be beyond the bounds
	compare := types.Comparer(v.Column.Type)
	first, last := compare(d, b[0]), compare(d, b[len(b)-1])
	switch {
	case first < 0 || first == 0 && !inclusive:
		return least
	case last > 0 || last == 0 && inclusive:
		return 1 - least
	}
	i, j := 0, len(b)-1 // b[i] <= d <= b[j]
	for j-i > 1 {
		if m := (i + j) / 2; compare(b[m], d) <= 0 {
			i = m
		} else {
			j = m
		}
	}
	part := (float64(i) + between(b[i], b[j], d)) / float64(len(b)-1)
	if inclusive {
		if others := v.Distinct() - float64(len(v.Column.Common)); others > 1 {
			part += 1 / others
		}
	}
	return min(max(part, least), 1-least)
}

// Prefix estimates that a text begins with another one.
func (v Variable) Prefix(prefix string) float64 {
	if prefix == "" {
		return 1 - v.nullFrac()
	}
	c := v.Column
	if c == nil || types.KindOf(c.Type) != types.KindText || len(c.Common)+len(c.Bounds) == 0 {
		return min(defaultPrefix, 1-v.nullFrac())
	}
	common := 0.0
	for _, x := range c.Common {
		if strings.HasPrefix(x.Value.S, prefix) {
			common += x.Frac
		}
	}
	rest := share(1 - v.nullFrac() - v.commonFrac())
	upTo := 1.0
	if next, ok := after(prefix); ok {
		upTo = v.below(types.NewText(next), false)
	}
	part := max(upTo-v.below(types.NewText(prefix), false), 0)
	if len(c.Bounds) == 0 {
		part = defaultPrefix
	}
	if others := v.Distinct() - float64(len(c.Common)); others > 1 {
		part = max(part, min(1/others, 1)) // at least one value
	}
	return min(share(common+rest*part), 1-v.nullFrac())
}

// Matching returns the share of rows whose value has some property, by what the known values have of
// it. guess is the share among the others, if too few of them are known.
func (v Variable) Matching(guess float64, has func(types.Datum) bool) float64 {
	c := v.Column
	if c == nil || len(c.Common)+len(c.Bounds) == 0 {
		return guess
	}
	common, rest := 0.0, guess
	for _, x := range c.Common {
		if has(x.Value) {
			common += x.Frac
		}
	}
	if n := len(c.Bounds); n >= leastMatching {
		met := 0
		for _, d := range c.Bounds[1 : n-1] { // the first and the last one are special
			if has(d) {
				met++
			}
		}
		rest = float64(met) / float64(n-2)
		weight := min(1, float64(n)/100)
		rest = min(max(rest*weight+guess*(1-weight), 0.0001), 0.9999)
	}
	return share(common + rest*share(1-v.nullFrac()-v.commonFrac()))
}

// leastMatching is the number of bounds that show how many rows have a property.
const leastMatching = 10

// after returns the smallest text above all that begin with prefix; there is none if all its bytes
// are 0xff.
func after(prefix string) (string, bool) {
	b := []byte(prefix)
	for len(b) > 0 && b[len(b)-1] == 0xff {
		b = b[:len(b)-1]
	}
	if len(b) == 0 {
		return "", false
	}
	b[len(b)-1]++
	return string(b), true
}

// takes reports whether a value can be compared with those of the column.
func (v Variable) takes(d types.Datum) bool { return d.K == types.KindOf(v.Column.Type) }

func (v Variable) commonFrac() float64 {
	sum := 0.0
	for _, c := range v.Column.Common {
		sum += c.Frac
	}
	return share(sum)
}

// share limits an estimate (ST3).
func share(f float64) float64 {
	if !(f > 0) { // also if it is no number
		return 0
	}
	return min(f, 1)
}
