package builtin

import (
	"strings"

	"github.com/sherddb/sherd/sql/types"
)

// In the C collation, text is compared by bytes, like bytea, uuid and name; char(n) ignores
// trailing blanks.
var comparisonText = map[string]Func{
	"texteq":          textEq,
	"textne":          textNe,
	"text_lt":         textLt,
	"text_le":         textLe,
	"text_gt":         textGt,
	"text_ge":         textGe,
	"nameeq":          textEq,
	"namene":          textNe,
	"namelt":          textLt,
	"namele":          textLe,
	"namegt":          textGt,
	"namege":          textGe,
	"byteaeq":         textEq,
	"byteane":         textNe,
	"bytealt":         textLt,
	"byteale":         textLe,
	"byteagt":         textGt,
	"byteage":         textGe,
	"uuid_eq":         textEq,
	"uuid_ne":         textNe,
	"uuid_lt":         textLt,
	"uuid_le":         textLe,
	"uuid_gt":         textGt,
	"uuid_ge":         textGe,
	"text_pattern_eq": textEq,
	"text_pattern_ne": textNe,
	"text_pattern_lt": textLt,
	"text_pattern_le": textLe,
	"text_pattern_gt": textGt,
	"text_pattern_ge": textGe,
	"texteqname":      textEq, "nameeqtext": textEq,
	"textnename": textNe, "namenetext": textNe,
	"textltname": textLt, "namelttext": textLt,
	"textlename": textLe, "nameletext": textLe,
	"textgtname": textGt, "namegttext": textGt,
	"textgename": textGe, "namegetext": textGe,
	"bpchareq":           bpcharEq,
	"bpcharne":           bpcharNe,
	"bpcharlt":           bpcharLt,
	"bpchar_pattern_lt":  bpcharLt,
	"bpcharle":           bpcharLe,
	"bpchar_pattern_le":  bpcharLe,
	"bpchargt":           bpcharGt,
	"bpchar_pattern_gt":  bpcharGt,
	"bpcharge":           bpcharGe,
	"bpchar_pattern_ge":  bpcharGe,
	"bttextcmp":          textCmp,
	"byteacmp":           textCmp,
	"uuid_cmp":           textCmp,
	"btnamecmp":          textCmp,
	"btnametextcmp":      textCmp,
	"bttextnamecmp":      textCmp,
	"bttext_pattern_cmp": textCmp,
	"bpcharcmp":          bpcharCmp, "btbpchar_pattern_cmp": bpcharCmp,
	"text_larger":      textLarger,
	"text_smaller":     textSmaller,
	"bpchar_larger":    bpcharLarger,
	"bpchar_smaller":   bpcharSmaller,
	"text_starts_with": textStartsWith,
}

func textEq(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewBool(a[0].S == a[1].S), nil
}
func textNe(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewBool(a[0].S != a[1].S), nil
}
func textLt(_ *Ctx, a []types.Datum) (types.Datum, error) { return types.NewBool(a[0].S < a[1].S), nil }
func textLe(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewBool(a[0].S <= a[1].S), nil
}
func textGt(_ *Ctx, a []types.Datum) (types.Datum, error) { return types.NewBool(a[0].S > a[1].S), nil }
func textGe(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewBool(a[0].S >= a[1].S), nil
}

func bpcharEq(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewBool(unpad(a[0].S) == unpad(a[1].S)), nil
}

func bpcharNe(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewBool(unpad(a[0].S) != unpad(a[1].S)), nil
}

func bpcharLt(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewBool(unpad(a[0].S) < unpad(a[1].S)), nil
}

func bpcharLe(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewBool(unpad(a[0].S) <= unpad(a[1].S)), nil
}

func bpcharGt(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewBool(unpad(a[0].S) > unpad(a[1].S)), nil
}

func bpcharGe(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewBool(unpad(a[0].S) >= unpad(a[1].S)), nil
}

func textCmp(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewInt(order(a[0].S, a[1].S)), nil
}

func bpcharCmp(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewInt(order(unpad(a[0].S), unpad(a[1].S))), nil
}

func textLarger(_ *Ctx, a []types.Datum) (types.Datum, error) {
	if a[0].S > a[1].S {
		return a[0], nil
	}
	return a[1], nil
}

func textSmaller(_ *Ctx, a []types.Datum) (types.Datum, error) {
	if a[0].S < a[1].S {
		return a[0], nil
	}
	return a[1], nil
}

func bpcharLarger(_ *Ctx, a []types.Datum) (types.Datum, error) {
	if unpad(a[0].S) >= unpad(a[1].S) {
		return a[0], nil
	}
	return a[1], nil
}

func bpcharSmaller(_ *Ctx, a []types.Datum) (types.Datum, error) {
	if unpad(a[0].S) <= unpad(a[1].S) {
		return a[0], nil
	}
	return a[1], nil
}

func textStartsWith(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewBool(strings.HasPrefix(a[0].S, a[1].S)), nil
}

// unpad removes the blanks with which char(n) is padded.
func unpad(s string) string {
	for len(s) > 0 && s[len(s)-1] == ' ' {
		s = s[:len(s)-1]
	}
	return s
}
