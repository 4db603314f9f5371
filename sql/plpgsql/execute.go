package plpgsql

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/function"
	"github.com/sherddb/sherd/sql/plpgsql/syntax"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// inRun places an error of a running statement.
func (f *frame) inRun(err error, s *syntax.SQL) error {
	if err == nil || s == nil {
		return err
	}
	return inSQL(err, s, true)
}

// execute runs a statement of SQL.
func (f *frame) execute(s *syntax.Execute) error {
	p, err := f.query(s.Query)
	if err != nil {
		return err
	}
	f.fill(p)
	if s.Into != nil {
		if p.columns == nil {
			return pgerr.New(pgerr.SyntaxError, "INTO used with a command that cannot return data")
		}
		return f.executeInto(s.Into, p, f.values, s.Query, returnsModified(p.st.Tag()))
	}
	if s.Called {
		return f.executeCall(s, p)
	}
	r, err := f.call.Statements.Run(f.call.Context, p.st, f.values, nil)
	if err != nil {
		return f.inRun(err, s.Query)
	}
	f.finished(p, r.Rows)
	if p.columns != nil {
		return noDestination(p)
	}
	return nil
}

// noDestination is the error of a statement that returns rows which have no target.
func noDestination(p *prepared) error {
	e := pgerr.New(pgerr.SyntaxError, "query has no destination for result data")
	if p.st.Tag() == "SELECT" {
		e = e.WithHint("If you want to discard the results of a SELECT, use PERFORM instead.")
	}
	return e
}

// finished sets FOUND and ROW_COUNT after a statement.
func (f *frame) finished(p *prepared, rows int64) {
	f.rows = rows
	switch p.st.Tag() {
	case "SELECT", "INSERT", "UPDATE", "DELETE", "MERGE":
		f.setFound(rows > 0)
	}
}

// returnsModified reports whether a statement's rows are those that it has written.
func returnsModified(tag string) bool { return tag == "INSERT" || tag == "UPDATE" || tag == "DELETE" }

// executeCall runs CALL and DO.
func (f *frame) executeCall(s *syntax.Execute, p *prepared) error {
	if p.columns != nil {
		return pgerr.Unsupported("CALL of a procedure with OUT arguments is not supported in PL/pgSQL yet").
			WithHint("Use a function that returns a row.")
	}
	_, err := f.call.Statements.Run(f.call.Context, p.st, f.values, nil)
	return f.inRun(err, s.Query)
}

// perform runs PERFORM.
func (f *frame) perform(s *syntax.Perform) error {
	p, err := f.query(s.Query)
	if err != nil {
		return err
	}
	f.fill(p)
	r, err := f.call.Statements.Run(f.call.Context, p.st, f.values, nil)
	if err != nil {
		return f.inRun(err, s.Query)
	}
	f.rows = r.Rows
	f.setFound(r.Rows > 0)
	return nil
}

// executeInto runs a statement whose first row goes to a target. modified reports whether it
// writes: then more than one row is an error.
func (f *frame) executeInto(
	into *syntax.Into, p *prepared, args []types.Datum, s *syntax.SQL, modified bool,
) error {
	var row []types.Datum
	rows := int64(0)
	one, checked := into.Strict || modified, f.checks(manyRows)
	r, err := f.call.Statements.Run(f.call.Context, p.st, args, func(r []types.Datum) error {
		rows++
		switch {
		case rows == 1:
			row = clone(r)
			if !one && !checked {
				return function.Stop
			}
		case !modified:
			return function.Stop
		}
		return nil
	})
	if err != nil {
		return f.inRun(err, s)
	}
	if modified {
		rows = r.Rows
	}
	if rows > 1 && !one {
		if err := f.extra(manyRows, "query returned more than one row", pgerr.TooManyRows,
			"Make sure the query returns a single row, or use LIMIT 1."); err != nil {
			return err
		}
	}
	switch {
	case rows == 0 && into.Strict:
		return f.withParameters(pgerr.New(pgerr.NoDataFound, "query returned no rows"), p, args)
	case rows > 1 && one:
		e := pgerr.New(pgerr.TooManyRows, "query returned more than one row")
		return f.withParameters(e, p, args).WithHint("Make sure the query returns a single row, or use LIMIT 1.")
	}
	f.finished(p, rows)
	if s != nil {
		f.setFound(rows > 0)
	}
	return f.into(into, p.columns, row)
}

// withParameters adds the values of a statement's parameters to an error of INTO STRICT, if
// print_strict_params is on.
func (f *frame) withParameters(e *pgerr.Error, p *prepared, args []types.Datum) *pgerr.Error {
	on, known := f.setting("plpgsql.print_strict_params")
	print := known && on == "on"
	if f.PrintStrict != nil {
		print = *f.PrintStrict
	}
	if !print {
		return e
	}
	var list []string
	for _, n := range p.st.Params() {
		list = append(list, f.parameterText(n, args))
	}
	if len(list) == 0 {
		return e
	}
	return e.WithDetail("parameters: %s", strings.Join(list, ", "))
}

