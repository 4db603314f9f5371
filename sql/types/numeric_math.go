package types

import (
	"math"
	"math/big"

	"github.com/cockroachdb/apd/v3"

	"github.com/sherddb/sherd/internal/pgerr"
)

// The result scales in this file are PostgreSQL's: at least 16 significant digits, estimated from
// the arguments' leading digits.

const (
	maxResultScale = 2000
	log10e         = 0.434294481903252
	ln10           = 2.302585092994046
	guardDigits    = 12
)

func toAPD(d *Datum) *apd.Decimal {
	c := new(apd.BigInt).SetMathBigInt(d.coefficient(new(big.Int)))
	return apd.NewWithBigInt(c, -d.A)
}

// fromAPD rounds half away from zero to the scale.
func fromAPD(x *apd.Decimal, scale int32) (Datum, error) {
	c := x.Coeff.MathBigInt()
	if x.Negative {
		c.Neg(c)
	}
	shift := scale + x.Exponent
	switch {
	case shift >= 0 && int64(shift)+int64(decimalDigits(c)) > 2*maxNumericIntDigits:
		return Null, numericOverflow()
	case shift >= 0:
		c.Mul(c, bigPow10(shift))
	case -shift > int32(decimalDigits(c))+1:
		c.SetInt64(0)
	default:
		c = divRound(c, bigPow10(-shift))
	}
	return numericOf(c, scale)
}

func apdContext(precision int) *apd.Context {
	c := apd.BaseContext.WithPrecision(uint32(max(precision, 20)))
	c.Rounding = apd.RoundHalfUp
	return c
}

func clampScale(scale int, more ...int32) int32 {
	for _, m := range more {
		scale = max(scale, int(m))
	}
	return int32(min(max(scale, 0), maxDisplayScale))
}

func apdError(err error) error {
	if err != nil {
		return numericOverflow()
	}
	return nil
}

// NumericSqrt returns the square root.
func NumericSqrt(d Datum) (Datum, error) {
	if d.IsNaN() || NumericInfSign(d) > 0 {
		return d, nil
	}
	if NumericSign(d) < 0 {
		return Null, pgerr.New(pgerr.InvalidArgumentForPower, "cannot take square root of a negative number")
	}
	weight, _ := firstGroup(&d)
	sweight := (weight+1)*4/2 - 1
	if NumericSign(d) == 0 {
		sweight = 1
	}
	scale := clampScale(minSigDigits-sweight, d.A)
	c := d.coefficient(new(big.Int))
	exp := 2*scale + 2 - d.A
	if exp >= 0 {
		c.Mul(c, bigPow10(exp))
	} else {
		c.Quo(c, bigPow10(-exp))
	}
	c.Sqrt(c)
	return numericOf(divRound(c, big.NewInt(10)), scale)
}

// toFloatClamped returns the nearest float8, ±MaxFloat64 if d is beyond the range.
func toFloatClamped(d Datum) float64 {
	f, err := NumericToFloat(d, 64)
	if err != nil {
		w, _ := firstGroup(&d)
		if w < 0 {
			return 0
		}
		return math.MaxFloat64 * float64(NumericSign(d))
	}
	return f
}

// NumericExp returns e^d.
func NumericExp(d Datum) (Datum, error) {
	switch {
	case d.IsNaN() || NumericInfSign(d) > 0:
		return d, nil
	case NumericInfSign(d) < 0:
		return NewNumeric(0, 0), nil
	}
	f := toFloatClamped(d)
	val := math.Max(math.Min(f*log10e, maxResultScale), -maxResultScale)
	scale := clampScale(minSigDigits-int(val), d.A)
	return expScale(d, f, scale)
}

func expScale(d Datum, f float64, scale int32) (Datum, error) {
	if math.Abs(f) >= maxResultScale*3 {
		if f > 0 {
			return Null, numericOverflow()
		}
		return NewNumeric(0, scale), nil
	}
	digits := int(f*log10e) + int(scale) + guardDigits
	if digits <= 0 {
		return NewNumeric(0, scale), nil
	}
	return fromFloat(expFloat(toFloat(&d, bitsFor(digits+8))), scale)
}

