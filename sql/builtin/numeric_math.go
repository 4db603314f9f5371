package builtin

import (
	"math/big"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// numericMath has roots, powers, logarithms and number theory for numeric.
var numericMath = map[string]Func{
	"numeric_sqrt": numericRoot,
	"numeric_exp":  numericUnary(types.NumericExp),
	"numeric_ln":   numericUnary(types.NumericLn),
	"numeric_log":  numeric2(types.NumericLog), "numeric_power": numeric2(types.NumericPower),
	"log(1700)": numericLog10, "log10(1700)": numericLog10,
	"numeric_fac":          factorial,
	"numeric_gcd":          numericGCD,
	"numeric_lcm":          numericLCM,
	"width_bucket_numeric": numericWidthBucket,
}

func numericUnary(f func(types.Datum) (types.Datum, error)) Func {
	return func(_ *Ctx, a []types.Datum) (types.Datum, error) { return f(a[0]) }
}

func numericRoot(_ *Ctx, a []types.Datum) (types.Datum, error) { return types.NumericSqrt(a[0]) }

func numericLog10(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NumericLog(types.NumericFromInt(10), a[0])
}

func factorial(_ *Ctx, a []types.Datum) (types.Datum, error) {
	const most = 32177 // the greatest number whose factorial fits numeric
	n := a[0].N
	switch {
	case n < 0:
		return types.Null, pgerr.New(pgerr.NumericValueOutOfRange, "factorial of a negative number is undefined")
	case n > most:
		return types.Null, pgerr.New(pgerr.NumericValueOutOfRange, "value overflows numeric format")
	}
	return numericOf(new(big.Int).MulRange(1, n), 0)
}

// isSpecial reports whether a numeric is NaN or infinite.
func isSpecial(d types.Datum) bool { return d.IsNaN() || types.NumericInfSign(d) != 0 }

func numericGCD(_ *Ctx, a []types.Datum) (types.Datum, error) {
	if isSpecial(a[0]) || isSpecial(a[1]) {
		return types.NumericNaN(), nil
	}
	return gcdNumeric(a[0], a[1])
}

func gcdNumeric(x, y types.Datum) (types.Datum, error) {
	cx, cy, scale := alignedBig(x, y)
	return numericOf(new(big.Int).GCD(nil, nil, cx.Abs(cx), cy.Abs(cy)), scale)
}

// alignedBig returns two finite numbers as coefficients with a common scale.
func alignedBig(x, y types.Datum) (cx, cy *big.Int, scale int32) {
	cx, sx := bigOf(x)
	cy, sy := bigOf(y)
	scale = max(sx, sy)
	cx.Mul(cx, pow10(scale-sx))
	cy.Mul(cy, pow10(scale-sy))
	return cx, cy, scale
}

func numericLCM(_ *Ctx, a []types.Datum) (types.Datum, error) {
	if isSpecial(a[0]) || isSpecial(a[1]) {
		return types.NumericNaN(), nil
	}
	cx, cy, scale := alignedBig(a[0], a[1])
	if cx.Sign() == 0 || cy.Sign() == 0 {
		return types.NewNumeric(0, scale), nil
	}
	g := new(big.Int).GCD(nil, nil, cx.Abs(cx), cy.Abs(cy))
	return numericOf(cx.Mul(cx.Quo(cx, g), cy), scale)
}

func numericWidthBucket(_ *Ctx, a []types.Datum) (types.Datum, error) {
	x, low, high, count := a[0], a[1], a[2], a[3].N
	switch {
	case count <= 0:
		return types.Null, widthBucketError("count must be greater than zero")
	case x.IsNaN() || low.IsNaN() || high.IsNaN():
		return types.Null, widthBucketError("operand, lower bound, and upper bound cannot be NaN")
	case types.NumericInfSign(low) != 0 || types.NumericInfSign(high) != 0:
		return types.Null, widthBucketError("lower and upper bounds must be finite")
	}
	direction := types.CompareNumeric(low, high)
	if direction == 0 {
		return types.Null, widthBucketError("lower bound cannot equal upper bound")
	}
	switch {
	case types.CompareNumeric(x, low)*direction > 0:
		return types.NewInt(0), nil
	case types.CompareNumeric(x, high)*direction <= 0:
		return asInt4(count + 1)
	}
	return bucketOf(x, low, high, count)
}

// bucketOf returns ⌊(x−low)·count/(high−low)⌋+1, exactly. The differences may be beyond the range
// of numeric.
func bucketOf(x, low, high types.Datum, count int64) (types.Datum, error) {
	cx, sx := bigOf(x)
	cl, sl := bigOf(low)
	ch, sh := bigOf(high)
	scale := max(sx, sl, sh)
	cx.Mul(cx, pow10(scale-sx))
	cl.Mul(cl, pow10(scale-sl))
	ch.Mul(ch, pow10(scale-sh))
	cx.Sub(cx, cl).Mul(cx, big.NewInt(count))
	return types.NewInt(cx.Quo(cx, ch.Sub(ch, cl)).Int64() + 1), nil
}
