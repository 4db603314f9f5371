package syntax

import (
	"slices"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
)

// returnStmt parses RETURN, RETURN NEXT and RETURN QUERY.
func (p *parser) returnStmt(line Line) (Stmt, error) {
	k := p.take()
	switch {
	case p.accept("next"):
		return p.returnNext(line, k)
	case p.accept("query"):
		return p.returnQuery(line, k)
	}
	s := &Return{Line: line}
	t := p.peek()
	switch r := p.returns; {
	case t.is(";"):
		if !r.Set && !r.Nothing && !r.Outs && !r.Procedure {
			return nil, p.nearToken(t, "missing expression")
		}
		return s, p.expect(";")
	case r.Set:
		e := p.failAt(t.start, pgerr.DatatypeMismatch, "RETURN cannot have a parameter in function returning set")
		return nil, pgerr.From(e).WithHint("Use RETURN NEXT or RETURN QUERY.")
	case r.Nothing && r.Procedure:
		return nil, p.failAt(t.start, pgerr.DatatypeMismatch, "RETURN cannot have a parameter in a procedure")
	case r.Nothing:
		return nil, p.failAt(t.start, pgerr.DatatypeMismatch,
			"RETURN cannot have a parameter in function returning void")
	case r.Outs:
		return nil, p.failAt(t.start, pgerr.DatatypeMismatch,
			"RETURN cannot have a parameter in function with OUT parameters")
	}
	var err error
	if s.Value, err = p.expression(";"); err != nil {
		return nil, err
	}
	return s, p.expect(";")
}

func (p *parser) returnNext(line Line, k token) (Stmt, error) {
	if !p.returns.Set {
		return nil, p.failAt(k.start, pgerr.DatatypeMismatch, "cannot use RETURN NEXT in a non-SETOF function")
	}
	s := &ReturnNext{Line: line}
	if p.returns.Outs {
		if t := p.peek(); !t.is(";") {
			return nil, p.failAt(t.start, pgerr.DatatypeMismatch,
				"RETURN NEXT cannot have a parameter in function with OUT parameters")
		}
		return s, p.expect(";")
	}
	var err error
	if s.Value, err = p.expression(";"); err != nil {
		return nil, err
	}
	return s, p.expect(";")
}

func (p *parser) returnQuery(line Line, k token) (Stmt, error) {
	if !p.returns.Set {
		return nil, p.failAt(k.start, pgerr.DatatypeMismatch, "cannot use RETURN QUERY in a non-SETOF function")
	}
	s := &ReturnQuery{Line: line}
	var err error
	if !p.accept("execute") {
		if s.Query, err = p.sql(Statement, ";"); err != nil {
			return nil, err
		}
		return s, p.expect(";")
	}
	if s.Text, err = p.expression("using", ";"); err != nil {
		return nil, err
	}
	if p.accept("using") {
		if s.Using, err = p.expressions(";"); err != nil {
			return nil, err
		}
	}
	return s, p.expect(";")
}

// levels are the levels of RAISE.
var levels = []string{"exception", "warning", "notice", "info", "log", "debug"}

// raise parses RAISE.
func (p *parser) raise(line Line) (Stmt, error) {
	p.take()
	s := &Raise{Line: line, Level: "exception"}
	if p.accept(";") {
		s.Again = true
		return s, nil
	}
	if level, ok := p.acceptAny(levels...); ok {
		s.Level = level
	}
	switch t := p.peek(); {
	case t.is(";"):
		return nil, p.unexpected()
	case t.kind == stringConstant:
		if err := p.raiseFormat(s); err != nil {
			return nil, err
		}
	case t.is("using"):
	default:
		if err := p.raiseCondition(s); err != nil {
			return nil, err
		}
	}
	if p.accept("using") {
		if err := p.raiseOptions(s); err != nil {
			return nil, err
		}
	}
	return s, p.expect(";")
}

// raiseFormat parses 'format' [, argument …].
func (p *parser) raiseFormat(s *Raise) (err error) {
	t := p.take()
	if s.Message, err = p.constant(t); err != nil {
		return err
	}
	s.HasFormat = true
	if p.accept(",") {
		if s.Args, err = p.expressions(";", "using"); err != nil {
			return err
		}
	}
	n := strings.Count(strings.ReplaceAll(s.Message, "%%", ""), "%")
	switch {
	case n > len(s.Args):
		return p.failNear(t.start, pgerr.SyntaxError, "too few parameters specified for RAISE")
	case n < len(s.Args):
		return p.failNear(t.start, pgerr.SyntaxError, "too many parameters specified for RAISE")
	}
	return nil
}

