package builtin

import (
	"github.com/sherddb/sherd/sql/types"
)

// comparisonTime has the comparison of dates and times. Values of date, time and timestamps of one
// kind are compared by N, like integers.
var comparisonTime = makeTimeComparison()

// comparisonOf adds = <> < <= > >= and the btree comparison of a pair of types to m. prefix and
// suffix are around the operator's name.
func comparisonOf(m map[string]Func, prefix, suffix string, compare func(c *Ctx, a, b types.Datum) (int, error)) {
	test := func(accept func(int) bool) Func {
		return func(c *Ctx, a []types.Datum) (types.Datum, error) {
			n, err := compare(c, a[0], a[1])
			return types.NewBool(accept(n)), err
		}
	}
	m[prefix+"eq"+suffix] = test(func(n int) bool { return n == 0 })
	m[prefix+"ne"+suffix] = test(func(n int) bool { return n != 0 })
	m[prefix+"lt"+suffix] = test(func(n int) bool { return n < 0 })
	m[prefix+"le"+suffix] = test(func(n int) bool { return n <= 0 })
	m[prefix+"gt"+suffix] = test(func(n int) bool { return n > 0 })
	m[prefix+"ge"+suffix] = test(func(n int) bool { return n >= 0 })
	m[prefix+"cmp"+suffix] = func(c *Ctx, a []types.Datum) (types.Datum, error) {
		n, err := compare(c, a[0], a[1])
		return types.NewInt(int64(sign(n))), err
	}
}

// extremesOf adds the larger and smaller functions to m; of equal values they return the second.
func extremesOf(m map[string]Func, prefix string, compare func(a, b types.Datum) int) {
	m[prefix+"larger"] = func(_ *Ctx, a []types.Datum) (types.Datum, error) {
		if compare(a[0], a[1]) > 0 {
			return a[0], nil
		}
		return a[1], nil
	}
	m[prefix+"smaller"] = func(_ *Ctx, a []types.Datum) (types.Datum, error) {
		if compare(a[0], a[1]) < 0 {
			return a[0], nil
		}
		return a[1], nil
	}
}

func sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}

func plainCompare(compare func(a, b types.Datum) int) func(*Ctx, types.Datum, types.Datum) (int, error) {
	return func(_ *Ctx, a, b types.Datum) (int, error) { return compare(a, b), nil }
}

func makeTimeComparison() map[string]Func {
	m := map[string]Func{}
	for _, name := range []string{"date_", "time_", "timestamp_"} {
		for op, f := range map[string]Func{
			"eq":      intEq,
			"ne":      intNe,
			"lt":      intLt,
			"le":      intLe,
			"gt":      intGt,
			"ge":      intGe,
			"cmp":     intCmp,
			"larger":  intLarger,
			"smaller": intSmaller,
		} {
			m[name+op] = f
		}
	}
	comparisonOf(m, "timetz_", "", plainCompare(types.Comparer(types.TimeTZ)))
	extremesOf(m, "timetz_", types.Comparer(types.TimeTZ))
	comparisonOf(m, "interval_", "", plainCompare(types.CompareInterval))
	extremesOf(m, "interval_", types.CompareInterval)
	mixedTimeComparison(m)
	return m
}

func mixedTimeComparison(m map[string]Func) {
	reverse := func(f func(*Ctx, types.Datum, types.Datum) (int, error)) func(*Ctx, types.Datum, types.Datum) (int,
		error) {
		return func(c *Ctx, a, b types.Datum) (int, error) {
			n, err := f(c, b, a)
			return -n, err
		}
	}
	comparisonOf(m, "date_", "_timestamp", compareDateTimestamp)
	comparisonOf(m, "timestamp_", "_date", reverse(compareDateTimestamp))
	comparisonOf(m, "date_", "_timestamptz", compareDateTimestampTZ)
	comparisonOf(m, "timestamptz_", "_date", reverse(compareDateTimestampTZ))
	comparisonOf(m, "timestamp_", "_timestamptz", compareTimestampTZ)
	comparisonOf(m, "timestamptz_", "_timestamp", reverse(compareTimestampTZ))
}
