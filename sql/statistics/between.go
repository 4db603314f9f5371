package statistics

import (
	"encoding/binary"
	"math"

	"github.com/sherddb/sherd/sql/types"
)

// between returns where d lies between two values, from 0 to 1, and 0.5 if the type has no distances.
func between(lo, hi, d types.Datum) float64 {
	if lo.K != hi.K || lo.K != d.K {
		return 0.5
	}
	var a, b, x float64
	if d.K == types.KindText || d.K == types.KindBytes || d.K == types.KindUUID || d.K == types.KindEnum {
		a, b, x = textPlaces(lo.S, hi.S, d.S)
	} else {
		var ok [3]bool
		a, ok[0] = number(lo)
		b, ok[1] = number(hi)
		x, ok[2] = number(d)
		if ok != [3]bool{true, true, true} {
			return 0.5
		}
	}
	f := (x - a) / (b - a)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0.5
	}
	return share(f)
}

// number maps a value to a number in the same order.
func number(d types.Datum) (float64, bool) {
	switch d.K {
	case types.KindBool, types.KindInt, types.KindOid, types.KindDate, types.KindTime, types.KindTimestamp:
		return float64(d.N), true
	case types.KindFloat4, types.KindFloat8:
		return d.Float(), true
	case types.KindNumeric:
		f, err := types.NumericToFloat(d, 64)
		return f, err == nil
	case types.KindInterval:
		return intervalMonths(d), true
	}
	return 0, false
}

// textPlaces maps three texts to numbers: as fractions in base 256 of what follows their common
// prefix, over the range of bytes that occur there.
func textPlaces(lo, hi, d string) (a, b, x float64) {
	n := 0
	for n < len(lo) && n < len(hi) && n < len(d) && lo[n] == hi[n] && lo[n] == d[n] {
		n++
	}
	lo, hi, d = lo[n:], hi[n:], d[n:]
	first, last := byte(255), byte(0)
	for _, s := range []string{lo, hi, d} {
		for i := range min(len(s), textBytes) {
			first, last = min(first, s[i]), max(last, s[i])
		}
	}
	if first > last {
		return 0, 0, 0
	}
	base := float64(last-first) + 2 // 0 is the end of the text
	return textPlace(lo, first, base), textPlace(hi, first, base), textPlace(d, first, base)
}

// textBytes is how much of a text counts.
const textBytes = 12

func textPlace(s string, first byte, base float64) float64 {
	out, unit := 0.0, 1.0
	for i := range min(len(s), textBytes) {
		unit /= base
		out += float64(s[i]-first+1) * unit
	}
	return out
}

// intervalMonths is the length of an interval, with months of 30 days.
func intervalMonths(d types.Datum) float64 {
	days := 0.0
	if len(d.S) == 4 {
		days = float64(int32(binary.BigEndian.Uint32([]byte(d.S))))
	}
	return float64(d.A) + days/30 + float64(d.N)/(30*24*3600*1e6)
}
