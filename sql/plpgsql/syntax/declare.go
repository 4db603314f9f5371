package syntax

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/parse"
)

func itoa(n int) string { return strconv.Itoa(n) }

// declaration parses one declaration. It returns nil for an alias.
func (p *parser) declaration() (*Variable, error) {
	t := p.take()
	if !t.isName() {
		if t.is("<<") {
			return nil, p.failAt(t.start, pgerr.SyntaxError,
				"block label must be placed before DECLARE, not after")
		}
		return nil, p.unexpectedAt(p.next - 1)
	}
	if p.names.declared(t.text) {
		return nil, p.failAt(t.start, pgerr.SyntaxError, "duplicate declaration at or near \"%s\"",
			p.source[t.start:t.end])
	}
	line := p.lineAt(t.start)
	switch {
	case p.accept("alias"):
		return nil, p.alias(t.text)
	case p.peek().is("cursor"), p.peek().is("scroll"), p.peek().is("no") && p.peekAt(1).is("scroll"):
		return p.boundCursor(t.text, line)
	}
	constant := p.accept("constant")
	typ, err := p.typeBefore()
	if err != nil {
		return nil, err
	}
	v, err := p.newVariable(t.text, typ, line)
	if err != nil {
		return nil, err
	}
	v.Constant = constant
	notNullAt := p.peek().start
	if p.accept("not") {
		if err := p.expect("null"); err != nil {
			return nil, err
		}
		v.NotNull = true
	}
	if _, ok := p.acceptAny(":=", "=", "default"); ok {
		if v.Default, err = p.expression(";"); err != nil {
			return nil, err
		}
	}
	if err := p.expect(";"); err != nil {
		return nil, err
	}
	if v.NotNull && v.Default == nil {
		return nil, p.failAt(notNullAt, pgerr.NullValueNotAllowed,
			"variable %q must have a default value, since it's declared NOT NULL", v.Name)
	}
	p.names = p.names.with(v, v.Name)
	return v, nil
}

// alias parses ALIAS FOR name.
func (p *parser) alias(name string) error {
	if err := p.expect("for"); err != nil {
		return err
	}
	t := p.take()
	parts := []string{t.text}
	if t.kind != param && !t.isName() {
		return p.unexpectedAt(p.next - 1)
	}
	for p.accept(".") {
		parts = append(parts, p.take().text)
	}
	v, used := p.names.Find(parts)
	if v == nil || used != len(parts) {
		return p.failNear(t.start, pgerr.UndefinedObject, "variable %q does not exist", strings.Join(parts, "."))
	}
	p.names = p.names.with(v, name)
	return p.expect(";")
}

// boundCursor parses [[NO] SCROLL] CURSOR [(arguments)] FOR query.
func (p *parser) boundCursor(name string, line int) (*Variable, error) {
	c := &Cursor{}
	switch {
	case p.accept("no"):
		p.take()
		c.Options = noScroll
	case p.accept("scroll"):
		c.Options = scrolls
	}
	if err := p.expect("cursor"); err != nil {
		return nil, err
	}
	outer := p.names
	p.names = p.names.block("", false)
	if p.accept("(") {
		for {
			t := p.take()
			if !t.isName() {
				return nil, p.unexpectedAt(p.next - 1)
			}
			typ, err := p.typeBefore(",", ")")
			if err != nil {
				return nil, err
			}
			v, err := p.newVariable(t.text, typ, p.lineAt(t.start))
			if err != nil {
				return nil, err
			}
			c.Args = append(c.Args, v)
			p.names = p.names.with(v, v.Name)
			if p.accept(",") {
				continue
			}
			if err := p.expect(")"); err != nil {
				return nil, err
			}
			break
		}
	}
	if _, ok := p.acceptAny("is", "for"); !ok {
		return nil, p.unexpected()
	}
	var err error
	if c.Query, err = p.sql(Statement, ";"); err != nil {
		return nil, err
	}
	p.names = outer
	v := &Variable{Number: len(p.body.Variables), Name: name, Line: line, Cursor: c,
		Type: Refcursor()}
	p.body.Variables = append(p.body.Variables, v)
	p.names = p.names.with(v, name)
	return v, p.expect(";")
}

// typeBefore parses a data type, which ends before what may follow it in a declaration.
func (p *reader) typeBefore(ends ...string) (Type, error) {
	first := p.next
	t := Type{Pos: p.peek().start}
	depth := 0
	for ; ; p.next++ {
		k := p.peek()
		if k.kind == endOfText {
			return t, p.nearToken(k, "incomplete data type declaration")
		}
		if depth == 0 && (slices.Contains(ends, k.text) && k.kind == punctuation || k.is("not") || k.is("collate") ||
			k.is(":=") || k.is("=") || k.is("default") || k.is(";")) {
			break
		}
		switch {
		case k.is("("), k.is("["):
			depth++
		case k.is(")"), k.is("]"):
			depth--
		}
	}
	list := p.tokens[first:p.next]
	if len(list) == 0 {
		return t, p.nearToken(p.peek(), "missing data type declaration")
	}
	t.Text = p.source[list[0].start:list[len(list)-1].end]
	if p.accept("collate") {
		c := p.take()
		t.Collate = c.text
		for p.accept(".") {
			t.Collate = p.take().text
		}
	}
	if len(list) == 1 && list[0].is("record") {
		t.Record = true
		return t, nil
	}
	if n := len(list); n >= 3 && list[n-2].is("%") {
		if list[n-1].is("type") || list[n-1].is("rowtype") {
			return p.referredType(t, list)
		}
	}
	return p.namedType(t)
}

// referredType is name%TYPE or name%ROWTYPE.
func (p *reader) referredType(t Type, list []token) (Type, error) {
	var parts []string
	for i, k := range list[:len(list)-2] {
		if i%2 == 0 {
			parts = append(parts, k.text)
		} else if !k.is(".") {
			return t, p.failAt(k.start, pgerr.SyntaxError, "syntax error at or near \"%s\"", k.text)
		}
	}
	if list[len(list)-1].is("rowtype") {
		t.Row = parts
		return t, nil
	}
	if v, used := p.names.Find(parts); v != nil && used == len(parts) {
		out := v.Type
		out.Pos = t.Pos
		return out, nil
	}
	t.Of = parts
	return t, nil
}

// namedType parses the name of a type as SQL does.
func (p *reader) namedType(t Type) (Type, error) {
	const before = "SELECT NULL::"
	list, err := parse.Parse(before + t.Text)
	if err != nil {
		e := *pgerr.From(err)
		e.Position -= len(before)
		return t, inside(&e, p.source, t.Pos)
	}
	targets := list[0].Node.GetSelectStmt().GetTargetList()
	if len(list) != 1 || len(targets) != 1 || targets[0].GetResTarget().GetVal().GetTypeCast() == nil {
		return t, p.failAt(t.Pos, pgerr.SyntaxError, "invalid type name \"%s\"", t.Text)
	}
	t.Name = targets[0].GetResTarget().GetVal().GetTypeCast().GetTypeName()
	return t, nil
}
