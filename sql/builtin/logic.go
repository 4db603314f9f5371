package builtin

import (
	"github.com/sherddb/sherd/sql/types"
)

// logic is the functions of bool.
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
