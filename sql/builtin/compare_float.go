package builtin

import (
	"math"

	"github.com/sherddb/sherd/sql/types"
)

// A float4 is stored as a float64, so one function compares every mix. NaN equals itself and is
// greater than all other values.
var comparisonFloat = map[string]Func{
	"float4eq":     floatEq,
	"float4ne":     floatNe,
	"float4lt":     floatLt,
	"float4le":     floatLe,
	"float4gt":     floatGt,
	"float4ge":     floatGe,
	"float8eq":     floatEq,
	"float8ne":     floatNe,
	"float8lt":     floatLt,
	"float8le":     floatLe,
	"float8gt":     floatGt,
	"float8ge":     floatGe,
	"float48eq":    floatEq,
	"float48ne":    floatNe,
	"float48lt":    floatLt,
	"float48le":    floatLe,
	"float48gt":    floatGt,
	"float48ge":    floatGe,
	"float84eq":    floatEq,
	"float84ne":    floatNe,
	"float84lt":    floatLt,
	"float84le":    floatLe,
	"float84gt":    floatGt,
	"float84ge":    floatGe,
	"btfloat4cmp":  floatCmp,
	"btfloat8cmp":  floatCmp,
	"btfloat48cmp": floatCmp,
	"btfloat84cmp": floatCmp,
	"float4larger": floatLarger, "float4smaller": floatSmaller,
	"float8larger": floatLarger, "float8smaller": floatSmaller,
}

func floatEq(_ *Ctx, a []types.Datum) (types.Datum, error) {
	x, y := a[0].Float(), a[1].Float()
	return types.NewBool(x == y || x != x && y != y), nil
}

func floatNe(_ *Ctx, a []types.Datum) (types.Datum, error) {
	x, y := a[0].Float(), a[1].Float()
	return types.NewBool(x != y && (x == x || y == y)), nil
}

func floatLt(_ *Ctx, a []types.Datum) (types.Datum, error) {
	x, y := a[0].Float(), a[1].Float()
	return types.NewBool(x < y || y != y && x == x), nil
}

func floatLe(_ *Ctx, a []types.Datum) (types.Datum, error) {
	x, y := a[0].Float(), a[1].Float()
	return types.NewBool(x <= y || y != y), nil
}

func floatGt(_ *Ctx, a []types.Datum) (types.Datum, error) {
	x, y := a[0].Float(), a[1].Float()
	return types.NewBool(x > y || x != x && y == y), nil
}

func floatGe(_ *Ctx, a []types.Datum) (types.Datum, error) {
	x, y := a[0].Float(), a[1].Float()
	return types.NewBool(x >= y || x != x), nil
}

func floatCmp(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewInt(orderFloat(a[0].Float(), a[1].Float())), nil
}

func floatLarger(_ *Ctx, a []types.Datum) (types.Datum, error) {
	if orderFloat(a[0].Float(), a[1].Float()) > 0 {
		return a[0], nil
	}
	return a[1], nil
}

func floatSmaller(_ *Ctx, a []types.Datum) (types.Datum, error) {
	if orderFloat(a[0].Float(), a[1].Float()) < 0 {
		return a[0], nil
	}
	return a[1], nil
}

func orderFloat(x, y float64) int64 {
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	case x == y:
		return 0
	case math.IsNaN(x) && math.IsNaN(y):
		return 0
	case math.IsNaN(x):
		return 1
	}
	return -1
}
