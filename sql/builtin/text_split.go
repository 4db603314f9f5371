package builtin

import (
	"strings"

	"github.com/sherddb/sherd/sql/types"
)

// textSplit has string_to_array and array_to_string; neither is strict in all arguments.
var textSplit = map[string]Func{
	"text_to_array": stringToArray, "text_to_array_null": stringToArray,
	"array_to_text": arrayToString, "array_to_text_null": arrayToString,
}

var textSplitSets = map[string]SetFunc{"text_to_table": stringToTable, "text_to_table_null": stringToTable}

// splitFields splits text at a separator; a null separator splits it into characters, an empty one
// not at all. Fields that equal the null string are null.
func (c *Ctx) splitFields(a []types.Datum) ([]types.Datum, error) {
	s, separator := a[0].S, a[1]
	var out []types.Datum
	add := func(f string) bool {
		d := types.Null
		if len(a) < 3 || a[2].IsNull() || a[2].S != f {
			d = types.NewText(f)
		}
		out = append(out, d)
		return true
	}
	switch {
	case s == "":
		return nil, nil
	case separator.IsNull():
		err := c.characters(s, add)
		return out, err
	case separator.S == "":
		add(s)
		return out, nil
	}
	out = make([]types.Datum, 0, min(strings.Count(s[:min(len(s), stride)], separator.S)+1, stride))
	err := c.fields(s, separator.S, add)
	return out, err
}

func stringToArray(c *Ctx, a []types.Datum) (types.Datum, error) {
	if a[0].IsNull() {
		return types.Null, nil
	}
	fields, err := c.splitFields(a)
	if err != nil {
		return types.Null, err
	}
	return types.NewList(types.Text, fields), nil
}

func stringToTable(c *Ctx, a []types.Datum, emit func([]types.Datum) error) error {
	if a[0].IsNull() {
		return nil
	}
	fields, err := c.splitFields(a)
	if err != nil {
		return err
	}
	for _, d := range fields {
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
	b, first := c.builder(), true
	var room []byte
	for i := 0; i < array.Len(); i++ {
		d := array.At(i)
		if d.IsNull() && (len(a) < 3 || a[2].IsNull()) {
			continue
		}
		separator := a[1].S
		if first {
			separator = ""
		}
		first = false
		text := a[min(2, len(a)-1)].S
		switch {
		case d.IsNull():
		case d.K == types.KindText:
			text = d.S
		default:
			room = types.AppendOutput(room[:0], array.Elem, d, c.Env)
			text = string(room)
		}
		if err = b.add(separator, text); err != nil {
			return types.Null, err
		}
	}
	return b.text("")
}
