package plpgsql

import (
	"errors"
	"fmt"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/function"
	"github.com/sherddb/sherd/sql/plpgsql/syntax"
	"github.com/sherddb/sherd/sql/types"
)

// located adds the place in this call to the CONTEXT of an error, once.
func (f *frame) located(err error) error {
	if f.isPlaced(err) {
		return err
	}
	f.placed = &placed{pgerr.From(pgerr.InContext(err, f.place())), err}
	return f.placed
}

func (f *frame) isPlaced(err error) bool {
	var p *placed
	return errors.As(err, &p) && p == f.placed
}

// placed is an error with more CONTEXT than the one that it was made of.
type placed struct {
	err  *pgerr.Error
	from error // nil: err was made of no other
}

// Error implements error.
func (p *placed) Error() string { return p.err.Error() }

// Unwrap returns both errors: the cause decides whether the statement that calls is run again.
func (p *placed) Unwrap() []error {
	if p.from == nil {
		return []error{p.err}
	}
	return []error{p.err, p.from}
}

// place returns the line of CONTEXT of this call.
func (f *frame) place() string {
	s := "PL/pgSQL function " + f.signature
	if f.line > 0 {
		s += fmt.Sprintf(" line %d", f.line)
	}
	if f.what != "" {
		s += " " + f.what
	}
	return s
}

// statements runs statements until one leaves.
func (f *frame) statements(list []syntax.Stmt) error {
	line, what := f.line, f.what
	for _, s := range list {
		if f.steps++; f.steps%64 == 0 && f.call.Context.Err() != nil {
			return f.located(pgerr.Cancelled(f.call.Context))
		}
		f.line, f.what = s.At(), "at "+s.What()
		if err := f.statement(s); err != nil {
			return f.located(err)
		}
		if f.leaving != goOn {
			break
		}
	}
	f.line, f.what = line, what
	return nil
}

func (f *frame) statement(s syntax.Stmt) error {
	switch s := s.(type) {
	case *syntax.Assign:
		return f.assign(s)
	case *syntax.If:
		return f.ifStmt(s)
	case *syntax.Execute:
		return f.execute(s)
	case *syntax.Perform:
		return f.perform(s)
	case *syntax.Return:
		return f.returnValue(s)
	case *syntax.Block:
		return f.block(s)
	case *syntax.Loop:
		return f.loop(s)
	case *syntax.ForInteger:
		return f.forInteger(s)
	case *syntax.ForRows:
		return f.forRows(s)
	case *syntax.ForEach:
		return f.forEach(s)
	case *syntax.Leave:
		return f.leave(s)
	case *syntax.Case:
		return f.caseStmt(s)
	}
	return f.rareStatement(s)
}

func (f *frame) rareStatement(s syntax.Stmt) error {
	switch s := s.(type) {
	case *syntax.Dynamic:
		return f.dynamic(s)
	case *syntax.Raise:
		return f.raise(s)
	case *syntax.ReturnNext:
		return f.returnNext(s)
	case *syntax.ReturnQuery:
		return f.returnQuery(s)
	case *syntax.Assert:
		return f.assert(s)
	case *syntax.GetDiagnostics:
		return f.getDiagnostics(s)
	case *syntax.Open:
		return f.open(s)
	case *syntax.Fetch:
		return f.fetch(s)
	case *syntax.Close:
		return f.closeCursor(s)
	case *syntax.EndTransaction:
		return f.call.Statements.End(f.call.Context, !s.Rollback, s.Chain)
	case *syntax.Null:
		return nil
	}
	return pgerr.New(pgerr.InternalError, "plpgsql: %T", s)
}

// assign runs target := value.
func (f *frame) assign(s *syntax.Assign) error {
	t := &s.Target
	v := t.Variable
	record := f.variables[v.Number].OID == types.Record
	if record && len(t.Path) == 0 && t.Field == "" {
		d, p, err := f.value(s.Value)
		if err != nil {
			return err
		}
		if !isRow(p.typed().OID) && !d.IsNull() {
			return pgerr.New(pgerr.FeatureNotSupported, "input of anonymous composite types is not implemented")
		}
		return f.set(t, d, p.typed(), nil)
	}
	p, err := f.ready(s.Value, func(vars *names) (function.Statement, error) { return f.assignment(s, vars) })
	if err != nil {
		return err
	}
	d, err := f.evaluate(s.Value, p)
	if err != nil {
		return err
	}
	return f.set(t, d, p.typed(), nil)
}

