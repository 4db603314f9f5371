package syntax

import (
	"slices"
	"strings"
	"unicode/utf8"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/parse"
)

// Bits of the options of DECLARE CURSOR, as PostgreSQL's parsenodes.h numbers them.
const (
	scrolls  = 0x02
	noScroll = 0x04
)

// Refcursor returns the type of variables that refer to cursors.
func Refcursor() Type {
	name := &pg_query.TypeName{Names: []*pg_query.Node{pg_query.MakeStrNode("refcursor")}, Typemod: -1}
	return Type{Text: "refcursor", Name: name}
}

// expression parses an expression that ends before one of the words or punctuation.
func (p *reader) expression(ends ...string) (*SQL, error) { return p.sql(Expression, ends...) }

// sql takes the tokens of an expression or a query until one of the ends, outside of parentheses.
func (p *reader) sql(kind SQLKind, ends ...string) (*SQL, error) {
	first := p.next
	if err := p.skipTo(ends); err != nil {
		return nil, err
	}
	if first == p.next {
		if kind == Expression {
			return nil, p.nearToken(p.peek(), "missing expression")
		}
		return nil, p.nearToken(p.peek(), "missing SQL statement")
	}
	return p.check(kind, p.tokens[first].start, p.source[p.tokens[first].start:p.tokens[p.next-1].end])
}

// skipTo goes to the first of the ends that is not in parentheses.
func (p *stream) skipTo(ends []string) error {
	depth := 0
	for ; ; p.next++ {
		t := p.peek()
		if depth == 0 && t.kind != quoted && t.kind != stringConstant && slices.Contains(ends, t.text) &&
			t.kind != endOfText {
			return nil
		}
		switch {
		case t.is("("), t.is("["):
			depth++
		case t.is(")"), t.is("]"):
			if depth--; depth < 0 {
				return p.failAt(t.start, pgerr.SyntaxError, "mismatched parentheses at or near \"%s\"", t.text)
			}
		}
		if t.kind == endOfText || t.is(";") {
			if depth != 0 {
				return p.nearToken(t, "mismatched parentheses")
			}
			if t.kind == endOfText && slices.Equal(ends, []string{";"}) {
				return p.nearToken(t, "syntax error")
			}
			return p.missing(t, ends)
		}
	}
}

// missing is the error of an expression without its end.
func (p *stream) missing(t token, ends []string) error {
	what := "SQL expression"
	if ends[0] == ";" {
		return p.nearToken(t, "syntax error")
	}
	return p.failAt(t.start, pgerr.SyntaxError, "missing \"%s\" at end of %s", strings.ToUpper(ends[0]), what)
}

// check parses the text of an expression or statement by SQL's grammar.
func (p *reader) check(kind SQLKind, offset int, text string) (*SQL, error) {
	return p.parsed(&SQL{Text: text, Kind: kind, Names: p.names}, offset)
}

func (p *reader) parsed(s *SQL, offset int) (*SQL, error) {
	text := s.Parsed()
	list, err := parse.Parse(text)
	if err == nil && (len(list) != 1 || s.Kind != Statement && list[0].Node.GetSelectStmt() == nil) {
		err = pgerr.New(pgerr.SyntaxError, "syntax error at end of input").At(utf8.RuneCountInString(text) + 1)
	}
	if err != nil {
		e := *pgerr.From(err)
		e.Position = s.Position(e.Position)
		return nil, inside(&e, p.source, offset)
	}
	s.Tree, s.Number = list[0].Node, len(p.body.SQL)
	p.body.SQL = append(p.body.SQL, s)
	return s, nil
}

// expressions parses a list of expressions, separated by commas, that ends before one of the ends.
// It takes none of the ends.
func (p *reader) expressions(ends ...string) ([]*SQL, error) {
	var out []*SQL
	for {
		e, err := p.expression(append([]string{","}, ends...)...)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
		if !p.accept(",") {
			return out, nil
		}
	}
}

// target parses a variable or a field of a record, for assignment; with subscripts if path is set.
func (p *reader) target(path bool) (Target, error) {
	first := p.take()
	if !first.isName() && first.kind != param {
		return Target{}, p.unexpectedAt(p.next - 1)
	}
	parts := []string{first.text}
	for p.peek().is(".") && (p.peekAt(1).kind == word || p.peekAt(1).kind == quoted) {
		p.next++
		parts = append(parts, p.take().text)
	}
	unknown := func() (Target, error) {
		return Target{}, p.failAt(first.start, pgerr.SyntaxError, "\"%s\" is not a known variable",
			strings.Join(parts, "."))
	}
	v, used := p.names.Find(parts)
	if v == nil {
		return unknown()
	}
	if v.Constant {
		return Target{}, p.failAt(first.start, pgerr.ErrorInAssignment, "variable %q is declared CONSTANT", v.Name)
	}
	t := Target{Variable: v}
	switch rest := parts[used:]; {
	case len(rest) > 0 && !v.Composite:
		return unknown()
	case len(rest) > 1 && !path:
		return t, p.failAt(first.start, pgerr.FeatureNotSupported,
			"assigning to a field of a field is not supported yet")
	case len(rest) > 0:
		t.Field = rest[0]
		for _, name := range rest[1:] {
			t.Path = append(t.Path, pg_query.MakeStrNode(name))
		}
	}
	if !path || !p.peek().is("[") {
		return t, nil
	}
	return t, p.path(&t, first.start)
}

// path parses the subscripts behind a target that begins at an offset.
func (p *reader) path(t *Target, start int) error {
	for p.peek().is("[") || p.peek().is(".") {
		if p.accept(".") {
			p.take()
			continue
		}
		p.take()
		if err := p.skipTo([]string{"]"}); err != nil {
			return err
		}
		p.take()
	}
	list, err := parse.Parse(selectWord + p.source[start:p.tokens[p.next-1].end])
	if err != nil {
		e := *pgerr.From(err)
		e.Position -= len(selectWord)
		return inside(&e, p.source, start)
	}
	targets := list[0].Node.GetSelectStmt().GetTargetList()
	if len(targets) != 1 || targets[0].GetResTarget().GetVal().GetAIndirection() == nil {
		return p.unexpected()
	}
	t.Path = append(t.Path, targets[0].GetResTarget().GetVal().GetAIndirection().Indirection...)
	return nil
}

// into parses the targets of INTO: one record, or a list of variables.
func (p *reader) into() (*Into, error) {
	first := p.peek()
	t, err := p.target(false)
	if err != nil {
		return nil, err
	}
	if t.Variable.Composite && t.Field == "" {
		if p.peek().is(",") {
			return nil, p.failAt(p.peek().start, pgerr.SyntaxError,
				"record variable cannot be part of multiple-item INTO list")
		}
		return &Into{Record: t.Variable}, nil
	}
	out := &Into{Fields: []Target{t}}
	for p.accept(",") {
		first = p.peek()
		if t, err = p.target(false); err != nil {
			return nil, err
		}
		if t.Variable.Composite && t.Field == "" {
			return nil, p.failAt(first.start, pgerr.SyntaxError, "\"%s\" is not a scalar variable", first.text)
		}
		out.Fields = append(out.Fields, t)
	}
	return out, nil
}
