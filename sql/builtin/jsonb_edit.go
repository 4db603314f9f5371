package builtin

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/jsonb"
	"github.com/sherddb/sherd/sql/types"
)

// jsonbEdit has containment, and the operators and functions that return a changed document.
var jsonbEdit = map[string]Func{
	"jsonb_contains": jsonbContains, "jsonb_contained": jsonbContained,
	"jsonb_exists_any": jsonbExistsAny, "jsonb_exists_all": jsonbExistsAll,
	"jsonb_concat": jsonbConcat, "jsonb_delete": jsonbDelete, "jsonb_delete_idx": jsonbDeleteIndex,
	"jsonb_delete_array": jsonbDeleteKeys, "jsonb_delete_path": jsonbDeletePath,
	"jsonb_set": jsonbSet, "jsonb_set_lax": jsonbSetLax, "jsonb_insert": jsonbInsert,
	"jsonb_strip_nulls": jsonbStripNulls, "jsonb_pretty": jsonbPretty, "jsonb_array_length": jsonbArrayLength,
}

// newDoc returns the document as the result of a function.
func newDoc(d jsonb.Doc, err error) (types.Datum, error) {
	if err != nil {
		return types.Null, err
	}
	return fromDoc(d), nil
}

func jsonbContains(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewBool(doc(a[0]).Contains(doc(a[1]))), nil
}

func jsonbContained(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewBool(doc(a[1]).Contains(doc(a[0]))), nil
}

func jsonbExistsAny(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewBool(doc(a[0]).HasAny(nonNullTexts(a[1]))), nil
}

func jsonbExistsAll(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewBool(doc(a[0]).HasAll(nonNullTexts(a[1]))), nil
}

func jsonbConcat(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return newDoc(jsonb.Concat(doc(a[0]), doc(a[1])))
}

func jsonbDelete(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return newDoc(doc(a[0]).DeleteKey(a[1].S))
}

func jsonbDeleteIndex(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return newDoc(doc(a[0]).DeleteIndex(int(a[1].N)))
}

func jsonbDeleteKeys(_ *Ctx, a []types.Datum) (types.Datum, error) {
	if err := oneDimension(a[1]); err != nil {
		return types.Null, err
	}
	return newDoc(doc(a[0]).DeleteKeys(nonNullTexts(a[1])))
}

func jsonbDeletePath(_ *Ctx, a []types.Datum) (types.Datum, error) {
	path, err := stepsOf(a[1])
	if err != nil {
		return types.Null, err
	}
	return newDoc(doc(a[0]).DeletePath(path))
}

func jsonbSet(_ *Ctx, a []types.Datum) (types.Datum, error) {
	path, err := stepsOf(a[1])
	if err != nil {
		return types.Null, err
	}
	return newDoc(doc(a[0]).Set(path, doc(a[2]), len(a) < 4 || a[3].Bool()))
}

// jsonbSetLax is not strict, because its purpose is to handle a null value.
func jsonbSetLax(_ *Ctx, a []types.Datum) (types.Datum, error) {
	if a[0].IsNull() || a[1].IsNull() || len(a) > 3 && a[3].IsNull() {
		return types.Null, nil
	}
	path, err := stepsOf(a[1])
	if err != nil {
		return types.Null, err
	}
	var value *jsonb.Doc
	if !a[2].IsNull() {
		v := doc(a[2])
		value = &v
	}
	treatment := "use_json_null"
	if len(a) > 4 {
		treatment = a[4].S
	}
	d, err := doc(a[0]).SetLax(path, value, len(a) < 4 || a[3].Bool(), treatment)
	if err != nil || d == "" {
		return types.Null, err
	}
	return fromDoc(d), nil
}

func jsonbInsert(_ *Ctx, a []types.Datum) (types.Datum, error) {
	path, err := stepsOf(a[1])
	if err != nil {
		return types.Null, err
	}
	return newDoc(doc(a[0]).Insert(path, doc(a[2]), len(a) > 3 && a[3].Bool()))
}

func jsonbStripNulls(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return newDoc(doc(a[0]).StripNulls())
}

func jsonbPretty(c *Ctx, a []types.Datum) (types.Datum, error) {
	return newText(doc(a[0]).Pretty(c.canceled))
}

func jsonbArrayLength(_ *Ctx, a []types.Datum) (types.Datum, error) {
	n, err := doc(a[0]).ArrayLength()
	return types.NewInt(int64(n)), err
}

func oneDimension(array types.Datum) error {
	a, err := types.ArrayOf(array)
	if err == nil && a.NDim > 1 {
		return pgerr.New(pgerr.ArraySubscriptError, "wrong number of array subscripts")
	}
	return err
}

// stepsOf returns a path whose steps may be null.
func stepsOf(array types.Datum) ([]jsonb.Step, error) {
	if err := oneDimension(array); err != nil {
		return nil, err
	}
	a, err := types.ArrayOf(array)
	if err != nil {
		return nil, err
	}
	path := make([]jsonb.Step, a.Len())
	for i := range path {
		d := a.At(i)
		path[i] = jsonb.Step{Text: d.S, Null: d.IsNull()}
	}
	return path, nil
}
