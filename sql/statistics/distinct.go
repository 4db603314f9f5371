package statistics

import "math"

// ratioFrom is the share of rows from which the number of distinct values is assumed to grow with
// the table.
const ratioFrom = 0.1

// counted is what a sample says of the values of a column.
type counted struct {
	sample   int // rows
	nulls    int
	wide     int // values that are too wide to be compared; each is assumed to be there once
	distinct int // of the values that were compared
	repeated int // distinct values that the sample has more than once
}

// distinctOf estimates how many values differ in a table of rows, as Column.Distinct.
func distinctOf(n counted, rows float64) float64 {
	nullFrac := frac(n.nulls, n.sample)
	switch {
	case n.nulls == n.sample:
		return 0
	case n.repeated == 0:
		return -(1 - nullFrac) // a key, probably
	}
	d := float64(n.distinct)
	if n.wide > 0 || n.repeated < n.distinct { // else each was seen again: probably there are no others
		d = duj1(n, rows*(1-nullFrac))
	}
	if d > ratioFrom*rows {
		return -min(d/rows, 1)
	}
	return d
}

// duj1 is the estimator of that name by Haas and Stokes (IBM Research Report RJ 10025): n·d /
// (n − f1 + f1·n/N), with n values in the sample of N, d distinct ones and f1 that are there once.
func duj1(c counted, total float64) float64 {
	n := float64(c.sample - c.nulls)
	once := float64(c.distinct - c.repeated + c.wide)
	d := once + float64(c.repeated)
	total = max(total, n)
	e := n * d / (n - once + once*n/total)
	return math.Round(min(max(e, d), total))
}

func frac(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

// significant returns how many of the counts of the most common values, in descending order, are
// significantly above the average of the other values, so that the sample's share of them is worth
// more than that average. It is a test of two standard deviations of the hypergeometric
// distribution, from the rarest on.
func significant(counts []int, n counted, distinct, rows float64) int {
	sample := float64(n.sample)
	if sample >= rows || rows <= 1 {
		return len(counts)
	}
	if distinct < 0 {
		distinct *= -rows
	}
	above := 0.0 // rows of the sample with a value that is more common
	for _, c := range counts {
		above += float64(c)
	}
	for k := len(counts); k > 0; k-- {
		c := float64(counts[k-1])
		above -= c
		rest := min(max(1-above/sample-frac(n.nulls, n.sample), 0), 1)
		if others := distinct - float64(k-1); others > 1 {
			rest /= others
		}
		hits := rows * c / sample // of the value in the table
		variance := sample * hits * (rows - hits) * (rows - sample) / (rows * rows * (rows - 1))
		if c > rest*sample+2*math.Sqrt(variance)+0.5 {
			return k
		}
	}
	return 0
}
