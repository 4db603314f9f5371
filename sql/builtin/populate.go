package builtin

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// populate has jsonb_populate_record, jsonb_to_record and their json forms. The result's columns
// come from the call (Ctx.Columns) or from the composite type.
var populate = map[string]Func{
	"jsonb_populate_record": populateRecord, "json_populate_record": populateRecord,
	"jsonb_to_record": toRecord, "json_to_record": toRecord,
}

var populateSets = map[string]SetFunc{
	"jsonb_populate_recordset": populateRecordset("jsonb_populate_recordset"),
	"json_populate_recordset":  populateRecordset("json_populate_recordset"),
	"jsonb_to_recordset":       toRecordset("jsonb_to_recordset"),
	"json_to_recordset":        toRecordset("json_to_recordset"),
}

// sourceOf reads a jsonb or json argument.
func sourceOf(d types.Datum) populateSource {
	if d.K == types.KindJSONB {
		return docSource{doc(d)}
	}
	return textSource{jsonText(d.S)}
}

// resultColumns returns the columns of the result: those of the call, or those of its type.
func (c *Ctx) resultColumns(typ uint32) ([]Column, error) {
	if len(c.Columns) > 0 {
		return c.Columns, nil
	}
	if columns, ok := c.columnsOf(typ); ok {
		return columns, nil
	}
	return nil, pgerr.New(pgerr.FeatureNotSupported, "could not determine row type for result of %s", "this function").
		WithHint("Provide a non-null record argument, or call the function in the FROM clause using a column " +
			"definition list.")
}

// columnsOf returns the columns of a composite type; ok is false for other types.
func (c *Ctx) columnsOf(typ uint32) (columns []Column, ok bool) {
	if types.IsComposite(typ) && c.Env != nil && c.Env.Attributes != nil {
		list, err := c.Env.Attributes(typ)
		for _, a := range list {
			columns = append(columns, Column{Name: a.Name, Type: a.Type, Typmod: a.Typmod})
		}
		return columns, err == nil
	}
	if c.Session != nil {
		return c.Session.RelationColumns(typ)
	}
	return nil, false
}

// populateRecord is not strict: with a null base, missing fields are null; with a null document,
// the result is the base.
func populateRecord(c *Ctx, a []types.Datum) (types.Datum, error) {
	if a[1].IsNull() {
		return a[0], nil
	}
	return c.recordOf(a, 1, a[0])
}

func toRecord(c *Ctx, a []types.Datum) (types.Datum, error) { return c.recordOf(a, 0, types.Null) }

func (c *Ctx) recordOf(a []types.Datum, i int, base types.Datum) (types.Datum, error) {
	columns, err := c.resultColumns(c.RetType)
	if err != nil {
		return types.Null, err
	}
	row, err := c.fill(columns, sourceOf(a[i]), base)
	if err != nil {
		return types.Null, err
	}
	return newRecord(c.RetType, columns, row), nil
}

// newRecord returns a row of a type. Values of composite types have no names.
func newRecord(typ uint32, columns []Column, row []types.Datum) types.Datum {
	oids := make([]uint32, len(columns))
	for i, col := range columns {
		oids[i] = col.Type
	}
	if types.IsComposite(typ) {
		return types.NewRecord(oids, row)
	}
	names := make([]string, len(columns))
	for i, col := range columns {
		names[i] = col.Name
	}
	return types.NewNamedRecord(oids, row, types.RecordNames(names))
}

// fill returns the fields of one object; missing ones are taken from base.
func (c *Ctx) fill(columns []Column, d populateSource, base types.Datum) ([]types.Datum, error) {
	if d.kind() != '{' {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot call %s on %s", "populate_composite", articleOf(d))
	}
	row := make([]types.Datum, len(columns))
	if !base.IsNull() {
		r, err := types.RecordOf(base)
		if err != nil {
			return nil, err
		}
		for i := range min(len(row), r.Len()) {
			row[i] = r.At(i)
		}
	}
	for i, col := range columns {
		v, ok := d.get(col.Name)
		if !ok {
			continue
		}
		var err error
		if row[i], err = c.fromJSON(col.Type, col.Typmod, v); err != nil {
			if e := pgerr.From(err); e != nil && e.Message == expectedArray && e.Hint == "" {
				err = e.WithHint(`See the value of key "%s".`, col.Name)
			}
			return nil, err
		}
	}
	return row, nil
}

