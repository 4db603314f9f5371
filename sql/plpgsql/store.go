package plpgsql

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/function"
	"github.com/sherddb/sherd/sql/plpgsql/syntax"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

func (f *store) whole(v int) types.Datum {
	if f.variables[v].OID == types.Record {
		return f.records[v].datum()
	}
	return f.values[v]
}

func (f *store) convert(d types.Datum, from, to function.Typed) (types.Datum, error) {
	if from == to || from.OID == to.OID && to.Typmod < 0 && !types.IsDomain(to.OID) {
		return d, nil
	}
	if types.IsComposite(to.OID) && from.OID == types.Record && !d.IsNull() {
		return f.convertRow(d, to)
	}
	key := conversion{from, to}
	c, ok := f.converts[key]
	if !ok {
		var err error
		if c, err = f.call.Statements.Conversion(from, to); err != nil {
			return types.Null, err
		}
		if f.converts == nil {
			f.converts = map[conversion]function.Convert{}
		}
		f.converts[key] = c
	}
	if c == nil {
		return d, nil
	}
	return c(f.call.Context, f.call.Values, d)
}

// convertRow converts a row to a composite type, field by field.
func (f *store) convertRow(d types.Datum, to function.Typed) (types.Datum, error) {
	want, err := compositeColumns(to.OID, f.call.Statements)
	if err != nil {
		return types.Null, err
	}
	columns, fields, err := fieldsOf(d, nil)
	if err != nil {
		return types.Null, err
	}
	if len(fields) != len(want) {
		return types.Null, pgerr.New(pgerr.DatatypeMismatch, "cannot assign a row of %d columns to one of %d",
			len(fields), len(want))
	}
	s := newShape(want)
	for i, c := range columns {
		from := function.Typed{OID: c.Type, Typmod: c.Typmod}
		if fields[i], err = f.convert(fields[i], from, s.typed(i)); err != nil {
			return types.Null, err
		}
	}
	return types.NewRecord(s.types, fields), nil
}

func (f *store) set(t *syntax.Target, d types.Datum, from function.Typed, columns []query.Column) error {
	v := t.Variable.Number
	switch {
	case t.Field != "":
		return f.setField(t, d, from)
	case f.variables[v].OID == types.Record:
		if !d.IsNull() && !isRow(from.OID) {
			return pgerr.New(pgerr.DatatypeMismatch, "cannot assign non-composite value to a record variable")
		}
		return f.setRow(v, d, columns)
	}
	return f.setScalar(t.Variable, d, from)
}

func (f *store) setScalar(v *syntax.Variable, d types.Datum, from function.Typed) error {
	if v.Special == syntax.CaseValue {
		if f.cases == nil {
			f.cases = map[int]function.Typed{}
		}
		f.cases[v.Number] = from
	}
	to := f.typeOf(v.Number)
	d, err := f.convert(d, from, to)
	if err != nil {
		return err
	}
	if v.NotNull && d.IsNull() {
		return pgerr.New(pgerr.NullValueNotAllowed,
			"null value cannot be assigned to variable %q declared NOT NULL", v.Name)
	}
	f.values[v.Number] = d.Clone()
	return nil
}

func (f *store) setField(t *syntax.Target, d types.Datum, from function.Typed) error {
	r := f.records[t.Variable.Number]
	if r == nil {
		return notAssigned(t.Variable.Name)
	}
	i := r.shape.find(t.Field)
	if i < 0 {
		return noField(t.Variable.Name, t.Field)
	}
	d, err := f.convert(d, from, r.shape.typed(i))
	if err != nil {
		return err
	}
	r.fields[i], r.null = d.Clone(), false
	return nil
}

func (f *store) setRow(v int, d types.Datum, columns []query.Column) error {
	declared := f.variables[v].columns
	if d.IsNull() {
		switch {
		case f.Variables[v].NotNull:
			return pgerr.New(pgerr.NullValueNotAllowed,
				"null value cannot be assigned to variable %q declared NOT NULL", f.Variables[v].Name)
		case declared != nil:
			f.records[v] = nullRecord(f.shapeOf(v, declared))
		case columns != nil:
			f.records[v] = nullRecord(f.shapeOf(v, columns))
		case f.records[v] != nil:
			f.records[v] = nullRecord(f.records[v].shape)
		}
		return nil
	}
	columns, fields, err := fieldsOf(d, columns)
	if err != nil {
		return err
	}
	return f.setFields(v, columns, fields)
}

func (f *store) setFields(v int, columns []query.Column, fields []types.Datum) error {
	declared := f.variables[v].columns
	if declared == nil {
		f.records[v] = &record{shape: f.shapeOf(v, columns), fields: fields}
		return nil
	}
	r := nullRecord(f.shapeOf(v, declared))
	r.null = false
	for i := range min(len(fields), len(declared)) {
		var err error
		from := function.Typed{OID: columns[i].Type, Typmod: columns[i].Typmod}
		if r.fields[i], err = f.convert(fields[i], from, r.shape.typed(i)); err != nil {
			return err
		}
	}
	f.records[v] = r
	return nil
}

func (f *store) shapeOf(v int, columns []query.Column) *shape {
	if r := f.records[v]; r != nil && r.shape.same(columns) {
		return r.shape
	}
	return newShape(columns)
}

func (f *store) typeOf(v int) function.Typed {
	if t, ok := f.cases[v]; ok {
		return t
	}
	return f.variables[v].Typed
}

func (f *store) setFound(found bool) { f.values[f.found] = types.NewBool(found) }
