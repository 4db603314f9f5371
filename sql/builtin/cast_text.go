package builtin

import (
	"github.com/sherddb/sherd/sql/types"
)

// textCasts is the casts among text, char(n), varchar, name and "char", and those that apply a length.
var textCasts = map[string]Func{
	"name_text": identity, "text_name": textToName, "bpchar_name": bpcharToName, "name_bpchar": identity,
	"char_text": charToText, "text_char": textToChar, "char_bpchar": charToText,
	"bpchar": lengthOf(types.BPChar), "varchar": lengthOf(types.VarChar), "numeric": scaleOf(types.Numeric),
	"bit": lengthOf(types.Bit), "varbit": lengthOf(types.VarBit),
	"nameconcatoid": nameConcatOid,
}

func textToName(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewText(types.TruncateName(a[0].S)), nil
}

func bpcharToName(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewText(types.TruncateName(unpad(a[0].S))), nil
}

func charToText(c *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewText(types.Output(types.CharInternal, a[0], c.Env)), nil
}

func textToChar(c *Ctx, a []types.Datum) (types.Datum, error) {
	return types.Input(types.CharInternal, -1, a[0].S, c.Env)
}

// lengthOf applies a length: (value, type modifier, explicit).
func lengthOf(oid uint32) Func {
	return func(_ *Ctx, a []types.Datum) (types.Datum, error) {
		return types.ApplyTypmod(oid, int32(a[1].N), a[0], a[2].Bool())
	}
}

func nameConcatOid(c *Ctx, a []types.Datum) (types.Datum, error) {
	suffix := "_" + types.Output(types.Oid, a[1], c.Env)
	name := a[0].S
	for len(name)+len(suffix) > 63 {
		name = types.TruncateName(name[:len(name)-1])
	}
	return types.NewText(name + suffix), nil
}
