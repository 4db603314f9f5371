package syntax

import (
	"github.com/sherddb/sherd/internal/pgerr"
)

// cursorVariable parses the name of a cursor's variable.
func (p *reader) cursorVariable() (*Variable, error) {
	t := p.take()
	if !t.isName() && t.kind != param {
		return nil, p.unexpectedAt(p.next - 1)
	}
	parts := []string{t.text}
	for p.accept(".") {
		parts = append(parts, p.take().text)
	}
	v, used := p.names.Find(parts)
	switch {
	case v == nil:
		return nil, p.failAt(t.start, pgerr.SyntaxError, "\"%s\" is not a known variable", t.text)
	case used != len(parts) || v.Composite:
		return nil, p.failAt(t.start, pgerr.DatatypeMismatch, "cursor variable must be a simple variable")
	case !isRefcursor(&v.Type):
		return nil, p.failAt(t.start, pgerr.DatatypeMismatch, "variable %q must be of type cursor or refcursor", v.Name)
	}
	return v, nil
}

// cursorArguments parses the arguments of a bound cursor, in the order of its parameters.
func (p *reader) cursorArguments(v *Variable, end string) ([]*SQL, error) {
	params := v.Cursor.Args
	if len(params) == 0 {
		if p.peek().is("(") {
			return nil, p.failAt(p.peek().start, pgerr.SyntaxError, "cursor %q has no arguments", v.Name)
		}
		return nil, nil
	}
	if !p.accept("(") {
		return nil, p.failAt(p.peek().start, pgerr.SyntaxError, "cursor %q has arguments", v.Name)
	}
	out := make([]*SQL, len(params))
	for n := 0; ; n++ {
		at := n
		if k := p.peekAt(1); k.is(":=") || k.is("=>") {
			name := p.take()
			p.take()
			at = -1
			for i, a := range params {
				if a.Name == name.text {
					at = i
				}
			}
			if at < 0 {
				return nil, p.failAt(name.start, pgerr.SyntaxError,
					"cursor %q has no argument named %q", v.Name, name.text)
			}
		}
		where := p.peek().start
		if at >= len(params) {
			return nil, p.failAt(where, pgerr.SyntaxError, "too many arguments for cursor %q", v.Name)
		}
		if out[at] != nil {
			return nil, p.failAt(where, pgerr.SyntaxError,
				"value for parameter %q of cursor %q specified more than once", params[at].Name, v.Name)
		}
		var err error
		if out[at], err = p.expression(",", ")"); err != nil {
			return nil, err
		}
		if !p.accept(",") {
			if n+1 < len(params) {
				return nil, p.failAt(p.peek().start, pgerr.SyntaxError, "not enough arguments for cursor %q", v.Name)
			}
			break
		}
	}
	return out, p.expect(")")
}

// open parses OPEN cursor [(arguments)] and OPEN cursor [[NO] SCROLL] FOR query.
func (p *parser) open(line Line) (Stmt, error) {
	p.take()
	v, err := p.cursorVariable()
	if err != nil {
		return nil, err
	}
	s := &Open{Line: line, Cursor: v}
	if v.Cursor != nil {
		s.Options = v.Cursor.Options
		if s.Args, err = p.cursorArguments(v, ";"); err != nil {
			return nil, err
		}
		return s, p.expect(";")
	}
	switch {
	case p.accept("no"):
		s.Options = noScroll
		if err := p.expect("scroll"); err != nil {
			return nil, err
		}
	case p.accept("scroll"):
		s.Options = scrolls
	}
	if err := p.expect("for"); err != nil {
		return nil, err
	}
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

func (p *parser) fetch(line Line) (Stmt, error) {
	s, err := p.fetchDirection(line)
	if err != nil {
		return nil, err
	}
	if s.Cursor, err = p.cursorVariable(); err != nil {
		return nil, err
	}
	if err := p.expect("into"); err != nil {
		return nil, err
	}
	if s.Into, err = p.into(); err != nil {
		return nil, err
	}
	if s.Many {
		return nil, p.failAt(p.tokens[p.next-1].start, pgerr.FeatureNotSupported,
			"FETCH statement cannot return multiple rows")
	}
	return s, p.expect(";")
}

func (p *parser) move(line Line) (Stmt, error) {
	s, err := p.fetchDirection(line)
	if err != nil {
		return nil, err
	}
	s.Move = true
	if s.Cursor, err = p.cursorVariable(); err != nil {
		return nil, err
	}
	return s, p.expect(";")
}

// fetchDirection parses FETCH or MOVE with its direction and FROM or IN.
func (p *parser) fetchDirection(line Line) (*Fetch, error) {
	p.take()
	s := &Fetch{Line: line, HowMany: 1}
	optional := false
	switch k := p.peek(); {
	case p.accept("next"), p.accept("forward"):
		if k.is("forward") {
			if err := p.forwardCount(s); err != nil {
				return nil, err
			}
		}
	case p.accept("prior"):
		s.Direction = Backward
	case p.accept("backward"):
		s.Direction = Backward
		if err := p.forwardCount(s); err != nil {
			return nil, err
		}
	case p.accept("first"):
		s.Direction = Absolute
	case p.accept("last"):
		s.Direction, s.HowMany = Absolute, -1
	case k.is("absolute"), k.is("relative"):
		p.take()
		s.Direction = Absolute
		if k.is("relative") {
			s.Direction = Relative
		}
		var err error
		if s.Count, err = p.expression("from", "in"); err != nil {
			return nil, err
		}
	case p.accept("all"):
		s.HowMany, s.Many = everything, true
	case k.is("from"), k.is("in"):
	default:
		if v, _ := p.names.Find([]string{k.text}); v != nil && k.isName() {
			optional = true
			break
		}
		s.Many = true
		var err error
		if s.Count, err = p.expression("from", "in"); err != nil {
			return nil, err
		}
	}
	if _, ok := p.acceptAny("from", "in"); !ok && !optional {
		return nil, p.failAt(p.peek().start, pgerr.SyntaxError, "expected FROM or IN")
	}
	return s, nil
}

// everything is the count of FETCH ALL.
const everything = 1<<63 - 1

// forwardCount parses the count that may follow FORWARD and BACKWARD.
func (p *parser) forwardCount(s *Fetch) (err error) {
	switch t := p.peek(); {
	case t.is("from"), t.is("in"):
		return nil
	case t.is("all"):
		p.take()
		s.HowMany, s.Many = everything, true
		return nil
	}
	s.Many = true
	s.Count, err = p.expression("from", "in")
	return err
}

func (p *parser) closeCursor(line Line) (Stmt, error) {
	p.take()
	v, err := p.cursorVariable()
	if err != nil {
		return nil, err
	}
	return &Close{Line: line, Cursor: v}, p.expect(";")
}
