package syntax

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
)

// statements parses statements until one of the words.
func (p *parser) statements(ends ...string) ([]Stmt, error) {
	var out []Stmt
	for {
		t := p.peek()
		if t.kind == endOfText {
			return nil, p.unexpected()
		}
		if t.kind == word && slices.Contains(ends, t.text) && !p.assigns() {
			return out, nil
		}
		s, err := p.statement()
		if err != nil {
			return nil, err
		}
		if s != nil {
			out = append(out, s)
		}
	}
}

// assigns reports whether the next word begins an assignment, so that it is not a keyword unless it
// is reserved.
func (p *stream) assigns() bool {
	t, n := p.peek(), p.peekAt(1)
	if !t.isName() && t.kind != param {
		return false
	}
	return n.is(":=") || n.is("=") || n.is("[") || n.is(".")
}

// parsers are the statements that begin with a word.
var parsers map[string]func(p *parser, line Line) (Stmt, error)

func init() {
	parsers = map[string]func(p *parser, line Line) (Stmt, error){
		"if": (*parser).ifStmt, "case": (*parser).caseStmt, "perform": (*parser).perform,
		"execute": (*parser).dynamic, "return": (*parser).returnStmt, "raise": (*parser).raise,
		"assert": (*parser).assert, "get": (*parser).getDiagnostics, "open": (*parser).open,
		"fetch": (*parser).fetch, "move": (*parser).move, "close": (*parser).closeCursor,
		"exit": (*parser).leave, "continue": (*parser).leave, "commit": (*parser).endTransaction,
		"rollback": (*parser).endTransaction, "null": (*parser).null,
		"call": (*parser).called, "do": (*parser).called,
	}
}

func (p *parser) statement() (Stmt, error) {
	line := Line(p.line())
	t := p.peek()
	switch {
	case t.is("<<"), t.is("declare"), t.is("begin"), t.is("loop"), t.is("while"), t.is("for"), t.is("foreach"):
		return p.labeled()
	case t.is(";"):
		return nil, p.unexpected()
	}
	if p.assigns() {
		if s, ok, err := p.assignment(line); ok || err != nil {
			return s, err
		}
	}
	if t.kind == word {
		if f := parsers[t.text]; f != nil {
			return f(p, line)
		}
		if t.reserved {
			return nil, p.unexpected()
		}
		return p.sqlStatement(line)
	}
	if t.is("(") {
		return p.sqlStatement(line)
	}
	return nil, p.unexpected()
}

// labeled parses a block or a loop.
func (p *parser) labeled() (Stmt, error) {
	label, err := p.label()
	if err != nil {
		return nil, err
	}
	if t := p.peek(); t.is("declare") || t.is("begin") {
		b, err := p.labeledBlock(label)
		if err != nil {
			return nil, err
		}
		return b, p.expect(";")
	}
	outer := p.names
	defer func() { p.names = outer }()
	p.names = p.names.block(label, true)
	line := Line(p.line())
	switch {
	case p.accept("loop"):
		s := &Loop{Line: line, Label: label}
		s.Body, err = p.loopBody(label)
		return s, err
	case p.accept("while"):
		s := &Loop{Line: line, Label: label}
		if s.While, err = p.expression("loop"); err != nil {
			return nil, err
		}
		p.take()
		s.Body, err = p.loopBody(label)
		return s, err
	case p.accept("for"):
		return p.forLoop(line, label)
	case p.accept("foreach"):
		return p.forEach(line, label)
	}
	return nil, p.unexpected()
}

// loopBody parses the statements of a loop behind LOOP, until its END LOOP [label];.
func (p *parser) loopBody(label string) ([]Stmt, error) {
	list, err := p.statements("end")
	if err != nil {
		return nil, err
	}
	p.take()
	if err := p.expect("loop"); err != nil {
		return nil, err
	}
	if err := p.endLabel(label); err != nil {
		return nil, err
	}
	return list, p.expect(";")
}

// assignment parses target := expression. ok is false if the words are none: a statement of SQL may
// begin with a word that is followed by a point or a bracket.
func (p *parser) assignment(line Line) (s Stmt, ok bool, err error) {
	first := p.next
	t, err := p.target(true)
	if err != nil {
		k := p.tokens[first]
		if parsers[k.text] != nil && k.kind == word && p.tokens[first+1].is("[") {
			p.next = first
			return nil, false, nil
		}
		return nil, false, err
	}
	if _, is := p.acceptAny(":=", "="); !is {
		return nil, false, p.unexpected()
	}
	value := p.peek().start
	if err := p.skipTo([]string{";"}); err != nil {
		return nil, false, err
	}
	if p.peek().start == value {
		return nil, false, p.nearToken(p.peek(), "missing expression")
	}
	start := p.tokens[first].start
	sql := &SQL{Text: p.source[start:p.tokens[p.next-1].end], Kind: Assignment, Names: p.names, skip: value - start}
	if sql, err = p.parsed(sql, start); err != nil {
		return nil, false, err
	}
	return &Assign{Line: line, Target: t, Value: sql}, true, p.expect(";")
}