// assignment analyzes the value of an assignment, so that it has the target's type.
func (f *frame) assignment(s *syntax.Assign, vars *names) (function.Statement, error) {
	t := &s.Target
	var base function.Variable
	if t.Field == "" {
		base = vars.scalar(t.Variable)
	} else {
		var ok bool
		if base, ok = vars.fieldOf(t.Variable, t.Field); !ok {
			return nil, vars.err
		}
	}
	a := function.Assignment{
		Text: s.Value.Parsed(), Name: t.Variable.Name, Path: t.Path, Base: base,
		Into: function.Typed{OID: base.Type, Typmod: base.Typmod},
	}
	if t.Field != "" {
		a.Name += "." + t.Field
	}
	return f.call.Statements.Assign(a, vars)
}

func (f *frame) ifStmt(s *syntax.If) error {
	for i := range s.Arms {
		arm := &s.Arms[i]
		ok, err := f.condition(arm.When)
		if err != nil {
			return err
		}
		if ok {
			return f.statements(arm.Then)
		}
	}
	return f.statements(s.Else)
}

func (f *frame) caseStmt(s *syntax.Case) error {
	if s.Test != nil {
		d, p, err := f.value(s.Test)
		if err != nil {
			return err
		}
		if err := f.setScalar(s.Value, d, p.typed()); err != nil {
			return err
		}
	}
	for i := range s.Arms {
		arm := &s.Arms[i]
		ok, err := f.condition(arm.When)
		if err != nil {
			return err
		}
		if ok {
			return f.statements(arm.Then)
		}
	}
	if !s.HasElse {
		return pgerr.New(pgerr.CaseNotFound, "case not found").WithHint("CASE statement is missing ELSE part.")
	}
	return f.statements(s.Else)
}

// leave runs EXIT and CONTINUE.
func (f *frame) leave(s *syntax.Leave) error {
	if s.When != nil {
		ok, err := f.condition(s.When)
		if err != nil || !ok {
			return err
		}
	}
	f.leaving, f.label = exits, s.Label
	if s.Continue {
		f.leaving = continues
	}
	return nil
}

// returnValue runs RETURN.
func (f *frame) returnValue(s *syntax.Return) error {
	f.leaving = returned
	if s.Value == nil {
		return nil
	}
	d, p, err := f.value(s.Value)
	if err != nil {
		return err
	}
	f.result, f.of = d.Clone(), p.typed()
	if (f.d.Result == types.Record || f.row != nil || isTrigger(f.d)) && !d.IsNull() && !isRow(f.of.OID) {
		return pgerr.New(pgerr.DatatypeMismatch,
			"cannot return non-composite value from function returning composite type")
	}
	return nil
}

// assert runs ASSERT.
func (f *frame) assert(s *syntax.Assert) error {
	if on, ok := f.setting("plpgsql.check_asserts"); ok && on == "off" {
		return nil
	}
	ok, err := f.condition(s.Condition)
	if err != nil || ok {
		return err
	}
	message := "assertion failed"
	if s.Message != nil {
		text, known, err := f.textOf(s.Message)
		if err != nil {
			return err
		}
		if known {
			message = text
		}
	}
	return pgerr.New(pgerr.AssertFailure, "%s", message)
}

// setting returns a setting of the session.
func (f *store) setting(name string) (string, bool) {
	if f.call.Setting == nil {
		return "", false
	}
	return f.call.Setting(name)
}

// conflict returns what a name means that is both a variable and a column.
func (f *evaluator) conflict() function.Conflict {
	switch f.Body.Conflict {
	case syntax.UseVariable:
		return function.PreferVariable
	case syntax.UseColumn:
		return function.PreferColumn
	case syntax.ConflictError:
		return function.Refuse
	}
	switch value, _ := f.setting("plpgsql.variable_conflict"); value {
	case "use_variable":
		return function.PreferVariable
	case "use_column":
		return function.PreferColumn
	}
	return function.Refuse
}
