package syntax

import "github.com/sherddb/sherd/internal/pgerr"

// forLoop parses a FOR loop behind FOR: over integers, rows, a cursor, or a text that is executed.
func (p *parser) forLoop(line Line, label string) (Stmt, error) {
	first := p.next
	if err := p.skipTargets(); err != nil {
		return nil, err
	}
	if err := p.expect("in"); err != nil {
		return nil, err
	}
	behind := p.next
	switch {
	case p.peek().is("execute"):
		return p.forDynamic(line, label, first, behind)
	case p.isCursor():
		return p.forCursor(line, label, first, behind)
	}
	reverse := p.peek().is("reverse")
	if p.rangeAhead() {
		return p.forInteger(line, label, first, behind, reverse)
	}
	if reverse {
		return nil, p.failAt(p.peek().start, pgerr.SyntaxError,
			"cannot specify REVERSE in query FOR loop")
	}
	s := &ForRows{Line: line, Label: label}
	var err error
	if s.Into, err = p.rowTargets(first, behind); err != nil {
		return nil, err
	}
	if s.Query, err = p.sql(Statement, "loop"); err != nil {
		return nil, err
	}
	p.take()
	s.Body, err = p.loopBody(label)
	return s, err
}

// skipTargets goes behind the names before IN.
func (p *stream) skipTargets() error {
	for {
		t := p.take()
		if !t.isName() {
			return p.unexpectedAt(p.next - 1)
		}
		for p.accept(".") {
			p.take()
		}
		if !p.accept(",") {
			return nil
		}
	}
}

// isCursor reports whether the next word is a cursor's variable, alone or with arguments.
func (p *parser) isCursor() bool {
	t, after := p.peek(), p.peekAt(1)
	if !t.isName() || !after.is("loop") && !after.is("(") {
		return false
	}
	v, _ := p.names.Find([]string{t.text})
	return v != nil && isRefcursor(&v.Type)
}

func isRefcursor(t *Type) bool { return t.Name != nil && t.Text == "refcursor" }

// rangeAhead reports whether .. follows before LOOP.
func (p *stream) rangeAhead() bool {
	depth := 0
	for i := p.next; ; i++ {
		switch t := p.tokens[i]; {
		case t.kind == endOfText, t.is(";"), depth == 0 && t.is("loop"):
			return false
		case t.is(".."):
			return depth == 0
		case t.is("("), t.is("["):
			depth++
		case t.is(")"), t.is("]"):
			depth--
		}
	}
}

// forInteger parses [REVERSE] from .. to [BY step] LOOP. The targets' tokens begin at first.
func (p *parser) forInteger(line Line, label string, first, behind int, reverse bool) (Stmt, error) {
	if behind != first+2 {
		t := p.tokens[first+1]
		return nil, p.failAt(t.start, pgerr.SyntaxError, "integer FOR loop must have only one target variable")
	}
	s := &ForInteger{Line: line, Label: label, Reverse: reverse}
	if reverse {
		p.take()
	}
	var err error
	if s.From, err = p.expression(".."); err != nil {
		return nil, err
	}
	p.take()
	if s.To, err = p.expression("loop", "by"); err != nil {
		return nil, err
	}
	if p.accept("by") {
		if s.Step, err = p.expression("loop"); err != nil {
			return nil, err
		}
	}
	p.take()
	s.Variable = p.special(p.tokens[first].text, LoopInteger)
	p.names = p.names.with(s.Variable, s.Variable.Name)
	s.Body, err = p.loopBody(label)
	return s, err
}

// rowTargets parses the targets of a loop over rows, whose tokens begin at first, and goes on
// behind IN. A cursor's loop declares its own record.
func (p *parser) rowTargets(first, behind int) (*Into, error) {
	p.next = first
	into, err := p.into()
	if err != nil {
		e := pgerr.From(err)
		if e.Code == pgerr.SyntaxError && p.next == first+1 {
			return nil, p.failAt(p.tokens[first].start, pgerr.SyntaxError,
				"loop variable of loop over rows must be a record variable or list of scalar variables")
		}
		return nil, err
	}
	p.next = behind
	return into, nil
}

func (p *parser) forDynamic(line Line, label string, first, behind int) (Stmt, error) {
	s := &ForRows{Line: line, Label: label}
	var err error
	if s.Into, err = p.rowTargets(first, behind); err != nil {
		return nil, err
	}
	p.take()
	if s.Text, err = p.expression("loop", "using"); err != nil {
		return nil, err
	}
	if p.accept("using") {
		if s.Args, err = p.expressions("loop"); err != nil {
			return nil, err
		}
	}
	p.take()
	s.Body, err = p.loopBody(label)
	return s, err
}

// forCursor parses a loop over a bound cursor. Its record is declared by the loop.
func (p *parser) forCursor(line Line, label string, first, behind int) (Stmt, error) {
	if behind != first+2 {
		return nil, p.failAt(p.tokens[first].start, pgerr.SyntaxError,
			"cursor FOR loop must have only one target variable")
	}
	t := p.take()
	v, _ := p.names.Find([]string{t.text})
	if v.Cursor == nil {
		return nil, p.failAt(t.start, pgerr.SyntaxError, "cursor FOR loop must use a bound cursor variable")
	}
	s := &ForRows{Line: line, Label: label, Cursor: v}
	var err error
	if s.Args, err = p.cursorArguments(v, "loop"); err != nil {
		return nil, err
	}
	if err := p.expect("loop"); err != nil {
		return nil, err
	}
	name := p.tokens[first].text
	r, err := p.newVariable(name, Type{Record: true, Text: "record"}, int(line))
	if err != nil {
		return nil, err
	}
	s.Into = &Into{Record: r}
	p.names = p.names.with(r, name)
	s.Body, err = p.loopBody(label)
	return s, err
}

// forEach parses FOREACH target [SLICE n] IN ARRAY expression LOOP.
func (p *parser) forEach(line Line, label string) (Stmt, error) {
	s := &ForEach{Line: line, Label: label}
	var err error
	if s.Into, err = p.into(); err != nil {
		return nil, err
	}
	if p.accept("slice") {
		n := p.take()
		if n.kind != number {
			return nil, p.unexpectedAt(p.next - 1)
		}
		for _, c := range n.text {
			if s.Slice = s.Slice*10 + int(c-'0'); s.Slice > 1000 {
				break
			}
		}
	}
	if err := p.expect("in"); err != nil {
		return nil, err
	}
	if err := p.expect("array"); err != nil {
		return nil, err
	}
	if s.Array, err = p.expression("loop"); err != nil {
		return nil, err
	}
	p.take()
	s.Body, err = p.loopBody(label)
	return s, err
}
