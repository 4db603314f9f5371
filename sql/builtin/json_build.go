package builtin

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/jsonb"
	"github.com/sherddb/sherd/sql/types"
)

// jsonBuild has the functions that build documents from values. They are not strict.
var jsonBuild = map[string]Func{
	"to_jsonb": toJSONB, "to_json": toJSON, "row_to_json": toJSON, "row_to_json_pretty": toJSONPretty,
	"array_to_json": toJSON, "array_to_json_pretty": toJSONPretty,
	"jsonb_build_object": jsonbBuildObject, "jsonb_build_object_noargs": jsonbBuildObject,
	"jsonb_build_array": jsonbBuildArray, "jsonb_build_array_noargs": jsonbBuildArray,
	"json_build_object": jsonBuildObject, "json_build_object_noargs": jsonBuildObject,
	"json_build_array": jsonBuildArray, "json_build_array_noargs": jsonBuildArray,
	"jsonb_object":         jsonbObject,
	"jsonb_object_two_arg": jsonbObject2,
	"json_object":          jsonObject,
	"json_object_two_arg":  jsonObject2,
}

func finish(b *jsonb.Builder, err error) (types.Datum, error) {
	d, finishErr := b.Finish()
	if err == nil {
		err = finishErr
	}
	return newDoc(d, err)
}

func toJSONB(c *Ctx, a []types.Datum) (types.Datum, error) {
	var b jsonb.Builder
	if err := c.addJSONB(&b, c.argType(0), a[0]); err != nil {
		return types.Null, err
	}
	return finish(&b, nil)
}

func toJSON(c *Ctx, a []types.Datum) (types.Datum, error) {
	b, err := c.appendJSON(nil, c.argType(0), a[0], false)
	return types.NewText(string(b)), err
}

func toJSONPretty(c *Ctx, a []types.Datum) (types.Datum, error) {
	b, err := c.appendJSON(nil, c.argType(0), a[0], a[1].Bool())
	return types.NewText(string(b)), err
}

// variadicArgs returns the arguments of a VARIADIC "any" function, which may have none.
func (c *Ctx) variadicArgs(a []types.Datum) (args []types.Datum, typ func(int) uint32, ok bool, err error) {
	if len(a) == 0 {
		return nil, nil, true, nil
	}
	return c.spread(a, 0)
}

func oddArguments() error {
	return pgerr.New(pgerr.InvalidParameterValue, "argument list must have even number of elements")
}

func jsonbBuildObject(c *Ctx, a []types.Datum) (types.Datum, error) {
	args, typ, ok, err := c.variadicArgs(a)
	if err != nil || !ok {
		return types.Null, err
	}
	if len(args)%2 != 0 {
		return types.Null, pgerr.From(oddArguments()).
			WithHint("The arguments of %s must consist of alternating keys and values.", "jsonb_build_object()")
	}
	var b jsonb.Builder
	b.BeginObject()
	for i := 0; i < len(args); i += 2 {
		if args[i].IsNull() {
			return types.Null, pgerr.New(pgerr.InvalidParameterValue, "argument %d: key must not be null", i+1)
		}
		key, err := c.jsonKey(typ(i), args[i])
		if err != nil {
			return types.Null, err
		}
		b.Key(key)
		if err := c.addJSONB(&b, typ(i+1), args[i+1]); err != nil {
			return types.Null, err
		}
	}
	b.End()
	return finish(&b, nil)
}

func jsonbBuildArray(c *Ctx, a []types.Datum) (types.Datum, error) {
	args, typ, ok, err := c.variadicArgs(a)
	if err != nil || !ok {
		return types.Null, err
	}
	var b jsonb.Builder
	b.BeginArray()
	for i, d := range args {
		if err := c.addJSONB(&b, typ(i), d); err != nil {
			return types.Null, err
		}
	}
	b.End()
	return finish(&b, nil)
}

