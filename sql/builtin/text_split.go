package builtin

import (
	"strings"

	"github.com/sherddb/sherd/sql/types"
)

// textSplit is string_to_array and array_to_string; neither is strict in all arguments.
var textSplit = map[string]Func{
	"text_to_array": stringToArray, "text_to_array_null": stringToArray,
	"array_to_text": arrayToString, "array_to_text_null": arrayToString,
}

var textSplitSets = map[string]SetFunc{"text_to_table": stringToTable, "text_to_table_null": stringToTable}

// splitFields splits text: at a separator, into characters where that is null, not at all where it is empty. What equals the null
// string is null.
func splitFields(a []types.Datum) []types.Datum {
	s, separator := a[0].S, a[1]
	var fields []string
	switch {
	case s == "":
	case separator.IsNull():
		fields = strings.Split(s, "")
	case separator.S == "":
		fields = []string{s}
	default:
		fields = strings.Split(s, separator.S)
	}
	out := make([]types.Datum, len(fields))
	for i, f := range fields {
		if len(a) < 3 || a[2].IsNull() || a[2].S != f {
			out[i] = types.NewText(f)
		}
	}
	return out
}

func stringToArray(_ *Ctx, a []types.Datum) (types.Datum, error) {
	if a[0].IsNull() {
		return types.Null, nil
	}
	return types.NewList(types.Text, splitFields(a)), nil
}

func stringToTable(_ *Ctx, a []types.Datum, emit func([]types.Datum) error) error {
	if a[0].IsNull() {
		return nil
	}
	for _, d := range splitFields(a) {
		if err := emit([]types.Datum{d}); err != nil {
			return err
		}
	}
	return nil
}

func arrayToString(c *Ctx, a []types.Datum) (types.Datum, error) {
	if a[0].IsNull() || a[1].IsNull() {
		return types.Null, nil
	}
	array, err := types.ArrayOf(a[0])
	if err != nil {
		return types.Null, err
	}
	var b []byte
	first := true
	for i := 0; i < array.Len(); i++ {
		d := array.At(i)
		if d.IsNull() && (len(a) < 3 || a[2].IsNull()) {
			continue
		}
		if !first {
			b = append(b, a[1].S...)
		}
		first = false
		if d.IsNull() {
			b = append(b, a[2].S...)
			continue
		}
		b = types.AppendOutput(b, array.Elem, d, c.Env)
	}
	return types.NewText(string(b)), nil
}
