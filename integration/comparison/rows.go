package comparison

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Answer is what a statement returned.
type Answer struct {
	Tag   string
	Types []uint32 // of the columns
	Rows  [][][]byte
}

// difference describes the first difference of two answers; "" means that there is none. Rows are
// compared in their order if ordered is set. Floating-point numbers may differ in the last digits.
func difference(want, got *Answer, ordered bool) string {
	if !slices.Equal(want.Types, got.Types) {
		return fmt.Sprintf("types of columns %v, not %v", got.Types, want.Types)
	}
	if len(want.Rows) != len(got.Rows) {
		return fmt.Sprintf("%d rows, not %d", len(got.Rows), len(want.Rows))
	}
	if want.Tag != got.Tag {
		return fmt.Sprintf("tag %s, not %s", got.Tag, want.Tag)
	}
	a, b := want.sorted(), got.sorted()
	for i := range a {
		if !want.sameRow(a[i], b[i]) {
			return fmt.Sprintf("row %s, not %s", rowText(b[i]), rowText(a[i]))
		}
	}
	if !ordered {
		return ""
	}
	for i := range want.Rows {
		if !want.sameRow(want.Rows[i], got.Rows[i]) {
			return fmt.Sprintf("order: row %d is %s, not %s", i+1, rowText(got.Rows[i]), rowText(want.Rows[i]))
		}
	}
	return ""
}

func (a *Answer) isFloat(column int) bool {
	return a.Types[column] == oidOf["float4"] || a.Types[column] == oidOf["float8"]
}

// sorted returns the rows in an order that does not depend on the last digits of floating-point
// numbers, except for those that are equal in all else.
func (a *Answer) sorted() [][][]byte {
	type keyed struct {
		key string
		row [][]byte
	}
	rows := make([]keyed, len(a.Rows))
	for i, row := range a.Rows {
		var exact, rounded strings.Builder
		for j, v := range row {
			if f, err := strconv.ParseFloat(string(v), 64); a.isFloat(j) && err == nil {
				fmt.Fprintf(&rounded, "%.6g|", f)
				continue
			}
			fmt.Fprintf(&exact, "%t%s|", v == nil, v)
		}
		rows[i] = keyed{exact.String() + rounded.String(), row}
	}
	slices.SortStableFunc(rows, func(x, y keyed) int { return strings.Compare(x.key, y.key) })
	out := make([][][]byte, len(rows))
	for i, r := range rows {
		out[i] = r.row
	}
	return out
}

// tolerance is the relative difference that two sums of the same floating-point numbers may have.
const tolerance = 1e-9

func (a *Answer) sameRow(x, y [][]byte) bool {
	for i := range x {
		if (x[i] == nil) != (y[i] == nil) {
			return false
		}
		if string(x[i]) == string(y[i]) {
			continue
		}
		f, err := strconv.ParseFloat(string(x[i]), 64)
		g, err2 := strconv.ParseFloat(string(y[i]), 64)
		if !a.isFloat(i) || err != nil || err2 != nil || math.Abs(f-g) > tolerance*max(math.Abs(f), math.Abs(g)) {
			return false
		}
	}
	return true
}

func rowText(row [][]byte) string {
	var out []string
	for _, v := range row {
		s := string(v)
		if v == nil {
			s = "NULL"
		}
		if len(s) > 40 {
			s = s[:40] + "…"
		}
		out = append(out, s)
	}
	return "(" + strings.Join(out, ", ") + ")"
}
