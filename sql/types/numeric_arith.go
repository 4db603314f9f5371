package types

import (
	"math/big"
	"math/bits"

	"github.com/sherddb/sherd/internal/pgerr"
)

// NumericAdd returns a + b.
func NumericAdd(a, b Datum) (Datum, error) {
	if a.A == b.A && a.S == "" && b.S == "" {
		if n, ok := AddInt(a.N, b.N); ok {
			return Datum{K: KindNumeric, A: a.A, N: n}, nil
		}
	}
	return numericAddSlow(a, b, false)
}

// NumericSub returns a - b.
func NumericSub(a, b Datum) (Datum, error) {
	if a.A == b.A && a.S == "" && b.S == "" {
		if n := a.N - b.N; (n < a.N) == (b.N > 0) {
			return Datum{K: KindNumeric, A: a.A, N: n}, nil
		}
	}
	return numericAddSlow(a, b, true)
}

func numericAddSlow(a, b Datum, sub bool) (Datum, error) {
	if a.special() || b.special() {
		if sub {
			b = numericNegSpecial(b)
		}
		return addSpecial(a, b), nil
	}
	if x, y, ok := alignSmall(&a, &b); ok {
		if sub {
			if n := x - y; (n < x) == (y > 0) {
				return NewNumeric(n, max(a.A, b.A)), nil
			}
		} else if n, ok := AddInt(x, y); ok {
			return NewNumeric(n, max(a.A, b.A)), nil
		}
	}
	x, y := alignBig(&a, &b)
	if sub {
		x.Sub(x, y)
	} else {
		x.Add(x, y)
	}
	return numericOf(x, max(a.A, b.A))
}

// alignSmall scales two small coefficients to the greater scale.
func alignSmall(a, b *Datum) (x, y int64, ok bool) {
	if a.S != "" || b.S != "" {
		return 0, 0, false
	}
	x, y, ok = a.N, b.N, true
	switch {
	case a.A < b.A:
		x, ok = mulPow10(x, b.A-a.A)
	case b.A < a.A:
		y, ok = mulPow10(y, a.A-b.A)
	}
	return x, y, ok
}

func alignBig(a, b *Datum) (x, y *big.Int) {
	x, y = a.coefficient(new(big.Int)), b.coefficient(new(big.Int))
	switch {
	case a.A < b.A:
		x.Mul(x, bigPow10(b.A-a.A))
	case b.A < a.A:
		y.Mul(y, bigPow10(a.A-b.A))
	}
	return x, y
}

func numericNegSpecial(d Datum) Datum {
	switch NumericInfSign(d) {
	case 1:
		return numericNegInf
	case -1:
		return numericPosInf
	}
	return d
}

func addSpecial(a, b Datum) Datum {
	x, y := NumericInfSign(a), NumericInfSign(b)
	switch {
	case a.IsNaN() || b.IsNaN() || x*y < 0:
		return numericNaN
	case x != 0:
		return a
	}
	return b
}

// NumericMul returns a · b.
func NumericMul(a, b Datum) (Datum, error) {
	if a.S == "" && b.S == "" {
		hi, lo := bits.Mul64(absU(a.N), absU(b.N))
		if scale := a.A + b.A; hi == 0 && lo < 1<<63 && scale <= maxNumericScale {
			n := int64(lo)
			if (a.N < 0) != (b.N < 0) {
				n = -n
			}
			return NewNumeric(n, scale), nil
		}
	}
	if a.special() || b.special() {
		return mulSpecial(a, b), nil
	}
	x, y := a.coefficient(new(big.Int)), b.coefficient(new(big.Int))
	scale := a.A + b.A
	x.Mul(x, y)
	if scale > maxNumericScale {
		x = roundBig(x, scale-maxNumericScale)
		scale = maxNumericScale
	}
	return numericOf(x, scale)
}

