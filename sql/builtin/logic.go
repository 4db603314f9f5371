package builtin

import "github.com/sherddb/sherd/sql/types"

// bitwise has & | # ~ << >> for integers. Shift counts are taken modulo the operand's width, as on
// the hardware that PostgreSQL runs on; int2 is shifted as int.
var bitwise = map[string]Func{
	"int2and": intAnd, "int4and": intAnd, "int8and": intAnd,
	"int2or": intOr, "int4or": intOr, "int8or": intOr,
	"int2xor": intXor, "int4xor": intXor, "int8xor": intXor,
	"int2not": intNot, "int4not": intNot, "int8not": intNot,
	"int2shl": int2shl, "int4shl": int4shl, "int8shl": int8shl,
	"int2shr": int4shr, "int4shr": int4shr, "int8shr": int8shr,
}

func intAnd(_ *Ctx, a []types.Datum) (types.Datum, error) { return types.NewInt(a[0].N & a[1].N), nil }
func intOr(_ *Ctx, a []types.Datum) (types.Datum, error)  { return types.NewInt(a[0].N | a[1].N), nil }
func intXor(_ *Ctx, a []types.Datum) (types.Datum, error) { return types.NewInt(a[0].N ^ a[1].N), nil }
func intNot(_ *Ctx, a []types.Datum) (types.Datum, error) { return types.NewInt(^a[0].N), nil }

func int2shl(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewInt(int64(int16(int32(a[0].N) << (uint64(a[1].N) & 31)))), nil
}

func int4shl(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewInt(int64(int32(a[0].N) << (uint64(a[1].N) & 31))), nil
}

func int8shl(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewInt(a[0].N << (uint64(a[1].N) & 63)), nil
}

func int4shr(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewInt(a[0].N >> (uint64(a[1].N) & 31)), nil
}

func int8shr(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewInt(a[0].N >> (uint64(a[1].N) & 63)), nil
}

// logic are the functions of bool.
var logic = map[string]Func{
	"booland_statefunc": intAndBool, "boolor_statefunc": intOrBool,
	"bool_int4": boolInt4, "int4_bool": int4Bool, "booltext": boolText,
}

func intAndBool(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewBool(a[0].N&a[1].N != 0), nil
}

func intOrBool(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewBool(a[0].N|a[1].N != 0), nil
}

func boolInt4(_ *Ctx, a []types.Datum) (types.Datum, error) { return types.NewInt(a[0].N), nil }

func int4Bool(_ *Ctx, a []types.Datum) (types.Datum, error) { return types.NewBool(a[0].N != 0), nil }

func boolText(_ *Ctx, a []types.Datum) (types.Datum, error) {
	if a[0].Bool() {
		return types.NewText("true"), nil
	}
	return types.NewText("false"), nil
}
