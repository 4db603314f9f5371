package builtin

import (
	"strconv"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/jsonb"
	"github.com/sherddb/sherd/sql/types"
)

// jsonAccess are the operators and functions that read the text type json.
var jsonAccess = map[string]Func{
	"json_object_field": jsonField(false), "json_object_field_text": jsonField(true),
	"json_array_element": jsonElement(false), "json_array_element_text": jsonElement(true),
	"json_extract_path": jsonExtractPath(false), "json_extract_path_text": jsonExtractPath(true),
	"json_typeof": jsonTypeof, "json_array_length": jsonArrayLength, "json_strip_nulls": jsonStripNulls,
}

var jsonSets = map[string]SetFunc{
	"json_each": jsonEach(false), "json_each_text": jsonEach(true), "json_object_keys": jsonObjectKeys,
	"json_array_elements": jsonElements(false), "json_array_elements_text": jsonElements(true),
}

// jsonPart returns a part as json or as text.
func jsonPart(t jsonText, ok, asText bool) (types.Datum, error) {
	if !ok {
		return types.Null, nil
	}
	if asText {
		return textOrNull(t.scalarText())
	}
	return types.NewText(string(t)), nil
}

func jsonField(asText bool) Func {
	return func(_ *Ctx, a []types.Datum) (types.Datum, error) {
		t, ok := jsonText(a[0].S).field(a[1].S)
		return jsonPart(t, ok, asText)
	}
}

func jsonElement(asText bool) Func {
	return func(_ *Ctx, a []types.Datum) (types.Datum, error) {
		t, ok := jsonText(a[0].S).element(int(a[1].N))
		return jsonPart(t, ok, asText)
	}
}

func jsonExtractPath(asText bool) Func {
	return func(c *Ctx, a []types.Datum) (types.Datum, error) {
		path, ok := pathOf(c, a[1])
		t := jsonText(a[0].S).trimmed()
		for i := 0; ok && i < len(path); i++ {
			if t.kind() == '{' {
				t, ok = t.field(path[i])
				continue
			}
			n, err := strconv.ParseInt(strings.TrimLeft(path[i], " \t\n\v\f\r"), 10, 32)
			if err != nil {
				return types.Null, nil
			}
			t, ok = t.element(int(n))
		}
		return jsonPart(t, ok, asText)
	}
}

func jsonTypeof(_ *Ctx, a []types.Datum) (types.Datum, error) {
	names := map[byte]string{'{': "object", '[': "array", '"': "string", 't': "boolean", 'f': "boolean", 'n': "null"}
	if name, ok := names[jsonText(a[0].S).kind()]; ok {
		return types.NewText(name), nil
	}
	return types.NewText("number"), nil
}

func jsonArrayLength(_ *Ctx, a []types.Datum) (types.Datum, error) {
	t := jsonText(a[0].S)
	switch t.kind() {
	case '[':
	case '{':
		return types.Null, pgerr.New(pgerr.InvalidParameterValue, "cannot get array length of a non-array")
	default:
		return types.Null, pgerr.New(pgerr.InvalidParameterValue, "cannot get array length of a scalar")
	}
	n := int64(0)
	for range t.elements {
		n++
	}
	return types.NewInt(n), nil
}

func jsonStripNulls(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewText(string(appendStripped(nil, jsonText(a[0].S)))), nil
}

// appendStripped appends a value without null fields and without white space.
func appendStripped(b []byte, t jsonText) []byte {
	first := true
	comma := func() {
		if !first {
			b = append(b, ',')
		}
		first = false
	}
	switch t.kind() {
	case '{':
		b = append(b, '{')
		for k, v := range t.pairs {
			if v.kind() != 'n' {
				comma()
				b = appendStripped(append(jsonb.AppendQuoted(b, k), ':'), v)
			}
		}
		return append(b, '}')
	case '[':
		b = append(b, '[')
		for e := range t.elements {
			comma()
			b = appendStripped(b, e)
		}
		return append(b, ']')
	case '"':
		return jsonb.AppendQuoted(b, unquoteJSON(string(t.trimmed())))
	}
	return append(b, t.trimmed()...)
}

func jsonEach(asText bool) SetFunc {
	return func(_ *Ctx, a []types.Datum, emit func([]types.Datum) error) (err error) {
		t := jsonText(a[0].S)
		switch t.kind() {
		case '{':
		case '[':
			return pgerr.New(pgerr.InvalidParameterValue, "cannot deconstruct an array as an object")
		default:
			return pgerr.New(pgerr.InvalidParameterValue, "cannot deconstruct a scalar")
		}
		row := make([]types.Datum, 2)
		for k, v := range t.pairs {
			row[0] = types.NewText(k)
			row[1], _ = jsonPart(v, true, asText)
			if err = emit(row); err != nil {
				return err
			}
		}
		return nil
	}
}

func jsonObjectKeys(_ *Ctx, a []types.Datum, emit func([]types.Datum) error) error {
	t := jsonText(a[0].S)
	switch t.kind() {
	case '{':
	case '[':
		return pgerr.New(pgerr.InvalidParameterValue, "cannot call json_object_keys on an array")
	default:
		return pgerr.New(pgerr.InvalidParameterValue, "cannot call json_object_keys on a scalar")
	}
	row := make([]types.Datum, 1)
	for k := range t.pairs {
		row[0] = types.NewText(k)
		if err := emit(row); err != nil {
			return err
		}
	}
	return nil
}

func jsonElements(asText bool) SetFunc {
	name := "json_array_elements"
	if asText {
		name = "json_array_elements_text"
	}
	return func(_ *Ctx, a []types.Datum, emit func([]types.Datum) error) error {
		t := jsonText(a[0].S)
		switch t.kind() {
		case '[':
		case '{':
			return pgerr.New(pgerr.InvalidParameterValue, "cannot call %s on a non-array", name)
		default:
			return pgerr.New(pgerr.InvalidParameterValue, "cannot call %s on a scalar", name)
		}
		row := make([]types.Datum, 1)
		for e := range t.elements {
			row[0], _ = jsonPart(e, true, asText)
			if err := emit(row); err != nil {
				return err
			}
		}
		return nil
	}
}