// raiseCondition parses the name of a condition, or SQLSTATE 'code'.
func (p *parser) raiseCondition(s *Raise) (err error) {
	t := p.take()
	switch {
	case t.is("sqlstate"):
		s.Condition, err = p.sqlState()
		return err
	case !t.isName():
		return p.unexpectedAt(p.next - 1)
	case conditions[t.text] == nil:
		return p.failNear(t.start, pgerr.UndefinedObject, "unrecognized exception condition %q", t.text)
	}
	s.Condition = t.text
	return nil
}

// raiseOptionNames are the options of RAISE … USING.
var raiseOptionNames = []string{
	"errcode", "message", "detail", "hint", "column", "constraint", "datatype", "table", "schema",
}

func (p *parser) raiseOptions(s *Raise) error {
	for {
		t := p.take()
		if t.kind != word || !slices.Contains(raiseOptionNames, t.text) {
			return p.failAt(t.start, pgerr.SyntaxError, "unrecognized RAISE statement option at or near \"%s\"", t.text)
		}
		if _, ok := p.acceptAny("=", ":="); !ok {
			return p.failAt(p.peek().start, pgerr.SyntaxError,
				"syntax error, expected \"=\" at or near \"%s\"", p.peek().text)
		}
		value, err := p.expression(",", ";")
		if err != nil {
			return err
		}
		s.Options = append(s.Options, RaiseOption{t.text, value})
		if !p.accept(",") {
			return nil
		}
	}
}

// assert parses ASSERT condition [, message].
func (p *parser) assert(line Line) (Stmt, error) {
	p.take()
	s := &Assert{Line: line}
	var err error
	if s.Condition, err = p.expression(",", ";"); err != nil {
		return nil, err
	}
	if p.accept(",") {
		if s.Message, err = p.expression(";"); err != nil {
			return nil, err
		}
	}
	return s, p.expect(";")
}

// diagnosticItems are the items of GET DIAGNOSTICS, true for those of GET STACKED DIAGNOSTICS.
var diagnosticItems = map[string]bool{
	"row_count": false, "pg_context": false, "pg_exception_context": true, "pg_exception_detail": true,
	"pg_exception_hint": true, "returned_sqlstate": true, "column_name": true, "constraint_name": true,
	"pg_datatype_name": true, "message_text": true, "table_name": true, "schema_name": true,
}

// getDiagnostics parses GET [CURRENT | STACKED] DIAGNOSTICS target = item, ….
func (p *parser) getDiagnostics(line Line) (Stmt, error) {
	p.take()
	s := &GetDiagnostics{Line: line}
	if !p.accept("current") {
		s.Stacked = p.accept("stacked")
	}
	if err := p.expect("diagnostics"); err != nil {
		return nil, err
	}
	for {
		t, err := p.target(false)
		if err != nil {
			return nil, err
		}
		if t.Variable.Composite && t.Field == "" {
			return nil, p.failAt(p.tokens[p.next-1].start, pgerr.SyntaxError,
				"\"%s\" is not a scalar variable", t.Variable.Name)
		}
		if _, ok := p.acceptAny("=", ":="); !ok {
			return nil, p.unexpected()
		}
		k := p.take()
		stacked, known := diagnosticItems[k.text]
		if !known || k.kind != word {
			return nil, p.failAt(k.start, pgerr.SyntaxError,
				"unrecognized GET DIAGNOSTICS item at or near \"%s\"", k.text)
		}
		if stacked != s.Stacked {
			which := "GET CURRENT DIAGNOSTICS"
			if s.Stacked {
				which = "GET STACKED DIAGNOSTICS"
			}
			return nil, p.failAt(k.start, pgerr.SyntaxError, "diagnostics item %s is not allowed in %s",
				strings.ToUpper(k.text), which)
		}
		s.Items = append(s.Items, Diagnostic{t, k.text})
		if !p.accept(",") {
			return s, p.expect(";")
		}
	}
}