func articleOf(d populateSource) string {
	if d.kind() == '[' {
		return "an array"
	}
	return "a scalar"
}

const expectedArray = "expected JSON array"

// fromJSON converts a document to a value of a type: arrays and composites part by part, other
// types through text.
func (c *Ctx) fromJSON(typ uint32, typmod int32, v populateSource) (types.Datum, error) {
	switch {
	case types.IsDomain(typ):
		return types.Null, pgerr.Unsupported("values of domains in documents are not supported yet").
			WithHint("Read the value as one of the base type, and cast it to the domain.")
	case v.kind() == 'n':
		return types.Null, nil
	case typ == types.JSONB:
		return v.jsonb()
	case typ == types.JSON:
		return types.NewText(v.json()), nil
	case types.IsArray(typ) && v.kind() == '[':
		return c.arrayFromJSON(types.ElemOf(typ), typmod, v)
	case v.kind() == '{' && types.KindOf(typ) != types.KindText:
		if columns, ok := c.columnsOf(typ); ok {
			row, err := c.fill(columns, v, types.Null)
			if err != nil {
				return types.Null, err
			}
			return newRecord(typ, columns, row), nil
		}
	}
	if types.IsArray(typ) && v.kind() != '"' {
		return types.Null, pgerr.New(pgerr.InvalidTextRepresentation, expectedArray)
	}
	return types.Input(typ, typmod, v.text(), c.Env)
}

func (c *Ctx) arrayFromJSON(elem uint32, typmod int32, v populateSource) (types.Datum, error) {
	var dims []int32
	for level := v; level.kind() == '['; {
		n := int32(0)
		first := populateSource(nil)
		for e := range level.items {
			if n++; first == nil {
				first = e
			}
		}
		dims = append(dims, n)
		if first == nil || elem == types.JSONB || elem == types.JSON {
			break
		}
		level = first
	}
	var elems []types.Datum
	var collect func(v populateSource, depth int) error
	collect = func(v populateSource, depth int) error {
		if depth == len(dims) {
			if v.kind() == '[' && elem != types.JSONB && elem != types.JSON {
				return malformedJSONArray()
			}
			d, err := c.fromJSON(elem, typmod, v)
			elems = append(elems, d)
			return err
		}
		if v.kind() != '[' {
			return malformedJSONArray()
		}
		n := int32(0)
		for e := range v.items {
			n++
			if err := collect(e, depth+1); err != nil {
				return err
			}
		}
		if n != dims[depth] {
			return malformedJSONArray()
		}
		return nil
	}
	if err := collect(v, 0); err != nil {
		return types.Null, err
	}
	if len(elems) == 0 {
		return types.NewList(elem, nil), nil
	}
	lowers := make([]int32, len(dims))
	for i := range lowers {
		lowers[i] = 1
	}
	return types.NewArray(elem, dims, lowers, elems), nil
}

func malformedJSONArray() error {
	return pgerr.New(pgerr.InvalidTextRepresentation, "malformed JSON array").
		WithDetail("Multidimensional arrays must have sub-arrays with matching dimensions.")
}

func populateRecordset(name string) SetFunc {
	return func(c *Ctx, a []types.Datum, emit func([]types.Datum) error) error {
		if a[1].IsNull() {
			return nil
		}
		return c.recordset(name, a[1], a[0], c.argType(0), emit)
	}
}

func toRecordset(name string) SetFunc {
	return func(c *Ctx, a []types.Datum, emit func([]types.Datum) error) error {
		return c.recordset(name, a[0], types.Null, c.RetType, emit)
	}
}

func (c *Ctx) recordset(name string, of, base types.Datum, typ uint32, emit func([]types.Datum) error) error {
	d := sourceOf(of)
	columns, err := c.resultColumns(typ)
	if err != nil {
		return err
	}
	if d.kind() != '[' {
		what := "a non-array"
		switch {
		case of.K == types.KindJSONB:
		case d.kind() == '{':
			what = "an object"
		default:
			what = "a scalar"
		}
		return pgerr.New(pgerr.InvalidParameterValue, "cannot call %s on %s", name, what)
	}
	for v := range d.items {
		if v.kind() != '{' {
			return pgerr.New(pgerr.InvalidParameterValue, "argument of %s must be an array of objects", name)
		}
		row, err := c.fill(columns, v, base)
		if err != nil {
			return err
		}
		if err := emit(row); err != nil {
			return err
		}
	}
	return nil
}
