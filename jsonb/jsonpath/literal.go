package jsonpath

import "github.com/sherddb/sherd/jsonb"

// primary reads a literal, variable, $, @ or last.
func (p *parser) primary() (*node, error) {
	n := &node{text: p.tok.text}
	switch p.tok.kind {
	case tokString:
		n.op, n.value = opString, jsonb.OfString(p.tok.text)
	case tokVariable:
		n.op = opVariable
	case tokInt, tokNumeric:
		v, err := numberLiteral(p.tok.text)
		if err != nil {
			return nil, err
		}
		n.op, n.value = opNumber, v
	case tokSymbol, tokKeyword:
		switch p.tok.text {
		case "$":
			n.op = opRoot
		case "@":
			n.op = opCurrent
		case "last":
			n.op = opLast
		case "null":
			n.op, n.value = opNull, jsonb.NullDoc
		case "true":
			n.op, n.value = opTrue, jsonb.TrueDoc
		case "false":
			n.op, n.value = opFalse, jsonb.FalseDoc
		default:
			return nil, p.unexpected()
		}
	default:
		return nil, p.unexpected()
	}
	return n, p.advance()
}

// numberLiteral accepts jsonpath's forms "1." and ".5" as well as JSON's.
func numberLiteral(s string) (jsonb.Doc, error) {
	if s[0] == '.' {
		s = "0" + s
	}
	for i := 0; i < len(s); i++ {
		if s[i] == '.' && (i+1 == len(s) || !isDigit(s[i+1])) {
			s = s[:i] + s[i+1:]
			break
		}
	}
	return jsonb.OfNumber(s)
}
