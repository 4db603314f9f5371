package builtin

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/jsonb"
	"github.com/sherddb/sherd/sql/types"
)

// jsonbCasts are the casts of a document's scalar to bool and numbers.
var jsonbCasts = map[string]Func{
	"jsonb_bool": jsonbBool, "jsonb_numeric": jsonbNumeric,
	"jsonb_int2":   jsonbInt(types.Int2, "smallint"),
	"jsonb_int4":   jsonbInt(types.Int4, "integer"),
	"jsonb_int8":   jsonbInt(types.Int8, "bigint"),
	"jsonb_float4": jsonbFloat(32, "real"), "jsonb_float8": jsonbFloat(64, "double precision"),
}

func cannotCastJSONB(d jsonb.Doc, to string) error {
	kind := map[jsonb.Kind]string{
		jsonb.Null: "jsonb null", jsonb.String: "jsonb string", jsonb.Number: "jsonb numeric",
		jsonb.Bool: "jsonb boolean", jsonb.Array: "jsonb array", jsonb.Object: "jsonb object",
	}[d.Kind()]
	return pgerr.New(pgerr.InvalidParameterValue, "cannot cast %s to type %s", kind, to)
}

func jsonbBool(_ *Ctx, a []types.Datum) (types.Datum, error) {
	v, ok := doc(a[0]).Bool()
	if !ok {
		return types.Null, cannotCastJSONB(doc(a[0]), "boolean")
	}
	return types.NewBool(v), nil
}

func jsonbNumeric(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return numberOf(doc(a[0]), "numeric")
}

func numberOf(d jsonb.Doc, to string) (types.Datum, error) {
	s, ok := d.NumberText()
	if !ok {
		return types.Null, cannotCastJSONB(d, to)
	}
	return types.ParseNumeric(s)
}

func jsonbInt(oid uint32, name string) Func {
	return func(_ *Ctx, a []types.Datum) (types.Datum, error) {
		d := doc(a[0])
		if n, ok := d.Int64(); ok {
			if err := types.CheckInt(oid, n); err != nil {
				return types.Null, err
			}
			return types.NewInt(n), nil
		}
		v, err := numberOf(d, name)
		if err != nil {
			return types.Null, err
		}
		n, err := types.NumericToInt(v, oid)
		return types.NewInt(n), err
	}
}

func jsonbFloat(bits int, name string) Func {
	return func(_ *Ctx, a []types.Datum) (types.Datum, error) {
		v, err := numberOf(doc(a[0]), name)
		if err != nil {
			return types.Null, err
		}
		return numericToFloat(v, bits)
	}
}

func numericToFloat(v types.Datum, bits int) (types.Datum, error) {
	f, err := types.NumericToFloat(v, bits)
	if err != nil {
		return types.Null, err
	}
	if bits == 32 {
		return types.NewFloat4(float32(f)), nil
	}
	return types.NewFloat8(f), nil
}
