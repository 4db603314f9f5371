package builtin

import (
	"github.com/sherddb/sherd/sql/types"
)

// Integers of all widths, "char" and oid-like values have their value in N, so one function
// compares every mix of them. "char" is compared as an unsigned byte.
var comparisonInt = map[string]Func{
	"int2eq": intEq, "int2ne": intNe, "int2lt": intLt, "int2le": intLe, "int2gt": intGt, "int2ge": intGe,
	"int4eq": intEq, "int4ne": intNe, "int4lt": intLt, "int4le": intLe, "int4gt": intGt, "int4ge": intGe,
	"int8eq": intEq, "int8ne": intNe, "int8lt": intLt, "int8le": intLe, "int8gt": intGt, "int8ge": intGe,
	"int24eq": intEq, "int24ne": intNe, "int24lt": intLt, "int24le": intLe, "int24gt": intGt, "int24ge": intGe,
	"int42eq": intEq, "int42ne": intNe, "int42lt": intLt, "int42le": intLe, "int42gt": intGt, "int42ge": intGe,
	"int28eq": intEq, "int28ne": intNe, "int28lt": intLt, "int28le": intLe, "int28gt": intGt, "int28ge": intGe,
	"int82eq": intEq, "int82ne": intNe, "int82lt": intLt, "int82le": intLe, "int82gt": intGt, "int82ge": intGe,
	"int48eq": intEq, "int48ne": intNe, "int48lt": intLt, "int48le": intLe, "int48gt": intGt, "int48ge": intGe,
	"int84eq": intEq, "int84ne": intNe, "int84lt": intLt, "int84le": intLe, "int84gt": intGt, "int84ge": intGe,
	"oideq":  intEq,
	"oidne":  intNe,
	"oidlt":  intLt,
	"oidle":  intLe,
	"oidgt":  intGt,
	"oidge":  intGe,
	"chareq": charEq,
	"charne": charNe,
	"charlt": charLt,
	"charle": charLe,
	"chargt": charGt,
	"charge": charGe,
	"tideq":  intEq,
	"tidne":  intNe,
	"tidlt":  intLt,
	"tidle":  intLe,
	"tidgt":  intGt,
	"tidge":  intGe,
	"xideq":  intEq, "xidneq": intNe, "cideq": intEq,
	"btint2cmp":  intCmp,
	"btint4cmp":  intCmp,
	"btint8cmp":  intCmp,
	"btint24cmp": intCmp,
	"btint42cmp": intCmp,
	"btint28cmp": intCmp,
	"btint82cmp": intCmp,
	"btint48cmp": intCmp,
	"btint84cmp": intCmp,
	"btoidcmp":   intCmp,
	"bttidcmp":   intCmp,
	"btcharcmp":  charCmp,
	"booleq":     intEq,
	"boolne":     intNe,
	"boollt":     intLt,
	"boolle":     intLe,
	"boolgt":     intGt,
	"boolge":     intGe,
	"btboolcmp":  intCmp,
	"int2larger": intLarger, "int2smaller": intSmaller,
	"int4larger": intLarger, "int4smaller": intSmaller,
	"int8larger": intLarger, "int8smaller": intSmaller,
	"oidlarger": intLarger, "oidsmaller": intSmaller,
	"tidlarger": intLarger, "tidsmaller": intSmaller,
}

func intEq(_ *Ctx, a []types.Datum) (types.Datum, error) { return types.NewBool(a[0].N == a[1].N), nil }
func intNe(_ *Ctx, a []types.Datum) (types.Datum, error) { return types.NewBool(a[0].N != a[1].N), nil }
func intLt(_ *Ctx, a []types.Datum) (types.Datum, error) { return types.NewBool(a[0].N < a[1].N), nil }
func intLe(_ *Ctx, a []types.Datum) (types.Datum, error) { return types.NewBool(a[0].N <= a[1].N), nil }
func intGt(_ *Ctx, a []types.Datum) (types.Datum, error) { return types.NewBool(a[0].N > a[1].N), nil }
func intGe(_ *Ctx, a []types.Datum) (types.Datum, error) { return types.NewBool(a[0].N >= a[1].N), nil }

func intCmp(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewInt(order(a[0].N, a[1].N)), nil
}

func intLarger(_ *Ctx, a []types.Datum) (types.Datum, error) {
	if a[0].N >= a[1].N {
		return a[0], nil
	}
	return a[1], nil
}

func intSmaller(_ *Ctx, a []types.Datum) (types.Datum, error) {
	if a[0].N <= a[1].N {
		return a[0], nil
	}
	return a[1], nil
}

func charEq(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewBool(uint8(a[0].N) == uint8(a[1].N)), nil
}
func charNe(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewBool(uint8(a[0].N) != uint8(a[1].N)), nil
}
func charLt(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewBool(uint8(a[0].N) < uint8(a[1].N)), nil
}
func charLe(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewBool(uint8(a[0].N) <= uint8(a[1].N)), nil
}
func charGt(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewBool(uint8(a[0].N) > uint8(a[1].N)), nil
}
func charGe(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewBool(uint8(a[0].N) >= uint8(a[1].N)), nil
}

func charCmp(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewInt(int64(uint8(a[0].N)) - int64(uint8(a[1].N))), nil
}

// order returns -1, 0 or 1.
func order[T int64 | int32 | string](a, b T) int64 {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