func absU(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

func mulSpecial(a, b Datum) Datum {
	if a.IsNaN() || b.IsNaN() {
		return numericNaN
	}
	switch NumericSign(a) * NumericSign(b) {
	case 1:
		return numericPosInf
	case -1:
		return numericNegInf
	}
	return numericNaN // infinity · 0
}

// NumericSign returns -1, 0, 1; 0 for NaN.
func NumericSign(d Datum) int {
	if d.S != "" {
		switch d.S[0] {
		case flatPos, flatPosInf:
			return 1
		case flatNeg, flatNegInf:
			return -1
		}
		return 0
	}
	switch {
	case d.N > 0:
		return 1
	case d.N < 0:
		return -1
	}
	return 0
}

// DivisionByZero returns PostgreSQL's error of every division.
func DivisionByZero() error { return pgerr.New(pgerr.DivisionByZero, "division by zero") }

// NumericDiv returns a / b with at least 16 significant digits, and at least the scale of each
// operand.
func NumericDiv(a, b Datum) (Datum, error) {
	if a.special() || b.special() {
		return divSpecial(a, b)
	}
	if NumericSign(b) == 0 {
		return Null, DivisionByZero()
	}
	return numericDivScale(a, b, divScale(a, b))
}

func divSpecial(a, b Datum) (Datum, error) {
	x, y := NumericInfSign(a), NumericInfSign(b)
	switch {
	case a.IsNaN() || b.IsNaN() || (x != 0 && y != 0):
		return numericNaN, nil
	case x != 0:
		if s := NumericSign(b); s == 0 {
			return Null, DivisionByZero()
		} else if s < 0 {
			return numericNegSpecial(a), nil
		}
		return a, nil
	}
	return NewNumeric(0, 0), nil
}

// divScale is PostgreSQL's select_div_scale: it estimates the quotient's weight from the first
// base-10000 digits.
func divScale(a, b Datum) int32 {
	w1, f1 := firstGroup(&a)
	w2, f2 := firstGroup(&b)
	qweight := w1 - w2
	if f1 <= f2 {
		qweight--
	}
	scale := int32(minSigDigits - qweight*4)
	return min(max(scale, a.A, b.A, 0), maxDisplayScale)
}

// firstGroup returns the weight of the first base-10000 digit and the digit; 0, 0 for zero.
func firstGroup(d *Datum) (weight int, digit int64) {
	if d.S == "" {
		u := absU(d.N)
		if u == 0 {
			return 0, 0
		}
		exp := digits64(u) - int(d.A) - 1
		weight = floorDiv(exp, 4)
		drop := 4*weight + int(d.A)
		switch {
		case drop <= 0:
			return weight, int64(u) * pow10Table[-drop]
		case drop >= len(pow10Table):
			return weight, int64(u / 1e19)
		}
		return weight, int64(u / uint64(pow10Table[drop]))
	}
	c := d.coefficient(new(big.Int))
	c.Abs(c)
	weight = floorDiv(decimalDigits(c)-int(d.A)-1, 4)
	drop := int32(4*weight) + d.A
	if drop <= 0 {
		return weight, c.Mul(c, bigPow10(-drop)).Int64()
	}
	return weight, c.Quo(c, bigPow10(drop)).Int64()
}

func floorDiv(a, b int) int {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

// numericDivScale divides finite numbers and rounds half away from zero to the scale.
func numericDivScale(a, b Datum, scale int32) (Datum, error) {
	shift := scale + b.A - a.A
	if a.S == "" && b.S == "" && shift >= 0 && shift < int32(len(pow10Table)) {
		if d, ok := divSmall(a.N, b.N, pow10Table[shift], scale); ok {
			return d, nil
		}
	}
	x, y := a.coefficient(new(big.Int)), b.coefficient(new(big.Int))
	if shift >= 0 {
		x.Mul(x, bigPow10(shift))
	} else {
		y.Mul(y, bigPow10(-shift))
	}
	return numericOf(divRound(x, y), scale)
}

// divSmall divides x·mul by y in 128 bits.
func divSmall(x, y, mul int64, scale int32) (Datum, bool) {
	hi, lo := bits.Mul64(absU(x), uint64(mul))
	div := absU(y)
	if hi >= div {
		return Null, false
	}
	q, r := bits.Div64(hi, lo, div)
	if r >= div-r {
		q++
	}
	if q >= 1<<63 {
		return Null, false
	}
	n := int64(q)
	if (x < 0) != (y < 0) {
		n = -n
	}
	return NewNumeric(n, scale), true
}

// divRound returns x / y rounded half away from zero; it may modify x.
func divRound(x, y *big.Int) *big.Int {
	neg := (x.Sign() < 0) != (y.Sign() < 0)
	q, r := new(big.Int).QuoRem(x, y, new(big.Int))
	r.Abs(r).Lsh(r, 1)
	if r.CmpAbs(y) >= 0 {
		if neg {
			return q.Sub(q, big.NewInt(1))
		}
		return q.Add(q, big.NewInt(1))
	}
	return q
}

// NumericMod returns the remainder of the truncated division a / b, with the sign of a.
func NumericMod(a, b Datum) (Datum, error) {
	if a.special() || b.special() {
		switch {
		case a.IsNaN() || b.IsNaN():
			return numericNaN, nil
		case NumericInfSign(a) != 0:
			if NumericSign(b) == 0 {
				return Null, DivisionByZero()
			}
			return numericNaN, nil
		}
		return a, nil
	}
	if NumericSign(b) == 0 {
		return Null, DivisionByZero()
	}
	if x, y, ok := alignSmall(&a, &b); ok {
		return NewNumeric(x%y, max(a.A, b.A)), nil
	}
	x, y := alignBig(&a, &b)
	return numericOf(x.Rem(x, y), max(a.A, b.A))
}

// NumericDivTrunc returns the integral part of a / b (div).
func NumericDivTrunc(a, b Datum) (Datum, error) {
	if a.special() || b.special() {
		return divSpecial(a, b)
	}
	if NumericSign(b) == 0 {
		return Null, DivisionByZero()
	}
	x, y := alignBig(&a, &b)
	return numericOf(x.Quo(x, y), 0)
}

// NumericNeg returns -a.
func NumericNeg(a Datum) Datum {
	if a.S == "" && a.N != -1<<63 {
		a.N = -a.N
		return a
	}
	if a.special() {
		return numericNegSpecial(a)
	}
	c := a.coefficient(new(big.Int))
	return bigNumeric(c.Neg(c), a.A)
}

// NumericAbs returns |a|.
func NumericAbs(a Datum) Datum {
	if NumericSign(a) < 0 {
		return NumericNeg(a)
	}
	return a
}

// CompareNumeric compares in btree order: NaN equals NaN and is above Infinity; the scale does not
// count.
func CompareNumeric(a, b Datum) int {
	if a.S == "" && b.S == "" {
		if a.A == b.A {
			return compareInt(a.N, b.N)
		}
		if x, y, ok := alignSmall(&a, &b); ok {
			return compareInt(x, y)
		}
	}
	if a.special() || b.special() {
		return compareInt(int64(specialRank(a)), int64(specialRank(b)))
	}
	if s, t := NumericSign(a), NumericSign(b); s != t {
		return compareInt(int64(s), int64(t))
	}
	x, y := alignBig(&a, &b)
	return x.Cmp(y)
}

func specialRank(d Datum) int {
	switch {
	case d.IsNaN():
		return 2
	default:
		return NumericInfSign(d)
	}
}

func compareInt(a, b int64) int {
	if a < b {
		return -1
	}
	if a > b {
		return 1
	}
	return 0
}