func jsonBuildObject(c *Ctx, a []types.Datum) (types.Datum, error) {
	args, typ, ok, err := c.variadicArgs(a)
	if err != nil || !ok {
		return types.Null, err
	}
	if len(args)%2 != 0 {
		return types.Null, pgerr.From(oddArguments()).
			WithHint("The arguments of %s must consist of alternating keys and values.", "json_build_object()")
	}
	b := []byte{'{'}
	for i := 0; i < len(args); i += 2 {
		if i > 0 {
			b = append(b, ", "...)
		}
		if args[i].IsNull() {
			return types.Null, pgerr.New(pgerr.InvalidParameterValue, "argument %d cannot be null", i+1).
				WithHint("Object keys should be text.")
		}
		key, err := c.jsonKey(typ(i), args[i])
		if err != nil {
			return types.Null, err
		}
		b = append(jsonb.AppendQuoted(b, key), " : "...)
		if b, err = c.appendJSON(b, typ(i+1), args[i+1], false); err != nil {
			return types.Null, err
		}
	}
	return types.NewText(string(append(b, '}'))), nil
}

func jsonBuildArray(c *Ctx, a []types.Datum) (types.Datum, error) {
	args, typ, ok, err := c.variadicArgs(a)
	if err != nil || !ok {
		return types.Null, err
	}
	b := []byte{'['}
	for i, d := range args {
		if i > 0 {
			b = append(b, ", "...)
		}
		if b, err = c.appendJSON(b, typ(i), d, false); err != nil {
			return types.Null, err
		}
	}
	return types.NewText(string(append(b, ']'))), nil
}

// objectPairs returns keys and values from the text array arguments of json_object.
func objectPairs(a []types.Datum) (keys, values []types.Datum, err error) {
	first, err := types.ArrayOf(a[0])
	if err != nil {
		return nil, nil, err
	}
	if len(a) == 2 {
		second, err := types.ArrayOf(a[1])
		if err != nil {
			return nil, nil, err
		}
		if first.NDim > 1 || second.NDim > 1 {
			return nil, nil, pgerr.New(pgerr.ArraySubscriptError, "wrong number of array subscripts")
		}
		if first.Len() != second.Len() {
			return nil, nil, pgerr.New(pgerr.ArraySubscriptError, "mismatched array dimensions")
		}
		return first.Elems(), second.Elems(), checkKeys(first.Elems())
	}
	switch {
	case first.NDim == 1 && first.Len()%2 != 0:
		return nil, nil, pgerr.New(pgerr.ArraySubscriptError, "array must have even number of elements")
	case first.NDim == 2 && first.Dim(1) != 2:
		return nil, nil, pgerr.New(pgerr.ArraySubscriptError, "array must have two columns")
	case first.NDim > 2:
		return nil, nil, pgerr.New(pgerr.ArraySubscriptError, "wrong number of array subscripts")
	}
	for i, d := range first.Elems() {
		if i%2 == 0 {
			keys = append(keys, d)
		} else {
			values = append(values, d)
		}
	}
	return keys, values, checkKeys(keys)
}

func checkKeys(keys []types.Datum) error {
	for _, k := range keys {
		if k.IsNull() {
			return pgerr.New(pgerr.NullValueNotAllowed, "null value not allowed for object key")
		}
	}
	return nil
}

func jsonbObject2(c *Ctx, a []types.Datum) (types.Datum, error) { return jsonbObject(c, a) }
func jsonObject2(c *Ctx, a []types.Datum) (types.Datum, error)  { return jsonObject(c, a) }

func jsonbObject(_ *Ctx, a []types.Datum) (types.Datum, error) {
	keys, values, err := objectPairs(a)
	if err != nil {
		return types.Null, err
	}
	var b jsonb.Builder
	b.BeginObject()
	for i, k := range keys {
		b.Key(k.S)
		if values[i].IsNull() {
			b.Null()
		} else {
			b.Str(values[i].S)
		}
	}
	b.End()
	return finish(&b, nil)
}

func jsonObject(_ *Ctx, a []types.Datum) (types.Datum, error) {
	keys, values, err := objectPairs(a)
	if err != nil {
		return types.Null, err
	}
	b := []byte{'{'}
	for i, k := range keys {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(jsonb.AppendQuoted(b, k.S), " : "...)
		if values[i].IsNull() {
			b = append(b, "null"...)
		} else {
			b = jsonb.AppendQuoted(b, values[i].S)
		}
	}
	return types.NewText(string(append(b, '}'))), nil
}
