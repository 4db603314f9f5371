package builtin

import (
	"github.com/sherddb/sherd/jsonb"
	"github.com/sherddb/sherd/sql/types"
)

// jsonbAccess are the operators that read a part of a document. The parts alias the document.
var jsonbAccess = map[string]Func{
	"jsonb_object_field": jsonbField, "jsonb_object_field_text": jsonbFieldText,
	"jsonb_array_element": jsonbElement, "jsonb_array_element_text": jsonbElementText,
	"jsonb_extract_path": jsonbExtractPath, "jsonb_extract_path_text": jsonbExtractPathText,
	"jsonb_exists": jsonbExists, "jsonb_typeof": jsonbTypeof,
	"jsonb_eq":  jsonbEq,
	"jsonb_ne":  jsonbNe,
	"jsonb_lt":  jsonbLt,
	"jsonb_le":  jsonbLe,
	"jsonb_gt":  jsonbGt,
	"jsonb_ge":  jsonbGe,
	"jsonb_cmp": jsonbCmp,
}

func doc(d types.Datum) jsonb.Doc { return jsonb.Doc(d.S) }

func fromDoc(d jsonb.Doc) types.Datum { return types.NewJSONB(string(d)) }

// docOrNull returns null for a missing part.
func docOrNull(d jsonb.Doc, ok bool) (types.Datum, error) {
	if !ok {
		return types.Null, nil
	}
	return fromDoc(d), nil
}

func textOrNull(s string, ok bool) (types.Datum, error) {
	if !ok {
		return types.Null, nil
	}
	return types.NewText(s), nil
}

func jsonbField(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return docOrNull(doc(a[0]).Get(a[1].S))
}

func jsonbFieldText(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return textOrNull(doc(a[0]).GetText(a[1].S))
}

// jsonbElement is -> with an integer; a scalar counts as an array with one element.
func jsonbElement(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return docOrNull(doc(a[0]).Index(int(a[1].N)))
}

func jsonbElementText(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return textOrNull(doc(a[0]).IndexText(int(a[1].N)))
}

func jsonbExtractPath(c *Ctx, a []types.Datum) (types.Datum, error) {
	path, ok := pathOf(c, a[1])
	if !ok {
		return types.Null, nil
	}
	return docOrNull(doc(a[0]).Path(path...))
}

func jsonbExtractPathText(c *Ctx, a []types.Datum) (types.Datum, error) {
	path, ok := pathOf(c, a[1])
	if !ok {
		return types.Null, nil
	}
	return textOrNull(doc(a[0]).PathText(path...))
}

// jsonPathMemo has the last path of a call site, which is nearly always a constant.
type jsonPathMemo struct {
	array string
	path  []string
	ok    bool
}

// pathOf returns the steps of a text[] path; ok is false if a step is null.
func pathOf(c *Ctx, d types.Datum) (path []string, ok bool) {
	m, _ := c.Memo.(*jsonPathMemo)
	if m == nil {
		m = &jsonPathMemo{}
		c.Memo = m
	}
	if m.array == d.S && m.array != "" {
		return m.path, m.ok
	}
	*m = jsonPathMemo{array: d.Clone().S}
	m.path, m.ok = textElements(types.Datum{K: d.K, A: d.A, N: d.N, S: m.array})
	return m.path, m.ok
}

// jsonbExists is ?: a key of an object, a string element of an array, or the string itself.
func jsonbExists(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewBool(doc(a[0]).Has(a[1].S)), nil
}

func jsonbTypeof(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewText(doc(a[0]).Kind().String()), nil
}

func jsonbEq(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewBool(jsonb.Equal(doc(a[0]), doc(a[1]))), nil
}

func jsonbNe(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewBool(!jsonb.Equal(doc(a[0]), doc(a[1]))), nil
}

func jsonbLt(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewBool(jsonb.Compare(doc(a[0]), doc(a[1])) < 0), nil
}

func jsonbLe(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewBool(jsonb.Compare(doc(a[0]), doc(a[1])) <= 0), nil
}

func jsonbGt(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewBool(jsonb.Compare(doc(a[0]), doc(a[1])) > 0), nil
}

func jsonbGe(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewBool(jsonb.Compare(doc(a[0]), doc(a[1])) >= 0), nil
}

func jsonbCmp(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewInt(int64(jsonb.Compare(doc(a[0]), doc(a[1])))), nil
}
