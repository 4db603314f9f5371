package plpgsql

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/function"
	"github.com/sherddb/sherd/sql/plpgsql/syntax"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// isTrigger reports whether a definition is that of a trigger function.
func isTrigger(d *function.Definition) bool { return d.Result == types.TriggerType }

func errTriggerArguments() error {
	return pgerr.New(pgerr.InvalidFunctionDefinition, "trigger functions cannot have declared arguments").
		WithHint("The arguments of the trigger can be accessed through TG_NARGS and TG_ARGV instead.")
}

func errNoTrigger() error {
	return pgerr.New(pgerr.FeatureNotSupported, "trigger functions can only be called as triggers")
}

// triggerVariable returns the type of a variable of trigger functions.
func triggerVariable(name string) types.OID {
	switch name {
	case "new", "old":
		return types.Record
	case "tg_relid":
		return types.Oid
	case "tg_nargs":
		return types.Int4
	case "tg_argv":
		return types.TextArray
	case "tg_name", "tg_relname", "tg_table_name", "tg_table_schema":
		return types.Name
	}
	return types.Text
}

// setTrigger sets the variables of a trigger function.
func (f *frame) setTrigger() {
	t := f.call.Trigger
	texts := map[string]string{
		"tg_name": t.Name, "tg_when": t.When, "tg_level": t.Level, "tg_op": t.Op, "tg_relname": t.Table,
		"tg_table_name": t.Table, "tg_table_schema": t.TableSchema,
	}
	for _, v := range f.Variables {
		if v.Special != syntax.TriggerInfo {
			continue
		}
		switch v.Name {
		case "new":
			f.setTriggerRow(v.Number, t.New)
		case "old":
			f.setTriggerRow(v.Number, t.Old)
		case "tg_relid":
			f.values[v.Number] = types.NewInt(int64(t.Relation))
		case "tg_nargs":
			f.values[v.Number] = types.NewInt(int64(len(t.Args)))
		case "tg_argv":
			f.values[v.Number] = triggerArguments(t.Args)
		default:
			f.values[v.Number] = types.NewText(texts[v.Name])
		}
	}
}

// triggerArguments returns TG_ARGV, whose first element has number 0.
func triggerArguments(args []string) types.Datum {
	if len(args) == 0 {
		return types.Null
	}
	elems := make([]types.Datum, len(args))
	for i, a := range args {
		elems[i] = types.NewText(a)
	}
	return types.NewArray(types.Text, []int32{int32(len(elems))}, []int32{0}, elems)
}

// setTriggerRow sets NEW or OLD, which has the columns of the table that are not dropped.
func (f *frame) setTriggerRow(v int, row []types.Datum) {
	s := f.body.triggerShape(f.call.Trigger.Columns)
	if row == nil {
		f.records[v] = nullRecord(s)
		return
	}
	fields := make([]types.Datum, 0, len(s.columns))
	for i, c := range f.call.Trigger.Columns {
		if !c.Dropped {
			fields = append(fields, row[i].Clone())
		}
	}
	f.records[v] = &record{shape: s, fields: fields}
}

// triggerShape returns the shape of the rows of a table. Calls for one table share it.
func (b *body) triggerShape(columns []query.Column) *shape {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(columns) > 0 && b.table.of == &columns[0] {
		return b.table.shape
	}
	var kept []query.Column
	for _, c := range columns {
		if !c.Dropped {
			kept = append(kept, c)
		}
	}
	if s := newShape(kept); len(columns) > 0 {
		b.table.of, b.table.shape = &columns[0], s
	} else {
		return s
	}
	return b.table.shape
}

// tableShape is the shape of the rows of the table whose trigger has called last.
type tableShape struct {
	of    *query.Column // the first of the columns
	shape *shape
}

// returnedToTrigger sets the row that the function has returned.
func (f *frame) returnedToTrigger() error {
	t := f.call.Trigger
	if f.leaving != returned {
		f.what = ""
		return pgerr.New(pgerr.NoReturnStatement, "control reached end of trigger procedure without RETURN")
	}
	if f.result.IsNull() || t.Level != "ROW" {
		return nil
	}
	columns, fields, err := fieldsOf(f.result, nil)
	if err != nil {
		return err
	}
	want := f.body.triggerShape(t.Columns)
	mismatch := func(format string, args ...any) error {
		return pgerr.New(pgerr.DatatypeMismatch,
			"returned row structure does not match the structure of the triggering table").WithDetail(format, args...)
	}
	if len(columns) != len(want.columns) {
		return mismatch("Number of returned columns (%d) does not match expected column count (%d).",
			len(columns), len(want.columns))
	}
	for i, c := range columns {
		if w := want.columns[i]; types.BaseOf(c.Type) != types.BaseOf(w.Type) {
			format := f.call.Statements.Format
			return mismatch("Returned type %s does not match expected type %s in column %d.",
				format(c.Type, c.Typmod), format(w.Type, w.Typmod), i+1)
		}
	}
	t.Result = make([]types.Datum, 0, len(t.Columns))
	for _, c := range t.Columns {
		if c.Dropped {
			t.Result = append(t.Result, types.Null)
			continue
		}
		t.Result, fields = append(t.Result, fields[0]), fields[1:]
	}
	return nil
}