func (p *parser) ifStmt(line Line) (Stmt, error) {
	s := &If{Line: line}
	for {
		arm := Arm{Line: Line(p.line())}
		p.take()
		cond, err := p.expression("then")
		if err != nil {
			return nil, err
		}
		p.take()
		arm.When = cond
		if arm.Then, err = p.statements("elsif", "elseif", "else", "end"); err != nil {
			return nil, err
		}
		s.Arms = append(s.Arms, arm)
		if t := p.peek(); !t.is("elsif") && !t.is("elseif") {
			break
		}
	}
	if p.accept("else") {
		var err error
		if s.Else, err = p.statements("end"); err != nil {
			return nil, err
		}
	}
	return s, p.ends("if")
}

// ends parses END word;.
func (p *parser) ends(what string) error {
	if err := p.expect("end"); err != nil {
		return err
	}
	if err := p.expect(what); err != nil {
		return err
	}
	return p.expect(";")
}

func (p *parser) caseStmt(line Line) (Stmt, error) {
	p.take()
	s := &Case{Line: line}
	if !p.peek().is("when") {
		var err error
		if s.Test, err = p.expression("when"); err != nil {
			return nil, err
		}
		name := fmt.Sprintf("__Case__Variable_%d__", len(p.body.Variables))
		s.Value = p.special(name, CaseValue)
		outer := p.names
		defer func() { p.names = outer }()
		p.names = p.names.with(s.Value, name)
	}
	for p.peek().is("when") {
		arm := Arm{Line: Line(p.line())}
		p.take()
		var err error
		if arm.When, err = p.caseCondition(s.Value); err != nil {
			return nil, err
		}
		p.take()
		if arm.Then, err = p.statements("when", "else", "end"); err != nil {
			return nil, err
		}
		s.Arms = append(s.Arms, arm)
	}
	if len(s.Arms) == 0 {
		return nil, p.unexpected()
	}
	if p.accept("else") {
		s.HasElse = true
		var err error
		if s.Else, err = p.statements("end"); err != nil {
			return nil, err
		}
	}
	return s, p.ends("case")
}

// caseCondition parses what WHEN compares a CASE's value with, or its condition.
func (p *parser) caseCondition(value *Variable) (*SQL, error) {
	if value == nil {
		return p.expression("then")
	}
	first := p.peek().start
	if err := p.skipTo([]string{"then"}); err != nil {
		return nil, err
	}
	if p.peek().start == first {
		return nil, p.nearToken(p.peek(), "missing expression")
	}
	before := fmt.Sprintf("%q IN (", value.Name)
	s := &SQL{Text: before + p.source[first:p.tokens[p.next-1].end] + ")", Kind: Expression, Names: p.names}
	return p.parsedAs(s, first, -len(before))
}

func (p *parser) perform(line Line) (Stmt, error) {
	k := p.take()
	s := &Perform{Line: line}
	first := p.peek().start
	if err := p.skipTo([]string{";"}); err != nil {
		return nil, err
	}
	if p.peek().start == first {
		return nil, p.nearToken(p.peek(), "missing expression")
	}
	sql := &SQL{Text: "SELECT" + p.source[k.end:p.tokens[p.next-1].end], Kind: Statement, Names: p.names}
	var err error
	if s.Query, err = p.parsedAs(sql, k.start, len("perform")-len("SELECT")); err != nil {
		return nil, err
	}
	return s, p.expect(";")
}

// parsedAs is parsed for a text that is shorter than the source's by some characters at its start.
func (p *reader) parsedAs(s *SQL, offset, shorter int) (*SQL, error) {
	out, err := p.parsed(s, offset)
	if err != nil {
		e := *pgerr.From(err)
		if e.InnerPosition > 0 {
			e.InnerPosition += shorter
		}
		return nil, &e
	}
	return out, nil
}

