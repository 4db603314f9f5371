package builtin

import (
	"math"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// intCasts are the casts among integers, floats, oid and "char".
var intCasts = map[string]Func{
	"i2toi4": identity, "int28": identity, "int48": identity, "i4toi2": toInt2, "int82": toInt2, "int84": toInt4,
	"i2tod": intToFloat8, "i4tod": intToFloat8, "i8tod": intToFloat8,
	"i2tof": intToFloat4, "i4tof": intToFloat4, "i8tof": intToFloat4,
	"dtoi2": floatToInt2,
	"ftoi2": floatToInt2,
	"dtoi4": floatToInt4,
	"ftoi4": floatToInt4,
	"dtoi8": floatToInt8,
	"ftoi8": floatToInt8,
	"ftod":  float4ToFloat8, "dtof": float8ToFloat4,
	"i8tooid": int8ToOid, "oidtoi8": oidToInt8, "chartoi4": charToInt4, "i4tochar": int4ToChar,
}

func toInt2(_ *Ctx, a []types.Datum) (types.Datum, error) { return asInt2(a[0].N) }
func toInt4(_ *Ctx, a []types.Datum) (types.Datum, error) { return asInt4(a[0].N) }

func intToFloat8(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewFloat8(float64(a[0].N)), nil
}

func intToFloat4(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewFloat4(float32(a[0].N)), nil
}

func floatToInt2(_ *Ctx, a []types.Datum) (types.Datum, error) {
	x := math.RoundToEven(a[0].Float())
	if !(x >= math.MinInt16 && x <= math.MaxInt16) {
		return types.Null, int2Range()
	}
	return types.NewInt(int64(x)), nil
}

func floatToInt4(_ *Ctx, a []types.Datum) (types.Datum, error) {
	x := math.RoundToEven(a[0].Float())
	if !(x >= math.MinInt32 && x <= math.MaxInt32) {
		return types.Null, int4Range()
	}
	return types.NewInt(int64(x)), nil
}

func floatToInt8(_ *Ctx, a []types.Datum) (types.Datum, error) {
	x := math.RoundToEven(a[0].Float())
	if !(x >= -(1<<63) && x < 1<<63) {
		return types.Null, int8Range()
	}
	return types.NewInt(int64(x)), nil
}

func float4ToFloat8(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewFloat8(a[0].Float()), nil
}

func float8ToFloat4(_ *Ctx, a []types.Datum) (types.Datum, error) {
	x := a[0].Float()
	r := float32(x)
	if isInf4(r) && !math.IsInf(x, 0) {
		return types.Null, floatOverflow()
	}
	if r == 0 && x != 0 {
		return types.Null, floatUnderflow()
	}
	return types.NewFloat4(r), nil
}

func int8ToOid(_ *Ctx, a []types.Datum) (types.Datum, error) {
	if a[0].N != int64(uint32(a[0].N)) {
		return types.Null, pgerr.New(pgerr.NumericValueOutOfRange, "OID out of range")
	}
	return types.NewOid(uint32(a[0].N)), nil
}

func oidToInt8(_ *Ctx, a []types.Datum) (types.Datum, error) { return types.NewInt(a[0].N), nil }

func int4ToChar(_ *Ctx, a []types.Datum) (types.Datum, error) {
	if a[0].N < -128 || a[0].N > 127 {
		return types.Null, pgerr.New(pgerr.NumericValueOutOfRange, "\"char\" out of range")
	}
	return types.NewInt(a[0].N), nil
}

func charToInt4(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewInt(int64(int8(a[0].N))), nil
}

// textCasts are the casts among text, char(n), varchar, name and "char", and those that apply a
// length.
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

// lengthOf returns the function that applies a length: (value, type modifier, explicit).
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
