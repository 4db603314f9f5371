package builtin

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/jsonb"
	"github.com/sherddb/sherd/sql/types"
)

// populate is jsonb_populate_record and jsonb_to_record with their json forms. The result's columns come from the call (Ctx.Columns) or
// from the composite type.
var populate = map[string]Func{
	"jsonb_populate_record": populateRecord, "json_populate_record": populateRecord,
	"jsonb_to_record": toRecord, "json_to_record": toRecord,
}

var populateSets = map[string]SetFunc{
	"jsonb_populate_recordset": populateRecordset, "json_populate_recordset": populateRecordset,
	"jsonb_to_recordset": toRecordset, "json_to_recordset": toRecordset,
}

// docArg gives a jsonb or json argument as document.
func (c *Ctx) docArg(a []types.Datum, i int) (jsonb.Doc, error) {
	if a[i].K == types.KindJSONB {
		return doc(a[i]), nil
	}
	return jsonb.Parse(a[i].S)
}

// resultColumns gives the columns of the record to make.
func (c *Ctx) resultColumns(typ uint32) ([]Column, error) {
	if len(c.Columns) > 0 {
		return c.Columns, nil
	}
	if c.Session != nil {
		if columns, ok := c.Session.RelationColumns(typ); ok {
			return columns, nil
		}
	}
	return nil, pgerr.New(pgerr.FeatureNotSupported, "could not determine row type for result of %s", "this function").
		WithHint("Provide a non-null record argument, or call the function in the FROM clause using a column definition list.")
}

// populateRecord is not strict: a null base gives nulls for what the document lacks, a null document the base.
func populateRecord(c *Ctx, a []types.Datum) (types.Datum, error) {
	if a[1].IsNull() {
		return a[0], nil
	}
	return c.recordOf(a, 1, a[0])
}

func toRecord(c *Ctx, a []types.Datum) (types.Datum, error) { return c.recordOf(a, 0, types.Null) }

func (c *Ctx) recordOf(a []types.Datum, i int, base types.Datum) (types.Datum, error) {
	d, err := c.docArg(a, i)
	if err != nil {
		return types.Null, err
	}
	columns, err := c.resultColumns(c.RetType)
	if err != nil {
		return types.Null, err
	}
	row, err := c.fill(columns, d, base)
	if err != nil {
		return types.Null, err
	}
	return newRecord(columns, row), nil
}

func newRecord(columns []Column, row []types.Datum) types.Datum {
	oids := make([]uint32, len(columns))
	for i, col := range columns {
		oids[i] = col.Type
	}
	names := make([]string, len(columns))
	for i, col := range columns {
		names[i] = col.Name
	}
	return types.NewNamedRecord(oids, row, types.RecordNames(names))
}

// fill makes the fields of one object; base gives those that it lacks.
func (c *Ctx) fill(columns []Column, d jsonb.Doc, base types.Datum) ([]types.Datum, error) {
	if d.Kind() != jsonb.Object {
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
		v, ok := d.Get(col.Name)
		if !ok {
			continue
		}
		var err error
		if row[i], err = c.fromJSON(col.Type, col.Typmod, v); err != nil {
			return nil, err
		}
	}
	return row, nil
}

func articleOf(d jsonb.Doc) string {
	if d.Kind() == jsonb.Array {
		return "an array"
	}
	return "a scalar"
}

// fromJSON makes a value of a type from a document: arrays and composites by their parts, all else through its text.
func (c *Ctx) fromJSON(typ uint32, typmod int32, v jsonb.Doc) (types.Datum, error) {
	switch {
	case typ == types.JSONB:
		return fromDoc(v), nil
	case typ == types.JSON:
		return types.NewText(v.Text()), nil
	case v.IsNull():
		return types.Null, nil
	case types.IsArray(typ) && v.Kind() == jsonb.Array:
		return c.arrayFromJSON(types.ElemOf(typ), typmod, v)
	case v.Kind() == jsonb.Object && types.KindOf(typ) != types.KindText && c.Session != nil:
		if columns, ok := c.Session.RelationColumns(typ); ok {
			row, err := c.fill(columns, v, types.Null)
			if err != nil {
				return types.Null, err
			}
			return newRecord(columns, row), nil
		}
	}
	if types.IsArray(typ) && v.Kind() != jsonb.String {
		return types.Null, pgerr.New(pgerr.InvalidTextRepresentation, "expected JSON array")
	}
	s, _ := v.AsText()
	return types.Input(typ, typmod, s, c.Env)
}

func (c *Ctx) arrayFromJSON(elem uint32, typmod int32, v jsonb.Doc) (types.Datum, error) {
	var dims []int32
	for level := v; level.Kind() == jsonb.Array; {
		dims = append(dims, int32(level.Len()))
		next, ok := level.Index(0)
		if !ok || elem == types.JSONB || elem == types.JSON {
			break
		}
		level = next
	}
	var elems []types.Datum
	var collect func(v jsonb.Doc, depth int) error
	collect = func(v jsonb.Doc, depth int) error {
		if depth == len(dims) {
			if v.Kind() == jsonb.Array && elem != types.JSONB && elem != types.JSON {
				return malformedJSONArray()
			}
			d, err := c.fromJSON(elem, typmod, v)
			elems = append(elems, d)
			return err
		}
		if v.Kind() != jsonb.Array || v.Len() != int(dims[depth]) {
			return malformedJSONArray()
		}
		for _, e := range v.Elements() {
			if err := collect(e, depth+1); err != nil {
				return err
			}
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

func populateRecordset(c *Ctx, a []types.Datum, emit func([]types.Datum) error) error {
	if a[1].IsNull() {
		return nil
	}
	return c.recordset(a, 1, a[0], c.argType(0), emit)
}

func toRecordset(c *Ctx, a []types.Datum, emit func([]types.Datum) error) error {
	return c.recordset(a, 0, types.Null, c.RetType, emit)
}

func (c *Ctx) recordset(a []types.Datum, i int, base types.Datum, typ uint32, emit func([]types.Datum) error) error {
	d, err := c.docArg(a, i)
	if err != nil {
		return err
	}
	columns, err := c.resultColumns(typ)
	if err != nil {
		return err
	}
	if d.Kind() != jsonb.Array {
		return pgerr.New(pgerr.InvalidParameterValue, "cannot call populate_recordset on %s", map[bool]string{true: "an object", false: "a scalar"}[d.Kind() == jsonb.Object])
	}
	for _, v := range d.Elements() {
		if v.Kind() != jsonb.Object {
			return pgerr.New(pgerr.InvalidParameterValue, "argument of populate_recordset must be an array of objects")
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