// lnWeight estimates the decimal weight of ln(d), as PostgreSQL does.
func lnWeight(d Datum) int {
	if CompareNumeric(d, NewNumeric(9, 1)) >= 0 && CompareNumeric(d, NewNumeric(11, 1)) <= 0 {
		x, err := NumericSub(d, NewNumeric(1, 0))
		if err != nil || NumericSign(x) == 0 {
			return 0
		}
		x = NumericAbs(x)
		w, first := firstGroup(&x)
		return w*4 + int(math.Log10(float64(first)))
	}
	digits, dweight := leadingGroups(d)
	if digits == 0 {
		return 0
	}
	lnVar := math.Log(digits) + float64(dweight)*ln10
	return int(math.Log10(math.Abs(lnVar)))
}

// leadingGroups returns the first two base-10000 digits and their decimal weight: d ≈ digits ·
// 10^dweight.
func leadingGroups(d Datum) (float64, int) {
	w, first := firstGroup(&d)
	if first == 0 {
		return 0, 0
	}
	scale := int32(4 - 4*w)
	x, err := rescale(d, scale, false)
	if err != nil {
		return float64(first), 4 * w
	}
	rest, err := NumericSub(x, NewNumeric(0, 0))
	if err != nil {
		return float64(first), 4 * w
	}
	c := rest.coefficient(new(big.Int))
	if scale < 0 {
		c.Quo(c, bigPow10(-scale))
	}
	f, _ := new(big.Float).SetInt(c).Float64()
	if exact, err := NumericTrunc(d, int32(-4*w)); err == nil && CompareNumeric(exact, d) == 0 {
		return float64(first), 4 * w // one digit only
	}
	return math.Abs(f), 4*w - 4
}

func logArgument(d Datum) error {
	switch NumericSign(d) {
	case 0:
		return pgerr.New(pgerr.InvalidArgumentForLog, "cannot take logarithm of zero")
	case -1:
		return pgerr.New(pgerr.InvalidArgumentForLog, "cannot take logarithm of a negative number")
	}
	return nil
}

// NumericLn returns the natural logarithm.
func NumericLn(d Datum) (Datum, error) {
	if d.IsNaN() {
		return d, nil
	}
	if err := logArgument(d); err != nil || NumericInfSign(d) > 0 {
		return d, err
	}
	w := lnWeight(d)
	scale := clampScale(minSigDigits-w, d.A)
	z, err := lnDigits(d, int(scale)+max(w, 0)+guardDigits)
	if err != nil {
		return Null, err
	}
	return fromAPD(z, scale)
}

// NumericLog returns the logarithm of d to a base.
func NumericLog(base, d Datum) (Datum, error) {
	if base.IsNaN() || d.IsNaN() {
		return numericNaN, nil
	}
	if err := logArgument(base); err != nil {
		return Null, err
	}
	if err := logArgument(d); err != nil {
		return Null, err
	}
	bi, di := NumericInfSign(base), NumericInfSign(d)
	switch {
	case bi != 0 && di != 0:
		return numericNaN, nil
	case bi != 0:
		return NewNumeric(0, 0), nil
	case di != 0:
		return d, nil
	case CompareNumeric(base, NewNumeric(1, 0)) == 0:
		return Null, DivisionByZero()
	}
	bw, dw := lnWeight(base), lnWeight(d)
	scale := clampScale(minSigDigits-(dw-bw), base.A, d.A)
	digits := int(scale) + absIntn(dw) + absIntn(bw) + guardDigits
	x, err := lnDigits(d, digits)
	if err != nil {
		return Null, err
	}
	y, err := lnDigits(base, digits)
	if err != nil {
		return Null, err
	}
	z := new(apd.Decimal)
	if _, err := apdContext(digits).Quo(z, x, y); err != nil {
		return Null, apdError(err)
	}
	return fromAPD(z, scale)
}

func absIntn(n int) int {
	if n < 0 {
		return -n
	}
	return n
}