// sqlStatement parses a statement of SQL, with the INTO of PL/pgSQL in it.
func (p *parser) sqlStatement(line Line) (Stmt, error) {
	first := p.next
	s := &Execute{Line: line}
	intoFrom, intoTo := -1, -1
	depth, nested := 0, 0 // nested: BEGIN ATOMIC … END in CREATE FUNCTION
	for {
		t, before := p.peek(), token{}
		if p.next > first {
			before = p.tokens[p.next-1]
		}
		switch {
		case t.kind == endOfText:
			return nil, p.nearToken(t, "syntax error")
		case t.is(";") && depth == 0 && nested == 0:
			return p.finishSQL(s, first, intoFrom, intoTo)
		case t.is("("):
			depth++
		case t.is(")"):
			depth--
		case t.is("begin") && p.peekAt(1).is("atomic"), nested > 0 && t.is("case"):
			nested++
		case nested > 0 && t.is("end"):
			nested--
		case t.is("into") && depth == 0 && p.isInto(first, before):
			if intoFrom >= 0 {
				return nil, p.nearToken(t, "INTO specified more than once")
			}
			intoFrom = t.start
			p.next++
			strict := p.accept("strict")
			into, err := p.into()
			if err != nil {
				return nil, err
			}
			into.Strict = strict
			s.Into, intoTo = into, p.tokens[p.next-1].end
			continue
		}
		p.next++
	}
}

// isInto reports whether INTO is PL/pgSQL's, not a part of INSERT INTO, MERGE INTO or IMPORT …
// INTO.
func (p *parser) isInto(first int, before token) bool {
	if before.is("insert") || before.is("merge") {
		return false
	}
	return !p.tokens[first].is("import") && !p.tokens[first].is("create")
}

// finishSQL makes the SQL of a statement, without its INTO.
func (p *parser) finishSQL(s *Execute, first, intoFrom, intoTo int) (Stmt, error) {
	start, end := p.tokens[first].start, p.tokens[p.next-1].end
	text := p.source[start:end]
	if intoFrom >= 0 { // blanks keep the positions of what follows
		text = p.source[start:intoFrom] + strings.Repeat(" ", intoTo-intoFrom) + p.source[intoTo:end]
		text = strings.TrimRight(text, " ")
	}
	var err error
	if s.Query, err = p.check(Statement, start, text); err != nil {
		return nil, err
	}
	return s, p.expect(";")
}

// called parses CALL and DO.
func (p *parser) called(line Line) (Stmt, error) {
	q, err := p.sql(Statement, ";")
	if err != nil {
		return nil, err
	}
	p.body.EndsTransaction = true
	return &Execute{Line: line, Query: q, Called: true}, p.expect(";")
}

// dynamic parses EXECUTE text [INTO …] [USING …].
func (p *parser) dynamic(line Line) (Stmt, error) {
	p.take()
	s := &Dynamic{Line: line}
	var err error
	if s.Query, err = p.expression("into", "using", ";"); err != nil {
		return nil, err
	}
	for {
		switch t := p.take(); {
		case t.is("into"):
			if s.Into != nil {
				return nil, p.unexpectedAt(p.next - 1)
			}
			strict := p.accept("strict")
			if s.Into, err = p.into(); err != nil {
				return nil, err
			}
			s.Into.Strict = strict
		case t.is("using"):
			if s.Using != nil {
				return nil, p.unexpectedAt(p.next - 1)
			}
			if s.Using, err = p.expressions("into", ";"); err != nil {
				return nil, err
			}
		case t.is(";"):
			return s, nil
		default:
			return nil, p.unexpectedAt(p.next - 1)
		}
	}
}

// leave parses EXIT and CONTINUE.
func (p *parser) leave(line Line) (Stmt, error) {
	k := p.take()
	s := &Leave{Line: line, Continue: k.is("continue")}
	if t := p.peek(); (t.kind == word || t.kind == quoted) && !t.is("when") {
		p.next++
		s.Label = t.text
		label := p.names.label(t.text)
		switch {
		case label == nil || t.text == "":
			return nil, p.failAt(t.start, pgerr.SyntaxError,
				"there is no label %q attached to any block or loop enclosing this statement", t.text)
		case s.Continue && !label.loop:
			return nil, p.failAt(t.start, pgerr.SyntaxError, "block label %q cannot be used in CONTINUE", t.text)
		}
	} else if !p.names.inLoop() {
		if s.Continue {
			return nil, p.failAt(k.start, pgerr.SyntaxError, "CONTINUE cannot be used outside a loop")
		}
		return nil, p.failAt(k.start, pgerr.SyntaxError, "EXIT cannot be used outside a loop, unless it has a label")
	}
	if p.accept("when") {
		var err error
		if s.When, err = p.expression(";"); err != nil {
			return nil, err
		}
	}
	return s, p.expect(";")
}

func (p *parser) null(line Line) (Stmt, error) {
	p.take()
	return &Null{line}, p.expect(";")
}

// endTransaction parses COMMIT and ROLLBACK.
func (p *parser) endTransaction(line Line) (Stmt, error) {
	p.body.EndsTransaction = true
	s := &EndTransaction{Line: line, Rollback: p.take().is("rollback")}
	if p.accept("and") {
		s.Chain = !p.accept("no")
		if err := p.expect("chain"); err != nil {
			return nil, err
		}
	}
	return s, p.expect(";")
}
