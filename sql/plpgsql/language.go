package plpgsql

import (
	"errors"
	"fmt"
	"sync"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/function"
	"github.com/sherddb/sherd/sql/plpgsql/syntax"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// Language is PL/pgSQL.
type Language struct{}

// Inline is the name of anonymous blocks in CONTEXT.
const Inline = "inline_code_block"

// Check implements function.Language.
func (Language) Check(d *function.Definition, a function.Analysis) error {
	_, err := compile(d, a)
	return err
}

// Compile implements function.Language.
func (Language) Compile(d *function.Definition, a function.Analysis) (function.Body, error) {
	b, err := compile(d, a)
	if err != nil {
		return nil, err
	}
	return b, nil
}

// body is a compiled routine (PL1).
type body struct {
	*syntax.Body
	d         *function.Definition
	signature string // in CONTEXT
	variables []variable
	inputs    []int // variables of the arguments of a call
	outs      []int // of the arguments that calls return
	// The columns of a row that RETURN returns, nil if they are not known. With packed they are those of
	// a composite type, whose values calls return.
	row    []query.Column
	packed bool

	mu       sync.Mutex
	prepared []*prepared // by number of the SQL
	fields   map[field]int
	table    tableShape // guarded by mu
}

// variable is what is known of a variable without a call.
type variable struct {
	function.Typed
	columns []query.Column // of a row type
	row     types.OID      // a composite type; its OID is record then
}

// field is a field of a record.
type field struct {
	variable int
	name     string
}

func compile(d *function.Definition, a function.Analysis) (*body, error) {
	b := &body{d: d, signature: Inline, fields: map[field]int{}, row: d.Columns}
	if types.IsComposite(d.Result) {
		columns, err := compositeColumns(d.Result, a)
		if err != nil {
			return nil, err
		}
		b.row, b.packed = columns, true
	}
	if d.OID != 0 || d.Name != "" {
		b.signature = d.Signature(a.Format)
	}
	r := syntax.Routine{Source: d.Source, Name: d.Name, Returns: returns(d), Trigger: isTrigger(d)}
	r.IsComposite = func(t *syntax.Type) (bool, error) {
		oid, _, columns, err := a.Type(t.Text)
		return isRow(oid) || columns != nil, err
	}
	for i := range d.Arguments {
		arg := &d.Arguments[i]
		t := syntax.Type{Record: isRow(arg.Type)}
		if arg.Type == types.RefCursor {
			t = syntax.Refcursor()
		}
		r.Parameters = append(r.Parameters, syntax.Parameter{Name: arg.Name, Type: t})
		if arg.IsInput() {
			b.inputs = append(b.inputs, i)
		}
		if arg.Mode == 'o' || arg.Mode == 'b' || arg.Mode == 't' {
			b.outs = append(b.outs, i)
		}
	}
	if r.Trigger && len(d.Arguments) > 0 {
		return nil, b.inCompilation(errTriggerArguments())
	}
	var err error
	if b.Body, err = syntax.Parse(r); err != nil {
		return nil, b.inCompilation(err)
	}
	b.prepared = make([]*prepared, len(b.SQL))
	for _, v := range b.Variables {
		own, err := b.typeOf(v, a)
		if err != nil {
			return nil, b.inCompilation(err)
		}
		b.variables = append(b.variables, own)
	}
	return b, nil
}

// returns says what the grammar has to know of the result.
func returns(d *function.Definition) syntax.Returns {
	out := syntax.Returns{Nothing: d.Result == types.Void, Set: d.Set, Procedure: d.Procedure}
	for i := range d.Arguments {
		if m := d.Arguments[i].Mode; m == 'o' || m == 'b' || m == 't' {
			out.Outs = true
		}
	}
	return out
}

// typeOf returns the type of a variable.
func (b *body) typeOf(v *syntax.Variable, a function.Analysis) (variable, error) {
	plain := func(oid types.OID) (variable, error) {
		return variable{Typed: function.Typed{OID: oid, Typmod: -1}}, nil
	}
	switch v.Special {
	case syntax.Found:
		return plain(types.Bool)
	case syntax.SQLState, syntax.SQLErrm:
		return plain(types.Text)
	case syntax.LoopInteger:
		return plain(types.Int4)
	case syntax.CaseValue:
		return plain(types.Unknown) // as the tested value is
	case syntax.TriggerInfo:
		return plain(triggerVariable(v.Name))
	}
	if v.Param > 0 {
		arg := &b.d.Arguments[v.Param-1]
		if types.IsComposite(arg.Type) {
			columns, err := compositeColumns(arg.Type, a)
			return variable{Typed: function.Typed{OID: types.Record, Typmod: -1}, columns: columns, row: arg.Type}, err
		}
		return variable{Typed: function.Typed{OID: arg.Type, Typmod: arg.Typmod}}, nil
	}
	if v.Type.Record {
		return plain(types.Record)
	}
	oid, typmod, columns, err := a.Type(v.Type.Text)
	if err != nil {
		return variable{}, err
	}
	if oid == types.Void {
		return variable{}, pgerr.New(pgerr.FeatureNotSupported,
			"variable %q has pseudo-type %s", v.Name, a.Format(oid, -1))
	}
	row := types.OID(0)
	if columns != nil {
		if types.IsComposite(oid) {
			row = oid
		}
		oid = types.Record
	}
	return variable{Typed: function.Typed{OID: oid, Typmod: typmod}, columns: columns, row: row}, nil
}

// isRow reports whether values of a type are rows.
func isRow(oid types.OID) bool { return types.KindOf(oid) == types.KindRecord }

// compositeColumns returns the columns of a composite type.
func compositeColumns(oid types.OID, a function.Analysis) ([]query.Column, error) {
	_, _, columns, err := a.Type(a.Format(oid, -1))
	return columns, err
}

// inCompilation names the place of an error that was found while a body was compiled.
func (b *body) inCompilation(err error) error {
	if pgerr.From(err).InnerQuery != "" {
		return err
	}
	name := b.d.Name
	if name == "" {
		name = Inline
	}
	line := 1
	var placed *syntax.LineError
	if errors.As(err, &placed) {
		line = placed.Line
	}
	return pgerr.InContext(err, fmt.Sprintf("compilation of PL/pgSQL function %q near line %d", name, line))
}
