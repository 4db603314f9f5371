package builtin

import (
	"math"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// mathFloat are the functions of double precision.
var mathFloat = map[string]Func{
	"dceil":  float1(math.Ceil),
	"dfloor": float1(math.Floor),
	"dround": float1(math.RoundToEven),
	"dtrunc": float1(math.Trunc),
	"dsign":  float1(signFloat), "dcbrt": float1(math.Cbrt),
	"degrees": floatRanged(func(x float64) float64 { return x / (math.Pi / 180) }),
	"radians": floatRanged(func(x float64) float64 { return x * (math.Pi / 180) }),
	"dsqrt":   floatSqrt, "dexp": floatExp, "dlog1": floatLn, "dlog10": floatLog10, "dpow": floatPower,
	"dpi": floatPi, "width_bucket_float8": floatWidthBucket,
	"dsinh": float1(math.Sinh), "dcosh": float1(math.Cosh), "dtanh": float1(math.Tanh), "dasinh": float1(math.Asinh),
	"dacosh": floatDomain(math.Acosh, 1, math.Inf(1)), "datanh": floatDomain(math.Atanh, -1, 1),
}

// float1 wraps a function that is defined everywhere, and either cannot overflow or may return
// infinity as in PostgreSQL.
func float1(f func(float64) float64) Func {
	return func(_ *Ctx, a []types.Datum) (types.Datum, error) {
		return types.NewFloat8(f(a[0].Float())), nil
	}
}

// floatRanged wraps a function whose result may overflow.
func floatRanged(f func(float64) float64) Func {
	return func(_ *Ctx, a []types.Datum) (types.Datum, error) {
		x := a[0].Float()
		r := f(x)
		if math.IsInf(r, 0) && !math.IsInf(x, 0) {
			return types.Null, floatOverflow()
		}
		return types.NewFloat8(r), nil
	}
}

// floatDomain wraps a function that is defined on [low, high].
func floatDomain(f func(float64) float64, low, high float64) Func {
	return func(_ *Ctx, a []types.Datum) (types.Datum, error) {
		x := a[0].Float()
		if x < low || x > high {
			return types.Null, inputOutOfRange()
		}
		return types.NewFloat8(f(x)), nil
	}
}

func inputOutOfRange() error {
	return pgerr.New(pgerr.NumericValueOutOfRange, "input is out of range")
}

func signFloat(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	case math.IsNaN(x):
		return x
	}
	return 0
}

func floatPi(_ *Ctx, _ []types.Datum) (types.Datum, error) { return types.NewFloat8(math.Pi), nil }

func floatSqrt(_ *Ctx, a []types.Datum) (types.Datum, error) {
	x := a[0].Float()
	if x < 0 {
		return types.Null, pgerr.New(pgerr.InvalidArgumentForPower, "cannot take square root of a negative number")
	}
	return types.NewFloat8(math.Sqrt(x)), nil
}

func floatExp(_ *Ctx, a []types.Datum) (types.Datum, error) {
	x := a[0].Float()
	r := math.Exp(x)
	switch {
	case math.IsInf(r, 0) && !math.IsInf(x, 0):
		return types.Null, floatOverflow()
	case r == 0 && !math.IsInf(x, 0):
		return types.Null, floatUnderflow()
	}
	return types.NewFloat8(r), nil
}

// positiveArgument returns an error for numbers without logarithm.
func positiveArgument(x float64) error {
	switch {
	case x == 0:
		return pgerr.New(pgerr.InvalidArgumentForLog, "cannot take logarithm of zero")
	case x < 0:
		return pgerr.New(pgerr.InvalidArgumentForLog, "cannot take logarithm of a negative number")
	}
	return nil
}

func floatLn(_ *Ctx, a []types.Datum) (types.Datum, error) {
	x := a[0].Float()
	if err := positiveArgument(x); err != nil {
		return types.Null, err
	}
	return types.NewFloat8(math.Log(x)), nil
}

func floatLog10(_ *Ctx, a []types.Datum) (types.Datum, error) {
	x := a[0].Float()
	if err := positiveArgument(x); err != nil {
		return types.Null, err
	}
	return types.NewFloat8(math.Log10(x)), nil
}

func floatPower(_ *Ctx, a []types.Datum) (types.Datum, error) {
	x, y := a[0].Float(), a[1].Float()
	switch {
	case x == 0 && y < 0:
		return types.Null, pgerr.New(pgerr.InvalidArgumentForPower, "zero raised to a negative power is undefined")
	case x < 0 && math.Floor(y) != y && !math.IsNaN(y):
		return types.Null, pgerr.New(pgerr.InvalidArgumentForPower,
			"a negative number raised to a non-integer power yields a complex result")
	}
	r := math.Pow(x, y)
	if math.IsInf(x, 0) || math.IsInf(y, 0) {
		return types.NewFloat8(r), nil
	}
	switch {
	case math.IsInf(r, 0):
		return types.Null, floatOverflow()
	case r == 0 && x != 0:
		return types.Null, floatUnderflow()
	}
	return types.NewFloat8(r), nil
}

func widthBucketError(message string) error {
	return pgerr.New("2201G", "%s", message)
}

func floatWidthBucket(_ *Ctx, a []types.Datum) (types.Datum, error) {
	x, low, high, count := a[0].Float(), a[1].Float(), a[2].Float(), a[3].N
	switch {
	case count <= 0:
		return types.Null, widthBucketError("count must be greater than zero")
	case math.IsNaN(x) || math.IsNaN(low) || math.IsNaN(high):
		return types.Null, widthBucketError("operand, lower bound, and upper bound cannot be NaN")
	case math.IsInf(low, 0) || math.IsInf(high, 0):
		return types.Null, widthBucketError("lower and upper bounds must be finite")
	case low == high:
		return types.Null, widthBucketError("lower bound cannot equal upper bound")
	}
	if low > high {
		return widthBucket(-x, -low, -high, count)
	}
	return widthBucket(x, low, high, count)
}

// widthBucket requires low < high. It halves the operands so that the width does not overflow.
func widthBucket(x, low, high float64, count int64) (types.Datum, error) {
	switch {
	case x < low:
		return types.NewInt(0), nil
	case x >= high:
		return asInt4(count + 1)
	}
	width := high - low
	part := (x - low) / width
	if math.IsInf(width, 0) {
		part = (x/2 - low/2) / (high/2 - low/2)
	}
	bucket := int64(part * float64(count))
	return asInt4(min(bucket, count-1) + 1)
}