// parameterText returns name='value' of a parameter.
func (f *evaluator) parameterText(n int, args []types.Datum) string {
	name, of := "$"+strconv.Itoa(n), types.OID(types.Text)
	if n <= len(f.variables) {
		name, of = f.Variables[n-1].Name, f.typeOf(n-1).OID
	}
	if d := args[n-1]; !d.IsNull() {
		text := string(types.AppendOutput(nil, of, d, f.call.Values))
		return name + "='" + strings.ReplaceAll(text, "'", "''") + "'"
	}
	return name + "=NULL"
}

// into assigns a row to a target; row is nil if there is none: then all becomes null.
func (f *evaluator) into(into *syntax.Into, columns []query.Column, row []types.Datum) error {
	if into.Record == nil {
		if err := f.countTargets(len(into.Fields), columns); err != nil {
			return err
		}
		return f.fields(into.Fields, columns, row)
	}
	v := into.Record.Number
	if declared := f.variables[v].columns; declared != nil && !isOneRow(columns) {
		if err := f.countTargets(len(declared), columns); err != nil {
			return err
		}
	}
	if row == nil { // fields that are null, not a row that is
		return f.setFields(v, columns, make([]types.Datum, len(columns)))
	}
	if isOneRow(columns) && f.variables[v].columns != nil {
		return f.setRow(v, row[0], nil)
	}
	return f.setFields(v, columns, clone(row))
}

// fields assigns the columns of a row to targets. Targets without a column become null.
func (f *evaluator) fields(targets []syntax.Target, columns []query.Column, row []types.Datum) error {
	for i := range targets {
		d, of := types.Null, function.Typed{OID: types.Unknown, Typmod: -1}
		if i < len(row) {
			d, of = row[i], function.Typed{OID: columns[i].Type, Typmod: columns[i].Typmod}
		}
		if err := f.set(&targets[i], d, of, nil); err != nil {
			return err
		}
	}
	return nil
}

// intoValue assigns one value to a target.
func (f *evaluator) intoValue(into *syntax.Into, d types.Datum, of function.Typed) error {
	if into.Record != nil {
		return f.set(&syntax.Target{Variable: into.Record}, d, of, nil)
	}
	return f.set(&into.Fields[0], d, of, nil)
}

// scalarTarget returns the variable that is the only target.
func (f *evaluator) scalarTarget(into *syntax.Into) (v int, ok bool) {
	if into.Record != nil || len(into.Fields) != 1 || into.Fields[0].Field != "" {
		return 0, false
	}
	return into.Fields[0].Variable.Number, true
}

// clone copies a row, whose values do not alias it.
func clone(row []types.Datum) []types.Datum {
	out := slices.Clone(row)
	for i := range out {
		out[i] = out[i].Clone()
	}
	return out
}

// dynamic runs EXECUTE.
func (f *frame) dynamic(s *syntax.Dynamic) error {
	p, args, err := f.dynamicQuery(s.Query, s.Using)
	if err != nil {
		return err
	}
	text := &syntax.SQL{Text: f.text}
	if s.Into == nil {
		r, err := f.call.Statements.Run(f.call.Context, p.st, args, nil)
		if err != nil {
			return inSQL(err, text, true)
		}
		f.rows = r.Rows
		return nil
	}
	if p.columns == nil {
		return pgerr.New(pgerr.SyntaxError, "INTO used with a command that cannot return data")
	}
	found := f.values[f.found] // EXECUTE leaves it
	err = f.executeInto(s.Into, p, args, text, returnsModified(p.st.Tag()))
	f.values[f.found] = found
	return err
}

// dynamicQuery analyzes a text that is known only now, and evaluates its arguments. It notes the
// text.
func (f *frame) dynamicQuery(text *syntax.SQL, using []*syntax.SQL) (*prepared, []types.Datum, error) {
	source, ok, err := f.textOf(text)
	if err != nil {
		return nil, nil, err
	}
	if !ok {
		return nil, nil, pgerr.New(pgerr.NullValueNotAllowed, "query string argument of EXECUTE is null")
	}
	vars := &arguments{}
	args := make([]types.Datum, len(using))
	for i, e := range using {
		d, p, err := f.value(e)
		if err != nil {
			return nil, nil, err
		}
		of := p.typed()
		if of.OID == types.Unknown {
			of.OID = types.Text
		}
		args[i] = d.Clone()
		vars.types = append(vars.types, function.Variable{N: i + 1, Type: of.OID, Typmod: -1})
	}
	f.text = source
	st, err := f.call.Statements.Prepare(source, vars)
	if errors.Is(err, function.ErrTransaction) {
		return nil, nil, pgerr.New(pgerr.FeatureNotSupported, "EXECUTE of transaction commands is not implemented")
	}
	if err != nil {
		return nil, nil, inSQL(err, &syntax.SQL{Text: source}, true)
	}
	return &prepared{st: st, columns: st.Columns()}, args, nil
}

