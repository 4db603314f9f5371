package plpgsql

import (
	"errors"
	"slices"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/function"
	"github.com/sherddb/sherd/sql/plpgsql/syntax"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// prepared is an analyzed statement of a body. It is not changed.
type prepared struct {
	st      function.Statement
	columns []query.Column
	depends []dependency
	loads   []load
}

// dependency is the shape of a record by which a statement was analyzed (PL3).
type dependency struct {
	variable int
	columns  []query.Column // nil: it was not assigned
	typed    function.Typed // of a variable whose type is not declared
}

// load is a parameter whose value has to be taken from a record before a statement runs.
type load struct {
	value    int // in frame.values
	variable int
	field    int // -1: the whole row
}

// fits reports whether the statement may run with the records as they are.
func (p *prepared) fits(f *evaluator) bool {
	if f.call.Statements.IsStale(p.st) {
		return false
	}
	for i := range p.depends {
		d := &p.depends[i]
		r := f.records[d.variable]
		switch {
		case f.variables[d.variable].OID != types.Record:
			if f.typeOf(d.variable) != d.typed {
				return false
			}
		case r == nil:
			if d.columns != nil {
				return false
			}
		case !r.shape.same(d.columns):
			return false
		}
	}
	return true
}

// ready returns a statement of the body, analyzed for the records as they are. analyze does that.
func (f *evaluator) ready(s *syntax.SQL, analyze func(vars *names) (function.Statement, error)) (*prepared, error) {
	if p := f.prepared[s.Number]; p != nil && p.fits(f) {
		return p, nil
	}
	f.mu.Lock()
	p := f.body.prepared[s.Number]
	f.mu.Unlock()
	if p == nil || !p.fits(f) {
		var err error
		if p, err = f.analyzed(s, analyze); err != nil {
			return nil, err
		}
		f.mu.Lock()
		f.body.prepared[s.Number] = p
		f.mu.Unlock()
	}
	f.grow(p)
	f.prepared[s.Number] = p
	return p, nil
}

// analyzed analyzes a statement.
func (f *evaluator) analyzed(s *syntax.SQL, analyze func(vars *names) (function.Statement, error)) (*prepared, error) {
	vars := &names{body: f.body, f: f, visible: s.Names, p: &prepared{}, means: f.conflict()}
	st, err := analyze(vars)
	if vars.err != nil && (pgerr.Is(err, pgerr.UndefinedColumn) || pgerr.Is(err, pgerr.UndefinedTable)) {
		err = vars.err
	}
	if err != nil {
		return nil, inSQL(err, s, true)
	}
	vars.f = nil // what the analysis depends on is noted
	p := vars.p
	p.st, p.columns = st, st.Columns()
	params := st.Params()
	p.loads = slices.DeleteFunc(p.loads, func(l load) bool { return !slices.Contains(params, l.value+1) })
	return p, nil
}

// grow makes room for the values of a statement's parameters.
func (f *evaluator) grow(p *prepared) {
	for _, n := range p.st.Params() {
		for len(f.values) < n {
			f.values = append(f.values, types.Null)
		}
	}
}

// fill takes the values of records into the parameters of a statement.
func (f *evaluator) fill(p *prepared) {
	for _, l := range p.loads {
		r := f.records[l.variable]
		switch {
		case l.field < 0:
			f.values[l.value] = r.datum()
		default:
			f.values[l.value] = r.fields[l.field]
		}
	}
}

// query analyzes a statement or an expression.
func (f *evaluator) query(s *syntax.SQL) (*prepared, error) {
	return f.ready(s, func(vars *names) (function.Statement, error) {
		return f.call.Statements.Prepare(s.Parsed(), vars)
	})
}

// value returns the value of an expression.
func (f *evaluator) value(s *syntax.SQL) (types.Datum, *prepared, error) {
	p, err := f.query(s)
	if err != nil {
		return types.Null, nil, err
	}
	if len(p.columns) != 1 {
		return types.Null, nil, pgerr.New(pgerr.SyntaxError, "query returned %d columns", len(p.columns)).
			WithDetail("%s", describe(s))
	}
	d, err := f.evaluate(s, p)
	return d, p, err
}

// evaluate returns the value of an analyzed expression.
func (f *evaluator) evaluate(s *syntax.SQL, p *prepared) (types.Datum, error) {
	if len(p.loads) > 0 {
		f.fill(p)
	}
	d, err := f.call.Statements.Value(f.call.Context, p.st, f.values)
	if err != nil {
		constant := len(p.st.Params()) == 0 && pgerr.From(err).Where == "" // PostgreSQL fails in its planner
		return types.Null, inSQL(err, s, constant)
	}
	return d, nil
}

// typed returns the type of an expression's value.
func (p *prepared) typed() function.Typed {
	return function.Typed{OID: p.columns[0].Type, Typmod: p.columns[0].Typmod}
}

// condition returns whether an expression is true.
func (f *evaluator) condition(s *syntax.SQL) (bool, error) {
	d, p, err := f.value(s)
	if err != nil {
		return false, err
	}
	if p.columns[0].Type != types.Bool {
		if d, err = f.convert(d, p.typed(), function.Typed{OID: types.Bool, Typmod: -1}); err != nil {
			return false, err
		}
	}
	return d.Bool(), nil
}

// textOf returns the text of an expression's value; null is reported by ok.
func (f *evaluator) textOf(s *syntax.SQL) (text string, ok bool, err error) {
	d, p, err := f.value(s)
	if err != nil || d.IsNull() {
		return "", false, err
	}
	if types.KindOf(p.columns[0].Type) != types.KindText {
		return string(types.AppendOutput(nil, p.columns[0].Type, d, f.call.Values)), true, nil
	}
	return d.Str(), true, nil
}

// integer returns the integer of an expression's value. what names the value if it is null.
func (f *evaluator) integer(s *syntax.SQL, null string) (int64, error) {
	d, p, err := f.value(s)
	if err != nil {
		return 0, err
	}
	if d, err = f.convert(d, p.typed(), function.Typed{OID: types.Int4, Typmod: -1}); err != nil {
		return 0, err
	}
	if d.IsNull() {
		return 0, pgerr.New(pgerr.NullValueNotAllowed, "%s", null)
	}
	return d.Int(), nil
}

// inSQL places an error of a statement in a body: by its position in the text, or by the text in
// CONTEXT if named is set.
func inSQL(err error, s *syntax.SQL, named bool) error {
	e := *pgerr.From(err)
	switch {
	case e.InnerPosition > 0 || e.InnerQuery != "" || errors.Is(err, function.ErrTransaction):
		return err
	case e.Position > 0:
		e.InnerPosition, e.InnerQuery, e.Position = s.Position(e.Position), s.Text, 0
	case named:
		return pgerr.InContext(err, describe(s))
	default:
		return err
	}
	return &e
}

// describe returns a statement as CONTEXT has it.
func describe(s *syntax.SQL) string {
	kind := "SQL statement"
	switch s.Kind {
	case syntax.Expression:
		kind = "SQL expression"
	case syntax.Assignment:
		kind = "PL/pgSQL assignment"
	}
	return kind + ` "` + strings.TrimSpace(s.Text) + `"`
}

// names finds variables for the analysis of one statement. It notes what the statement depends on,
// so that a later analysis of the same statement sees the same variables.
type names struct {
	*body
	f       *evaluator // nil after the first analysis
	visible *syntax.Names
	p       *prepared
	means   function.Conflict
	err     error
}

// Find implements function.Names.
func (n *names) Find(parts []string) (function.Variable, bool) {
	v, used := n.visible.Find(parts)
	if v == nil {
		return function.Variable{}, false
	}
	rest := parts[used:]
	if !v.Composite {
		if len(rest) > 0 {
			return function.Variable{}, false
		}
		return n.scalar(v), true
	}
	if len(rest) == 0 {
		return n.row(v), true
	}
	if len(rest) > 1 {
		return function.Variable{}, false
	}
	return n.fieldOf(v, rest[0])
}

// Numbered implements function.Names.
func (n *names) Numbered(i int) (function.Variable, bool) { return n.Find([]string{"$" + itoa(i)}) }

// Conflict implements function.Names.
func (n *names) Conflict() function.Conflict { return n.means }

// scalar returns a variable that is no record.
func (n *names) scalar(v *syntax.Variable) function.Variable {
	own := n.variables[v.Number].Typed
	if v.Special == syntax.CaseValue {
		own = n.dependsOn(v).typed
	}
	return function.Variable{N: v.Number + 1, Type: own.OID, Typmod: own.Typmod}
}

// row returns the variable of a whole record.
func (n *names) row(v *syntax.Variable) function.Variable {
	columns := n.dependsOn(v).columns
	n.load(load{value: v.Number, variable: v.Number, field: -1})
	typ := types.Record
	if own := n.variables[v.Number].row; own != 0 {
		typ = own
	}
	return function.Variable{N: v.Number + 1, Type: typ, Typmod: -1, Columns: columns}
}

// fieldOf returns the variable of a field of a record.
func (n *names) fieldOf(v *syntax.Variable, name string) (function.Variable, bool) {
	columns := n.dependsOn(v).columns
	if columns == nil {
		n.err = notAssigned(v.Name)
		return function.Variable{}, false
	}
	i := fieldNumber(columns, name)
	if i < 0 {
		n.err = noField(v.Name, name)
		return function.Variable{}, false
	}
	at := n.slot(field{v.Number, name})
	n.load(load{value: at, variable: v.Number, field: i})
	c := &columns[i]
	return function.Variable{N: at + 1, Type: c.Type, Typmod: c.Typmod}, true
}

// load notes a parameter that has to be taken from a record.
func (n *names) load(l load) {
	if n.f != nil {
		n.p.loads = append(n.p.loads, l)
	}
}

// dependsOn returns what the statement depends on of a variable, and notes it.
func (n *names) dependsOn(v *syntax.Variable) dependency {
	for _, d := range n.p.depends {
		if d.variable == v.Number {
			return d
		}
	}
	d := dependency{variable: v.Number}
	if n.f == nil {
		return d
	}
	if n.variables[v.Number].OID != types.Record {
		d.typed = n.f.typeOf(v.Number)
	} else if r := n.f.records[v.Number]; r != nil {
		d.columns = r.shape.columns
	}
	n.p.depends = append(n.p.depends, d)
	return d
}

// slot returns the place of a field's value among the values of parameters (PL2).
func (b *body) slot(x field) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	at, ok := b.fields[x]
	if !ok {
		at = len(b.variables) + len(b.fields)
		b.fields[x] = at
	}
	return at
}
