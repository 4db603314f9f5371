package plpgsql

import (
	"strconv"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/function"
	"github.com/sherddb/sherd/sql/plpgsql/syntax"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

func itoa(n int) string { return strconv.Itoa(n) }

// store has the values of the variables of one call.
type store struct {
	*body
	call     *function.Call
	values   []types.Datum // of parameters of statements (PL2)
	records  []*record     // by number of the variable; nil: it is none, or not assigned
	converts map[conversion]function.Convert
	cases    map[int]function.Typed // types of tested values
	found    int                    // number of the variable FOUND
}

// evaluator evaluates the SQL of one call.
type evaluator struct {
	store
	prepared []*prepared // by number of the SQL
}

// frame is one call of a routine.
type frame struct {
	evaluator
	rows    int64
	handled *pgerr.Error // that the handler around the place handles
	steps   uint         // how many statements were run

	// The place of errors: a line, 0 for none, and what happens there.
	line int
	what string
	// The last error whose place in this call is in its CONTEXT.
	placed *placed

	leaving leaving
	label   string // of EXIT and CONTINUE
	result  types.Datum
	of      function.Typed // type of result
	text    string         // that EXECUTE runs
}

// leaving is how statements end.
type leaving uint8

const (
	goOn leaving = iota
	exits
	continues
	returned
)

type conversion struct{ from, to function.Typed }

// Call implements function.Body.
func (b *body) Call(c *function.Call) (types.Datum, error) {
	f := &frame{evaluator: evaluator{
		store: store{
			body: b, call: c, values: make([]types.Datum, len(b.variables)+4),
			records: make([]*record, len(b.variables)),
		},
		prepared: make([]*prepared, len(b.SQL)),
	}}
	if isTrigger(b.d) {
		if c.Trigger == nil {
			return types.Null, b.inCompilation(errNoTrigger())
		}
		f.setTrigger()
	}
	if err := f.begin(); err != nil {
		return types.Null, f.located(err)
	}
	if err := f.block(b.Block); err != nil {
		return types.Null, err
	}
	f.line, f.what = 0, "while casting return value to function's return type"
	if isTrigger(b.d) {
		f.what = "during function exit"
		if err := f.returnedToTrigger(); err != nil {
			return types.Null, f.located(err)
		}
		return types.Null, nil
	}
	d, err := f.returned()
	if err != nil {
		return types.Null, f.located(err)
	}
	return d, nil
}

// begin sets the variables that a call begins with.
func (f *frame) begin() error {
	f.what = "while storing call arguments into local variables"
	for i, v := range f.inputs {
		d := f.call.Args[i].Clone()
		if f.variables[v].OID != types.Record {
			f.values[v] = d
			continue
		}
		if err := f.setRow(v, d, nil); err != nil {
			return err
		}
	}
	for _, v := range f.Variables {
		if v.Special == syntax.Found {
			f.found = v.Number
		}
	}
	f.values[f.found] = types.NewBool(false)
	f.what = "during function entry"
	return nil
}

// returned returns the result of the call.
func (f *frame) returned() (types.Datum, error) {
	if f.leaving != returned {
		if f.d.OID != 0 && !f.d.Procedure && !f.d.Set && f.d.Result != types.Void && len(f.outs) == 0 {
			f.what = ""
			return types.Null, pgerr.New(pgerr.NoReturnStatement, "control reached end of function without RETURN")
		}
	}
	switch {
	case f.d.Set:
		return types.Null, nil
	case f.d.Result == types.Void && len(f.outs) == 0:
		return types.Datum{K: types.KindVoid}, nil
	case len(f.outs) > 0:
		return f.outRow(), nil
	case f.d.Result == types.Record || f.row != nil:
		return f.rowResult()
	}
	return f.convert(f.result, f.of, function.Typed{OID: f.d.Result, Typmod: f.d.Typmod})
}

// outRow returns the values of the arguments of mode OUT: one value, or a row.
func (f *frame) outRow() types.Datum {
	if len(f.outs) == 1 && f.d.Result != types.Record {
		return f.whole(f.outs[0])
	}
	fields, of := make([]types.Datum, len(f.outs)), make([]types.OID, len(f.outs))
	var names []string
	for i, v := range f.outs {
		fields[i], of[i] = f.whole(v), f.variables[v].OID
		names = append(names, f.Variables[v].Name)
	}
	return types.NewNamedRecord(of, fields, types.RecordNames(names))
}

// rowResult converts the row that RETURN returns to the columns that the caller knows.
func (f *frame) rowResult() (types.Datum, error) {
	if f.result.IsNull() || f.row == nil {
		return f.result, nil
	}
	columns, fields, err := fieldsOf(f.result, nil)
	if err != nil {
		return types.Null, err
	}
	row, err := f.rowAs(columns, fields)
	if err != nil {
		return types.Null, err
	}
	return f.rowOf(row), nil
}

// rowOf returns a row of the result as one value.
func (f *frame) rowOf(row []types.Datum) types.Datum {
	s := newShape(f.row)
	if f.packed {
		return types.NewRecord(s.types, row)
	}
	return types.NewNamedRecord(s.types, row, s.names)
}

// rowAs returns a row with the columns of the result, whose types it must have.
func (f *frame) rowAs(columns []query.Column, fields []types.Datum) ([]types.Datum, error) {
	want := f.row
	fail := func(format string, args ...any) error {
		return pgerr.New(pgerr.DatatypeMismatch, "returned record type does not match expected record type").
			WithDetail(format, args...)
	}
	if len(columns) != len(want) {
		return nil, fail("Number of returned columns (%d) does not match expected column count (%d).",
			len(columns), len(want))
	}
	for i, c := range columns {
		if format := f.call.Statements.Format; types.BaseOf(c.Type) != types.BaseOf(want[i].Type) {
			return nil, fail("Returned type %s does not match expected type %s in column %d.",
				format(c.Type, c.Typmod), format(want[i].Type, want[i].Typmod), i+1)
		}
	}
	return fields, nil
}

// whole returns the value of a variable. convert converts a value as assignments do. set assigns a
// value to a variable, or to a field of a record. setScalar assigns a value to a variable that is
// no record. setField assigns a value to a field of a record. setRow assigns a row value, or null,
// to a record. setFields assigns the fields of a row to a record. A variable of a row type takes
// as many as it has. The fields must not alias a row that is reused. shapeOf returns the shape of
// columns: that of the variable, if it is the same. typeOf returns the type of a variable that is
// no record. setFound sets FOUND.
