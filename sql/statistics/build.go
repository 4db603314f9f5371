package statistics

import (
	"cmp"
	"slices"

	"github.com/sherddb/sherd/sql/types"
)

// DefaultTarget is default_statistics_target as PostgreSQL sets it: the number of common values and
// of ranges of other values that are kept of a column.
const DefaultTarget = 100

// MaxTarget is the largest target that may be set.
const MaxTarget = 10000

// MaxWidth is the largest size of a value that is kept. Values above it count as distinct, and as
// wide, but are in no list.
const MaxWidth = 1024

// SampleRows returns how many rows a sample for a target has: 300 for each range, enough for its
// bounds to be off by less than half a range (Chaudhuri, Motwani and Narasayya, SIGMOD 1998).
func SampleRows(target int) int { return 300 * target }

// Field is a column or an expression that is sampled.
type Field struct {
	Key
	Type   types.OID
	Target int
}

// Comparable reports whether values of a type can be compared, so that more than their width and
// the share of nulls can be known.
func Comparable(oid types.OID) bool { return types.CanKey(oid) }

// Build computes the statistics of a field from its values in a sample, in the order in which they
// are stored. rows is the number of rows of the table. The column keeps the values.
func Build(f Field, values []types.Datum, rows float64) Column {
	out := Column{Key: f.Key, Type: f.Type}
	n := counted{sample: len(values)}
	var list []ranked
	width := 0
	for _, v := range values {
		if v.IsNull() {
			n.nulls++
			continue
		}
		w := widthOf(v)
		width += w
		if w > MaxWidth || v.K == types.KindVoid {
			n.wide++
			continue
		}
		list = append(list, ranked{v, len(list)})
	}
	out.NullFrac = frac(n.nulls, n.sample)
	if given := n.sample - n.nulls; given > 0 {
		out.Width = float64(width) / float64(given)
	}
	rows = max(rows, float64(n.sample))
	switch {
	case !Comparable(f.Type):
		return out
	case len(list) == 0:
		if n.wide > 0 {
			out.Distinct = -(1 - out.NullFrac)
		}
		return out
	}
	compare := types.Comparer(f.Type)
	slices.SortFunc(list, func(a, b ranked) int { return cmp.Or(compare(a.v, b.v), a.at-b.at) })
	runs := runsOf(list, compare)
	n.distinct = len(runs)
	for _, r := range runs {
		if r.n > 1 {
			n.repeated++
		}
	}
	out.Distinct = distinctOf(n, rows)
	out.Correlation, out.Ordered = correlation(list)
	target := min(max(f.Target, 1), MaxTarget)
	common := commonRuns(runs, n, target, out.Distinct, rows)
	for _, r := range common {
		out.Common = append(out.Common, Value{list[r.from].v, frac(r.n, n.sample)})
	}
	out.Bounds = boundsOf(list, runs, common, target)
	return out
}

// ranked is a value and its place among those that are compared.
type ranked struct {
	v  types.Datum
	at int
}

// run is equal values in a sorted list.
type run struct{ from, n int }

func runsOf(list []ranked, compare func(a, b types.Datum) int) []run {
	var out []run
	for i := range list {
		if i > 0 && compare(list[i-1].v, list[i].v) == 0 {
			out[len(out)-1].n++
			continue
		}
		out = append(out, run{i, 1})
	}
	return out
}

// commonRuns returns the runs of the values to list as common, the longest first.
func commonRuns(runs []run, n counted, target int, distinct, rows float64) []run {
	byLength := slices.Clone(runs)
	slices.SortFunc(byLength, func(a, b run) int { return cmp.Or(b.n-a.n, a.from-b.from) })
	if distinct > 0 && n.wide == 0 && n.repeated == len(runs) && len(runs) <= target {
		return byLength // the list is complete
	}
	byLength = byLength[:min(n.repeated, target)]
	counts := make([]int, len(byLength))
	for i, r := range byLength {
		counts[i] = r.n
	}
	return byLength[:significant(counts, n, distinct, rows)]
}

// boundsOf returns the bounds of ranges with the same number of the values that are not common.
func boundsOf(list []ranked, runs, common []run, target int) []types.Datum {
	distinct := len(runs) - len(common)
	if distinct < 2 {
		return nil
	}
	listed := map[int]bool{}
	for _, r := range common {
		listed[r.from] = true
	}
	var rest []types.Datum
	for _, r := range runs {
		if listed[r.from] {
			continue
		}
		for i := range r.n {
			rest = append(rest, list[r.from+i].v)
		}
	}
	n := min(distinct, target+1)
	out := make([]types.Datum, n)
	for i := range out {
		out[i] = rest[i*(len(rest)-1)/(n-1)]
	}
	return out
}

// correlation returns Pearson's coefficient of the places of values in the order of their storage
// and in their own order.
func correlation(list []ranked) (float64, bool) {
	n := float64(len(list))
	if len(list) < 2 {
		return 0, false
	}
	// Both are the numbers from 0 to n-1, so sums and squares are known.
	sum, squares, products := n*(n-1)/2, n*(n-1)*(2*n-1)/6, 0.0
	for i, r := range list {
		products += float64(i) * float64(r.at)
	}
	return (n*products - sum*sum) / (n*squares - sum*sum), true
}

// Wide stands in a sample for a value of more than MaxWidth bytes: only its size matters.
func Wide(size int) types.Datum { return types.Datum{K: types.KindVoid, N: int64(size)} }

// numericWidth returns the bytes in which PostgreSQL stores a numeric of up to 18 digits: two of a
// header, and two for each group of four digits, counted from the point, between the first and the
// last that are not 0.
func numericWidth(d types.Datum) int {
	n, first := d.N, int64(10_000)
	for range (4 - d.A%4) % 4 {
		first /= 10 // a short group after the point
	}
	width := 2
	for group := first; n != 0; group = 10_000 {
		if n%group != 0 || width > 2 {
			width += 2
		}
		n /= group
	}
	return width
}

// widthOf returns the bytes of a value, without those of a header.
func widthOf(d types.Datum) int {
	switch d.K {
	case types.KindVoid:
		return int(d.N)
	case types.KindBool:
		return 1
	case types.KindFloat4, types.KindOid, types.KindDate, types.KindEnum:
		return 4
	case types.KindInterval, types.KindUUID:
		return 16
	case types.KindTimeTZ:
		return 12
	}
	if d.S != "" {
		return len(d.S)
	}
	switch d.K {
	case types.KindText, types.KindBytes:
		return 0
	case types.KindNumeric:
		return numericWidth(d)
	}
	return 8
}
