package types

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
)

// roundBig divides by 10^drop, rounding half away from zero; it may modify c.
func roundBig(c *big.Int, drop int32) *big.Int {
	if drop <= 0 {
		return c
	}
	return divRound(c, bigPow10(drop))
}

// NumericRound rounds half away from zero to scale digits after the point; a negative scale rounds
// before the point.
func NumericRound(d Datum, scale int32) (Datum, error) {
	return rescale(d, min(max(scale, -maxNumericIntDigits-1), maxNumericScale), true)
}

// NumericTrunc truncates to scale digits after the point.
func NumericTrunc(d Datum, scale int32) (Datum, error) {
	return rescale(d, min(max(scale, -maxNumericIntDigits-1), maxNumericScale), false)
}

func rescale(d Datum, scale int32, round bool) (Datum, error) {
	if d.special() {
		return d, nil
	}
	if scale >= d.A {
		return widenScale(d, scale)
	}
	drop := d.A - scale
	if d.S == "" && drop < int32(len(pow10Table)) {
		p := pow10Table[drop]
		q, r := d.N/p, d.N%p
		if round && absU(r) >= uint64(p)-absU(r) {
			if d.N < 0 {
				q--
			} else {
				q++
			}
		}
		return unscale(q, scale)
	}
	c := d.coefficient(new(big.Int))
	if round {
		c = divRound(c, bigPow10(drop))
	} else {
		c.Quo(c, bigPow10(drop))
	}
	if scale < 0 {
		c.Mul(c, bigPow10(-scale))
	}
	return numericOf(c, max(scale, 0))
}

// unscale converts a coefficient at a negative scale to one at scale 0.
func unscale(n int64, scale int32) (Datum, error) {
	if scale >= 0 {
		return NewNumeric(n, scale), nil
	}
	if m, ok := mulPow10(n, -scale); ok {
		return NewNumeric(m, 0), nil
	}
	c := big.NewInt(n)
	return numericOf(c.Mul(c, bigPow10(-scale)), 0)
}

func widenScale(d Datum, scale int32) (Datum, error) {
	if scale == d.A {
		return d, nil
	}
	if d.S == "" {
		if n, ok := mulPow10(d.N, scale-d.A); ok {
			return NewNumeric(n, scale), nil
		}
	}
	c := d.coefficient(new(big.Int))
	return numericOf(c.Mul(c, bigPow10(scale-d.A)), scale)
}

// NumericCeil returns the least integer not below d.
func NumericCeil(d Datum) (Datum, error) { return roundToward(d, 1) }

// NumericFloor returns the greatest integer not above d.
func NumericFloor(d Datum) (Datum, error) { return roundToward(d, -1) }

func roundToward(d Datum, dir int) (Datum, error) {
	if d.special() {
		return d, nil
	}
	t, err := rescale(d, 0, false)
	if err != nil || CompareNumeric(t, d) == 0 || NumericSign(d) != dir {
		return t, err
	}
	return NumericAdd(t, NewNumeric(int64(dir), 0))
}

// NumericMinScale returns the smallest number of digits after the point that represents d exactly.
func NumericMinScale(d Datum) int32 {
	if d.special() {
		return 0
	}
	scale := d.A
	if d.S == "" {
		n := d.N
		for scale > 0 && n%10 == 0 {
			n /= 10
			scale--
		}
		return scale
	}
	t := strings.TrimRight(d.coefficient(new(big.Int)).String(), "0")
	zeros := len(d.coefficient(new(big.Int)).String()) - len(t)
	return max(scale-int32(zeros), 0)
}

// NumericTrimScale removes trailing zeros after the point.
func NumericTrimScale(d Datum) Datum {
	t, err := rescale(d, NumericMinScale(d), false)
	if err != nil {
		return d
	}
	return t
}

// NumericScale returns the number of digits after the point, and whether d is finite.
func NumericScale(d Datum) (int32, bool) { return d.A, !d.special() }

// NumericFromInt returns n as a numeric.
func NumericFromInt(n int64) Datum { return NewNumeric(n, 0) }

// NumericToInt rounds half away from zero to an int2, int4 or int8. It returns 22003 if the result
// does not fit.
func NumericToInt(d Datum, oid OID) (int64, error) {
	if d.special() {
		what := "infinity"
		if d.IsNaN() {
			what = "NaN"
		}
		return 0, pgerr.New(pgerr.FeatureNotSupported, "cannot convert %s to %s", what, intTypeName(oid))
	}
	r, err := rescale(d, 0, true)
	if err != nil || r.S != "" {
		return 0, IntRangeError(oid)
	}
	return r.N, CheckInt(oid, r.N)
}

// NumericToFloat returns the nearest float8 or float4 (bits 64, 32).
func NumericToFloat(d Datum, bits int) (float64, error) {
	switch {
	case d.IsNaN():
		return math.NaN(), nil
	case NumericInfSign(d) != 0:
		return math.Inf(NumericInfSign(d)), nil
	case d.S == "" && bits == 64 && d.A <= 18 && -1<<53 <= d.N && d.N <= 1<<53:
		return float64(d.N) / float64(pow10Table[d.A]), nil
	}
	s := string(AppendNumeric(nil, d))
	f, err := strconv.ParseFloat(s, bits)
	if err != nil || (f == 0 && NumericSign(d) != 0) {
		return 0, floatTextRange(s, bits)
	}
	return f, nil
}

// NumericFromFloat converts a float8 or float4 using 15 or 6 significant digits, as PostgreSQL
// does.
func NumericFromFloat(f float64, bits int) (Datum, error) {
	switch {
	case f != f:
		return numericNaN, nil
	case math.IsInf(f, 0):
		return NumericInf(f < 0), nil
	}
	digits := 15
	if bits == 32 {
		digits = 6
	}
	s := strconv.FormatFloat(f, 'e', digits-1, 64)
	cut := strings.IndexByte(s, 'e')
	return ParseNumeric(trimFraction(s[:cut]) + s[cut:])
}
