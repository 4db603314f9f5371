package builtin

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/jsonb"
	"github.com/sherddb/sherd/sql/types"
)

// jsonbSets are the functions that split a document into rows.
var jsonbSets = map[string]SetFunc{
	"jsonb_each": jsonbEach(false), "jsonb_each_text": jsonbEach(true), "jsonb_object_keys": jsonbObjectKeys,
	"jsonb_array_elements": jsonbElements(false), "jsonb_array_elements_text": jsonbElements(true),
}

func jsonbEach(asText bool) SetFunc {
	name := "jsonb_each"
	if asText {
		name = "jsonb_each_text"
	}
	return func(_ *Ctx, a []types.Datum, emit func([]types.Datum) error) error {
		d := doc(a[0])
		if d.Kind() != jsonb.Object {
			return pgerr.New(pgerr.InvalidParameterValue, "cannot call %s on a non-object", name)
		}
		row := make([]types.Datum, 2)
		for key, value := range d.Pairs() {
			row[0], row[1] = types.NewText(key), documentPart(value, asText)
			if err := emit(row); err != nil {
				return err
			}
		}
		return nil
	}
}

// documentPart returns a value as document, or as text, in which null is SQL null.
func documentPart(v jsonb.Doc, asText bool) types.Datum {
	if !asText {
		return fromDoc(v)
	}
	if s, ok := v.AsText(); ok {
		return types.NewText(s)
	}
	return types.Null
}

func jsonbObjectKeys(_ *Ctx, a []types.Datum, emit func([]types.Datum) error) error {
	d := doc(a[0])
	switch d.Kind() {
	case jsonb.Object:
	case jsonb.Array:
		return pgerr.New(pgerr.InvalidParameterValue, "cannot call jsonb_object_keys on an array")
	default:
		return pgerr.New(pgerr.InvalidParameterValue, "cannot call jsonb_object_keys on a scalar")
	}
	row := make([]types.Datum, 1)
	for key := range d.Pairs() {
		row[0] = types.NewText(key)
		if err := emit(row); err != nil {
			return err
		}
	}
	return nil
}

func jsonbElements(asText bool) SetFunc {
	return func(_ *Ctx, a []types.Datum, emit func([]types.Datum) error) error {
		d := doc(a[0])
		switch d.Kind() {
		case jsonb.Array:
		case jsonb.Object:
			return pgerr.New(pgerr.InvalidParameterValue, "cannot extract elements from an object")
		default:
			return pgerr.New(pgerr.InvalidParameterValue, "cannot extract elements from a scalar")
		}
		row := make([]types.Datum, 1)
		for _, v := range d.Elements() {
			row[0] = documentPart(v, asText)
			if err := emit(row); err != nil {
				return err
			}
		}
		return nil
	}
}
