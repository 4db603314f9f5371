package builtin

import (
	"math"

	"github.com/sherddb/sherd/sql/types"
)

// mathTrig has the trigonometric functions, in radians and in degrees. Those in degrees are exact
// at multiples of 30 and 45 degrees.
var mathTrig = map[string]Func{
	"dsin":   trig(math.Sin),
	"dcos":   trig(math.Cos),
	"dtan":   trig(math.Tan),
	"dcot":   trig(func(x float64) float64 { return 1 / math.Tan(x) }),
	"dasin":  floatDomain(math.Asin, -1, 1),
	"dacos":  floatDomain(math.Acos, -1, 1),
	"datan":  float1(math.Atan),
	"datan2": float2(math.Atan2),
	"dsind":  trig(sind),
	"dcosd":  trig(cosd),
	"dtand":  trig(tand),
	"dcotd":  trig(func(x float64) float64 { return cosd(x) / sind(x) }),
	"dasind": floatDomain(asind, -1, 1), "dacosd": floatDomain(acosd, -1, 1), "datand": float1(atand),
	"datan2d": float2(func(y, x float64) float64 { return math.Atan2(y, x) / atanOne * 45 }),
}

var atanOne = math.Atan(1)

func float2(f func(x, y float64) float64) Func {
	return func(_ *Ctx, a []types.Datum) (types.Datum, error) {
		return types.NewFloat8(f(a[0].Float(), a[1].Float())), nil
	}
}

// trig wraps a function that is not defined at infinity.
func trig(f func(float64) float64) Func {
	return func(_ *Ctx, a []types.Datum) (types.Datum, error) {
		x := a[0].Float()
		if math.IsInf(x, 0) {
			return types.Null, inputOutOfRange()
		}
		return types.NewFloat8(f(x)), nil
	}
}

// quadrant folds an angle in degrees to [0, 90], with the signs of its sine and cosine.
func quadrant(x float64) (folded, signSin, signCos float64) {
	x = math.Mod(x, 360)
	signSin, signCos = 1, 1
	if x < 0 {
		x, signSin = -x, -1
	}
	if x > 180 {
		x, signSin = 360-x, -signSin
	}
	if x > 90 {
		x, signCos = 180-x, -1
	}
	return x, signSin, signCos
}

// sine and cosine of an angle in degrees, with the rounding of double precision: the functions
// below divide by them.
func sine(x float64) float64   { return math.Sin(x * (math.Pi / 180)) }
func cosine(x float64) float64 { return math.Cos(x * (math.Pi / 180)) }

// sindQ1 is exact at 0, 30 and 90, cosdQ1 at 0, 60 and 90: each half of the range is scaled by its
// value at the end.
func sindQ1(x float64) float64 {
	if x <= 30 {
		return sine(x) / sine(30) / 2
	}
	return cosd0to60(90 - x)
}

func cosd0to60(x float64) float64 {
	return 1 - (1-cosine(x))/(1-cosine(60))/2
}

func cosdQ1(x float64) float64 {
	if x <= 60 {
		return cosd0to60(x)
	}
	return sine(90-x) / sine(30) / 2
}

func sind(x float64) float64 {
	folded, sign, _ := quadrant(x)
	return sign * sindQ1(folded)
}

func cosd(x float64) float64 {
	folded, _, sign := quadrant(x)
	return sign * cosdQ1(folded)
}

func tand(x float64) float64 {
	folded, s, c := quadrant(x)
	return s * c * (sindQ1(folded) / cosdQ1(folded)) / (sindQ1(45) / cosdQ1(45))
}

func asind(x float64) float64 {
	switch {
	case x < 0:
		return -asind(-x)
	case x <= 0.5:
		return math.Asin(x) / math.Asin(0.5) * 30
	}
	return 90 - math.Acos(x)/math.Acos(0.5)*60
}

func acosd(x float64) float64 {
	switch {
	case x < 0:
		return 90 + asind(-x)
	case x <= 0.5:
		return 90 - math.Asin(x)/math.Asin(0.5)*30
	}
	return math.Acos(x) / math.Acos(0.5) * 60
}

func atand(x float64) float64 { return math.Atan(x) / atanOne * 45 }
