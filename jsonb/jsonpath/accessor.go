package jsonpath

import (
	"strconv"

	"github.com/sherddb/sherd/internal/pgerr"
)

var methods = map[string]op{
	"type": opType, "size": opSize, "double": opDouble, "ceiling": opCeiling, "floor": opFloor, "abs": opAbs,
	"datetime": opDatetime, "keyvalue": opKeyvalue,
}

// accessor reads one accessor, nil if none follows.
func (p *parser) accessor() (*node, error) {
	switch {
	case p.is("."):
		if err := p.advance(); err != nil {
			return nil, err
		}
		return p.member()
	case p.is("["):
		return p.subscripts()
	case p.is("?"):
		if err := p.advance(); err != nil {
			return nil, err
		}
		if !p.is("(") {
			return nil, p.unexpected()
		}
		return p.filter()
	}
	return nil, nil
}

func (p *parser) filter() (*node, error) {
	if err := p.expect("("); err != nil {
		return nil, err
	}
	n, err := p.any()
	if n, err = p.need(true, n, err); err != nil {
		return nil, err
	}
	if err := p.expect(")"); err != nil {
		return nil, err
	}
	return combine(opFilter, n, nil)
}

// member reads what follows a dot: a key, a wildcard or a method.
func (p *parser) member() (*node, error) {
	tok := p.tok
	switch tok.kind {
	case tokSymbol:
		switch tok.text {
		case "*":
			return &node{op: opAnyKey}, p.advance()
		case "**":
			return p.descend()
		}
		return nil, p.unexpected()
	case tokString, tokIdent:
		return &node{op: opKey, text: tok.text}, p.advance()
	case tokKeyword:
		if err := p.advance(); err != nil {
			return nil, err
		}
		if o, ok := methods[tok.text]; ok && p.is("(") {
			return p.method(o)
		}
		return &node{op: opKey, text: tok.raw}, nil
	}
	return nil, p.unexpected()
}

func (p *parser) method(o op) (*node, error) {
	n := &node{op: o}
	if err := p.expect("("); err != nil {
		return nil, err
	}
	if o == opDatetime && p.tok.kind == tokString {
		arg, err := p.primary()
		if err != nil {
			return nil, err
		}
		n.left = arg
	}
	return n, p.expect(")")
}

// descend reads .** with its levels.
func (p *parser) descend() (*node, error) {
	n := &node{op: opAny, last: anyLevel}
	if err := p.advance(); err != nil || !p.is("{") {
		return n, err
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	var err error
	if n.first, err = p.anyLevel(); err != nil {
		return nil, err
	}
	n.last = n.first
	if p.isKeyword("to") {
		if err := p.advance(); err != nil {
			return nil, err
		}
		if n.last, err = p.anyLevel(); err != nil {
			return nil, err
		}
	}
	return n, p.expect("}")
}

func (p *parser) subscripts() (*node, error) {
	if err := p.expect("["); err != nil {
		return nil, err
	}
	if p.is("*") {
		if err := p.advance(); err != nil {
			return nil, err
		}
		return &node{op: opAnyArray}, p.expect("]")
	}
	n := &node{op: opIndex}
	for {
		s, err := p.subscript()
		if err != nil {
			return nil, err
		}
		n.depth = max(n.depth, s.from.depth+1)
		if s.to != nil {
			n.depth = max(n.depth, s.to.depth+1)
		}
		n.subs = append(n.subs, s)
		if !p.is(",") {
			return n, p.expect("]")
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
	}
}

func (p *parser) subscript() (s subscript, err error) {
	if s.from, err = p.expression(); err != nil || !p.isKeyword("to") {
		return s, err
	}
	if err = p.advance(); err != nil {
		return s, err
	}
	s.to, err = p.expression()
	return s, err
}

// anyLevel reads a level of .**{ }.
func (p *parser) anyLevel() (uint32, error) {
	if p.isKeyword("last") {
		return anyLevel, p.advance()
	}
	if p.tok.kind != tokInt {
		return 0, p.unexpected()
	}
	v, err := strconv.ParseInt(p.tok.text, 10, 32)
	if err != nil {
		return 0, pgerr.New(pgerr.NumericValueOutOfRange, "value \"%s\" is out of range for type integer", p.tok.text)
	}
	return uint32(v), p.advance()
}