// arguments are the parameters $1, $2 … of EXECUTE … USING.
type arguments struct{ types []function.Variable }

// Find implements function.Names.
func (*arguments) Find([]string) (function.Variable, bool) { return function.Variable{}, false }

// Numbered implements function.Names.
func (a *arguments) Numbered(n int) (function.Variable, bool) {
	if n < 1 || n > len(a.types) {
		return function.Variable{}, false
	}
	return a.types[n-1], true
}

// Conflict implements function.Names.
func (*arguments) Conflict() function.Conflict { return function.PreferColumn }

// returnNext runs RETURN NEXT.
func (f *frame) returnNext(s *syntax.ReturnNext) error {
	if s.Value == nil {
		row := make([]types.Datum, len(f.outs))
		for i, v := range f.outs {
			row[i] = f.whole(v)
		}
		return f.call.Emit(row)
	}
	d, p, err := f.value(s.Value)
	if err != nil {
		return err
	}
	if f.row == nil && f.d.Result != types.Record {
		if d, err = f.convert(d, p.typed(), function.Typed{OID: f.d.Result, Typmod: f.d.Typmod}); err != nil {
			return err
		}
		return f.call.Emit([]types.Datum{d})
	}
	switch {
	case d.IsNull() && f.packed:
		return f.call.Emit([]types.Datum{types.Null})
	case d.IsNull():
		return f.call.Emit(make([]types.Datum, len(f.row)))
	case !isRow(p.columns[0].Type):
		return pgerr.New(pgerr.DatatypeMismatch,
			"cannot return non-composite value from function returning composite type")
	}
	columns, fields, err := fieldsOf(d, nil)
	if err != nil {
		return err
	}
	return f.emitRow(columns, fields)
}

// emitRow returns a row of a set, converted to the columns of the result.
func (f *frame) emitRow(columns []query.Column, fields []types.Datum) error {
	if f.row == nil { // a record whose columns the caller does not know is one value
		s := newShape(columns)
		return f.call.Emit([]types.Datum{types.NewNamedRecord(s.types, fields, s.names)})
	}
	row, err := f.rowAs(columns, fields)
	if err != nil {
		return err
	}
	if f.packed {
		return f.call.Emit([]types.Datum{f.rowOf(row)})
	}
	return f.call.Emit(row)
}

// returnQuery runs RETURN QUERY.
func (f *frame) returnQuery(s *syntax.ReturnQuery) error {
	p, args, err := f.rowsOf(&syntax.ForRows{Query: s.Query, Text: s.Text, Args: s.Using})
	if err != nil {
		return err
	}
	if p.columns == nil {
		return pgerr.New(pgerr.SyntaxError, "cannot open %s query as cursor", p.st.Tag())
	}
	if err := f.checkReturned(p.columns); err != nil {
		return err
	}
	scalar := f.row == nil && f.d.Result != types.Record
	r, err := f.call.Statements.Run(f.call.Context, p.st, args, func(row []types.Datum) error {
		if !scalar {
			return f.emitRow(p.columns, row)
		}
		return f.call.Emit(row[:1])
	})
	if err != nil {
		return f.inRun(err, s.Query)
	}
	f.rows = r.Rows
	f.setFound(r.Rows > 0)
	return nil
}

// checkReturned refuses a query whose columns are not those of the result.
func (f *frame) checkReturned(columns []query.Column) error {
	fail := func(format string, args ...any) error {
		return pgerr.New(pgerr.DatatypeMismatch, "structure of query does not match function result type").
			WithDetail(format, args...)
	}
	want := f.row
	if want == nil {
		if f.d.Result == types.Record {
			return nil
		}
		want = []query.Column{{Type: f.d.Result, Typmod: f.d.Typmod}}
	}
	if len(columns) != len(want) {
		return fail("Number of returned columns (%d) does not match expected column count (%d).",
			len(columns), len(want))
	}
	for i, c := range columns {
		if c.Type != want[i].Type {
			format := f.call.Statements.Format
			return fail("Returned type %s does not match expected type %s in column %d.",
				format(c.Type, c.Typmod), format(want[i].Type, want[i].Typmod), i+1)
		}
	}
	return nil
}

// isOneRow reports whether rows of a query are one value that is a row.
func isOneRow(columns []query.Column) bool {
	return len(columns) == 1 && columns[0].Type == types.Record
}
