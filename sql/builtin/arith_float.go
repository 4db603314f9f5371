package builtin

import (
	"math"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// arithmeticFloat is + - * / over float4 and float8. An infinite result of finite operands is an
// overflow, a zero product or quotient of non-zero ones an underflow.
var arithmeticFloat = map[string]Func{
	"float8pl": float8pl, "float48pl": float8pl, "float84pl": float8pl, "float4pl": float4pl,
	"float8mi": float8mi, "float48mi": float8mi, "float84mi": float8mi, "float4mi": float4mi,
	"float8mul": float8mul, "float48mul": float8mul, "float84mul": float8mul, "float4mul": float4mul,
	"float8div": float8div, "float48div": float8div, "float84div": float8div, "float4div": float4div,
	"float8um": float8um, "float4um": float4um, "float8up": identity, "float4up": identity,
	"float8abs": float8abs, "float4abs": float4abs,
}

func floatOverflow() error {
	return pgerr.New(pgerr.NumericValueOutOfRange, "value out of range: overflow")
}

func floatUnderflow() error {
	return pgerr.New(pgerr.NumericValueOutOfRange, "value out of range: underflow")
}

func float8pl(_ *Ctx, a []types.Datum) (types.Datum, error) {
	x, y := a[0].Float(), a[1].Float()
	return checkedSum(x+y, x, y)
}

func float8mi(_ *Ctx, a []types.Datum) (types.Datum, error) {
	x, y := a[0].Float(), a[1].Float()
	return checkedSum(x-y, x, y)
}

func checkedSum(r, x, y float64) (types.Datum, error) {
	if math.IsInf(r, 0) && !math.IsInf(x, 0) && !math.IsInf(y, 0) {
		return types.Null, floatOverflow()
	}
	return types.NewFloat8(r), nil
}

func float8mul(_ *Ctx, a []types.Datum) (types.Datum, error) {
	x, y := a[0].Float(), a[1].Float()
	r := x * y
	if math.IsInf(r, 0) && !math.IsInf(x, 0) && !math.IsInf(y, 0) {
		return types.Null, floatOverflow()
	}
	if r == 0 && x != 0 && y != 0 {
		return types.Null, floatUnderflow()
	}
	return types.NewFloat8(r), nil
}

func float8div(_ *Ctx, a []types.Datum) (types.Datum, error) {
	x, y := a[0].Float(), a[1].Float()
	if y == 0 && !math.IsNaN(x) {
		return types.Null, divisionByZero()
	}
	r := x / y
	if math.IsInf(r, 0) && !math.IsInf(x, 0) {
		return types.Null, floatOverflow()
	}
	if r == 0 && x != 0 && !math.IsInf(y, 0) {
		return types.Null, floatUnderflow()
	}
	return types.NewFloat8(r), nil
}

func float4pl(_ *Ctx, a []types.Datum) (types.Datum, error) {
	x, y := float32(a[0].Float()), float32(a[1].Float())
	return checkedSum4(x+y, x, y)
}

func float4mi(_ *Ctx, a []types.Datum) (types.Datum, error) {
	x, y := float32(a[0].Float()), float32(a[1].Float())
	return checkedSum4(x-y, x, y)
}

func isInf4(x float32) bool { return math.IsInf(float64(x), 0) }

func checkedSum4(r, x, y float32) (types.Datum, error) {
	if isInf4(r) && !isInf4(x) && !isInf4(y) {
		return types.Null, floatOverflow()
	}
	return types.NewFloat4(r), nil
}

func float4mul(_ *Ctx, a []types.Datum) (types.Datum, error) {
	x, y := float32(a[0].Float()), float32(a[1].Float())
	r := x * y
	if isInf4(r) && !isInf4(x) && !isInf4(y) {
		return types.Null, floatOverflow()
	}
	if r == 0 && x != 0 && y != 0 {
		return types.Null, floatUnderflow()
	}
	return types.NewFloat4(r), nil
}

func float4div(_ *Ctx, a []types.Datum) (types.Datum, error) {
	x, y := float32(a[0].Float()), float32(a[1].Float())
	if y == 0 && x == x {
		return types.Null, divisionByZero()
	}
	r := x / y
	if isInf4(r) && !isInf4(x) {
		return types.Null, floatOverflow()
	}
	if r == 0 && x != 0 && !isInf4(y) {
		return types.Null, floatUnderflow()
	}
	return types.NewFloat4(r), nil
}

func float8um(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewFloat8(-a[0].Float()), nil
}

func float4um(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewFloat4(float32(-a[0].Float())), nil
}

func float8abs(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewFloat8(math.Abs(a[0].Float())), nil
}

func float4abs(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewFloat4(float32(math.Abs(a[0].Float()))), nil
}
