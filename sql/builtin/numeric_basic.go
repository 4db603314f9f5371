package builtin

import (
	"github.com/sherddb/sherd/sql/types"
)

// numericBasic has comparison, arithmetic and rounding of numeric, and its casts.
var numericBasic = map[string]Func{
	"numeric_eq":        numericEq,
	"numeric_ne":        numericNe,
	"numeric_lt":        numericLt,
	"numeric_le":        numericLe,
	"numeric_gt":        numericGt,
	"numeric_ge":        numericGe,
	"numeric_cmp":       numericCmp,
	"numeric_larger":    numericLarger,
	"numeric_smaller":   numericSmaller,
	"numeric_add":       numeric2(types.NumericAdd),
	"numeric_sub":       numeric2(types.NumericSub),
	"numeric_mul":       numeric2(types.NumericMul),
	"numeric_div":       numeric2(types.NumericDiv),
	"numeric_mod":       numeric2(types.NumericMod),
	"numeric_div_trunc": numeric2(types.NumericDivTrunc),
	"numeric_uminus":    numeric1(types.NumericNeg),
	"numeric_uplus":     identity,
	"numeric_abs":       numeric1(types.NumericAbs),
	"numeric_inc":       numericInc, "numeric_sign": numericSign,
	"numeric_ceil": numericCeil, "numeric_floor": numericFloor,
	"numeric_round":      numericRound,
	"round(1700)":        numericRound,
	"numeric_trunc":      numericTrunc,
	"trunc(1700)":        numericTrunc,
	"numeric_scale":      numericScale,
	"numeric_min_scale":  numericMinScale,
	"numeric_trim_scale": numeric1(types.NumericTrimScale),
	"int2_numeric":       intToNumeric, "int4_numeric": intToNumeric, "int8_numeric": intToNumeric,
	"numeric_int2":   numericToInt(types.Int2),
	"numeric_int4":   numericToInt(types.Int4),
	"numeric_int8":   numericToInt(types.Int8),
	"float4_numeric": floatToNumeric(32), "float8_numeric": floatToNumeric(64),
	"numeric_float4": numericToFloat4, "numeric_float8": numericToFloat8,
}

func numericEq(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewBool(types.CompareNumeric(a[0], a[1]) == 0), nil
}

func numericNe(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewBool(types.CompareNumeric(a[0], a[1]) != 0), nil
}

func numericLt(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewBool(types.CompareNumeric(a[0], a[1]) < 0), nil
}

func numericLe(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewBool(types.CompareNumeric(a[0], a[1]) <= 0), nil
}

func numericGt(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewBool(types.CompareNumeric(a[0], a[1]) > 0), nil
}

func numericGe(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewBool(types.CompareNumeric(a[0], a[1]) >= 0), nil
}

func numericCmp(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewInt(int64(types.CompareNumeric(a[0], a[1]))), nil
}

func numericLarger(_ *Ctx, a []types.Datum) (types.Datum, error) {
	if types.CompareNumeric(a[0], a[1]) > 0 {
		return a[0], nil
	}
	return a[1], nil
}

func numericSmaller(_ *Ctx, a []types.Datum) (types.Datum, error) {
	if types.CompareNumeric(a[0], a[1]) < 0 {
		return a[0], nil
	}
	return a[1], nil
}

func numeric1(f func(types.Datum) types.Datum) Func {
	return func(_ *Ctx, a []types.Datum) (types.Datum, error) { return f(a[0]), nil }
}

func numeric2(f func(a, b types.Datum) (types.Datum, error)) Func {
	return func(_ *Ctx, a []types.Datum) (types.Datum, error) { return f(a[0], a[1]) }
}

func numericInc(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NumericAdd(a[0], types.NumericFromInt(1))
}

func numericSign(_ *Ctx, a []types.Datum) (types.Datum, error) {
	if a[0].IsNaN() {
		return a[0], nil
	}
	return types.NumericFromInt(int64(types.NumericSign(a[0]))), nil
}

func numericCeil(_ *Ctx, a []types.Datum) (types.Datum, error)  { return types.NumericCeil(a[0]) }
func numericFloor(_ *Ctx, a []types.Datum) (types.Datum, error) { return types.NumericFloor(a[0]) }

// wantedScale returns the second argument of round and trunc.
func wantedScale(a []types.Datum) int32 {
	if len(a) < 2 {
		return 0
	}
	return int32(a[1].N)
}

func numericRound(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NumericRound(a[0], wantedScale(a))
}

func numericTrunc(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NumericTrunc(a[0], wantedScale(a))
}

func numericScale(_ *Ctx, a []types.Datum) (types.Datum, error) {
	if s, ok := types.NumericScale(a[0]); ok {
		return types.NewInt(int64(s)), nil
	}
	return types.Null, nil
}

func numericMinScale(_ *Ctx, a []types.Datum) (types.Datum, error) {
	if _, ok := types.NumericScale(a[0]); !ok {
		return types.Null, nil
	}
	return types.NewInt(int64(types.NumericMinScale(a[0]))), nil
}

func intToNumeric(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NumericFromInt(a[0].N), nil
}

func numericToInt(oid uint32) Func {
	return func(_ *Ctx, a []types.Datum) (types.Datum, error) {
		n, err := types.NumericToInt(a[0], oid)
		return types.NewInt(n), err
	}
}

func floatToNumeric(bits int) Func {
	return func(_ *Ctx, a []types.Datum) (types.Datum, error) {
		return types.NumericFromFloat(a[0].Float(), bits)
	}
}

func numericToFloat4(_ *Ctx, a []types.Datum) (types.Datum, error) { return numericToFloat(a[0], 32) }
func numericToFloat8(_ *Ctx, a []types.Datum) (types.Datum, error) { return numericToFloat(a[0], 64) }
