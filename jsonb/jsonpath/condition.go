package jsonpath

var comparisons = map[string]op{"==": opEq, "!=": opNe, "<": opLt, "<=": opLe, ">": opGt, ">=": opGe}

func (p *parser) comparison() (*node, error) {
	left, err := p.sum()
	if err != nil || left.predicate() {
		return left, err
	}
	switch o, ok := comparisons[p.tok.text]; {
	case p.tok.kind == tokSymbol && ok:
		if err := p.advance(); err != nil {
			return nil, err
		}
		right, err := p.sum()
		if right, err = p.need(false, right, err); err != nil {
			return nil, err
		}
		return combine(o, left, right)
	case p.isKeyword("starts"):
		return p.startsWith(left)
	case p.isKeyword("like_regex"):
		return p.likeRegex(left)
	}
	return left, nil
}

func (p *parser) startsWith(left *node) (*node, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	if err := p.expectKeyword("with"); err != nil {
		return nil, err
	}
	if p.tok.kind != tokString && p.tok.kind != tokVariable {
		return nil, p.unexpected()
	}
	right, err := p.primary()
	if err != nil {
		return nil, err
	}
	return combine(opStarts, left, right)
}

func (p *parser) likeRegex(left *node) (*node, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	if p.tok.kind != tokString {
		return nil, p.unexpected()
	}
	n, err := combine(opRegex, left, nil)
	if err != nil {
		return nil, err
	}
	n.text = p.tok.text
	if err := p.advance(); err != nil {
		return nil, err
	}
	flags := ""
	if p.isKeyword("flag") {
		if err := p.advance(); err != nil {
			return nil, err
		}
		if p.tok.kind != tokString {
			return nil, p.unexpected()
		}
		flags = p.tok.text
		if err := p.advance(); err != nil {
			return nil, err
		}
	}
	if n.flags, err = parseFlags(flags); err != nil {
		return nil, err
	}
	n.regex, err = compileRegex(n.text, n.flags)
	return n, err
}
