package jsonpath

import (
	"strings"
	"unicode/utf8"

	"github.com/sherddb/sherd/internal/pgerr"
)

// maxDepth bounds the nesting of a path and the length of a chain of accessors (JP1).
const maxDepth = 2500

// maxLevels bounds the recursion of the parser: a path of maxDepth, printed with all its
// parentheses, reads back.
const maxLevels = 2*maxDepth + 16

// Parse reads the text form of a path. It returns 42601 if the text is not a path, and 22021 if it
// is not UTF-8.
func Parse(text string) (*Path, error) {
	for i, r := range text {
		if r == 0 || r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD") {
			return nil, pgerr.New(
				pgerr.CharacterNotInRepertoire, "invalid byte sequence for encoding \"UTF8\": 0x%02x", text[i],
			)
		}
	}
	p := &parser{scan: scanner{text: text}}
	if err := p.advance(); err != nil {
		return nil, err
	}
	path := &Path{}
	switch {
	case p.tok.kind == tokEnd:
		return nil, pgerr.New(
			pgerr.InvalidTextRepresentation, "invalid input syntax for type %s: \"%s\"", "jsonpath", text,
		)
	case p.isKeyword("strict"), p.isKeyword("lax"):
		path.strict = p.tok.text == "strict"
		if err := p.advance(); err != nil {
			return nil, err
		}
	}
	root, err := p.any()
	if err != nil {
		return nil, err
	}
	if p.tok.kind != tokEnd {
		return nil, p.unexpected()
	}
	if err := checkScope(root, false, false); err != nil {
		return nil, err
	}
	path.root = root
	return path, nil
}

// checkScope refuses @ outside of filters and last outside of subscripts, as PostgreSQL does after
// the syntax was accepted.
func checkScope(n *node, inFilter, inSubscript bool) error {
	for ; n != nil; n = n.next {
		switch {
		case n.op == opCurrent && !inFilter:
			return pgerr.New(pgerr.SyntaxError, "@ is not allowed in root expressions")
		case n.op == opLast && !inSubscript:
			return pgerr.New(pgerr.SyntaxError, "LAST is allowed only in array subscripts")
		}
		if err := checkScope(n.left, inFilter || n.op == opFilter, inSubscript); err != nil {
			return err
		}
		if err := checkScope(n.right, inFilter, inSubscript); err != nil {
			return err
		}
		for _, s := range n.subs {
			if err := checkScope(s.from, inFilter, true); err != nil {
				return err
			}
			if err := checkScope(s.to, inFilter, true); err != nil {
				return err
			}
		}
	}
	return nil
}

// parser is a recursive descent over the tokens. PostgreSQL's grammar separates predicates and
// expressions; this parser reads either and refuses the wrong kind at the token that follows, which
// is where PostgreSQL's error is too.
type parser struct {
	scan  scanner
	tok   token
	level int
}

func (p *parser) advance() (err error) {
	p.tok, err = p.scan.next()
	return err
}

func (p *parser) unexpected() error { return syntaxAt("syntax error", p.tok.near) }

func (p *parser) is(symbol string) bool      { return p.tok.kind == tokSymbol && p.tok.text == symbol }
func (p *parser) isKeyword(word string) bool { return p.tok.kind == tokKeyword && p.tok.text == word }

// expect passes a symbol.
func (p *parser) expect(symbol string) error {
	if !p.is(symbol) {
		return p.unexpected()
	}
	return p.advance()
}

func (p *parser) expectKeyword(word string) error {
	if !p.isKeyword(word) {
		return p.unexpected()
	}
	return p.advance()
}

func tooDeep() error {
	return pgerr.New(pgerr.StatementTooComplex, "stack depth limit exceeded").WithHint(
		"A jsonpath may be nested %d levels deep.", maxDepth)
}

// enter counts a level of recursion; the caller leaves by p.level--.
func (p *parser) enter() error {
	if p.level++; p.level > maxLevels {
		return tooDeep()
	}
	return nil
}

// combine makes a node over operands and bounds its depth.
func combine(o op, left, right *node) (*node, error) {
	n := &node{op: o, left: left, right: right, depth: left.depth + 1}
	if right != nil {
		n.depth = max(n.depth, right.depth+1)
	}
	if n.depth > maxDepth {
		return nil, tooDeep()
	}
	return n, nil
}

// any reads an expression or a predicate: ||, the loosest operator.
func (p *parser) any() (*node, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.level-- }()
	return p.logic("||", opOr, func() (*node, error) {
		return p.logic("&&", opAnd, p.comparison)
	})
}

// expression reads an expression that is not a predicate.
func (p *parser) expression() (*node, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.level-- }()
	n, err := p.sum()
	return p.need(false, n, err)
}

func (p *parser) logic(symbol string, o op, operand func() (*node, error)) (*node, error) {
	left, err := operand()
	for err == nil && p.is(symbol) {
		if !left.predicate() {
			return nil, p.unexpected()
		}
		if err = p.advance(); err != nil {
			return nil, err
		}
		var right *node
		if right, err = operand(); err != nil {
			return nil, err
		}
		if !right.predicate() {
			return nil, p.unexpected()
		}
		left, err = combine(o, left, right)
	}
	return left, err
}

func (p *parser) need(predicate bool, n *node, err error) (*node, error) {
	if err == nil && n.predicate() != predicate {
		return nil, p.unexpected()
	}
	return n, err
}

var sums = map[string]op{"+": opAdd, "-": opSub}
var products = map[string]op{"*": opMul, "/": opDiv, "%": opMod}

func (p *parser) sum() (*node, error) {
	return p.arithmetic(sums, func() (*node, error) { return p.arithmetic(products, p.unary) })
}

func (p *parser) arithmetic(ops map[string]op, operand func() (*node, error)) (*node, error) {
	left, err := operand()
	for err == nil && p.tok.kind == tokSymbol {
		o, ok := ops[p.tok.text]
		if !ok {
			break
		}
		if left.predicate() {
			return nil, p.unexpected()
		}
		if err = p.advance(); err != nil {
			return nil, err
		}
		right, rerr := operand()
		if right, rerr = p.need(false, right, rerr); rerr != nil {
			return nil, rerr
		}
		left, err = combine(o, left, right)
	}
	return left, err
}

// unary reads signs and !; a sign before a bare number becomes part of it.
func (p *parser) unary() (*node, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.level-- }()
	switch {
	case p.is("+"), p.is("-"):
		o := opPlus
		if p.is("-") {
			o = opMinus
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
		n, err := p.unary()
		if n, err = p.need(false, n, err); err != nil {
			return nil, err
		}
		if n.op == opNumber && n.next == nil {
			if o == opMinus {
				n.value = negate(n.value)
			}
			return n, nil
		}
		return combine(o, n, nil)
	case p.is("!"):
		if err := p.advance(); err != nil {
			return nil, err
		}
		return p.negation()
	}
	return p.chain()
}

// negation reads what ! applies to: exists or a predicate in parentheses.
func (p *parser) negation() (*node, error) {
	var n *node
	var err error
	switch {
	case p.isKeyword("exists"):
		n, err = p.exists()
	case p.is("("):
		n, err = p.group()
		n, err = p.need(true, n, err)
	default:
		return nil, p.unexpected()
	}
	if err != nil {
		return nil, err
	}
	return combine(opNot, n, nil)
}

func (p *parser) exists() (*node, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	if err := p.expect("("); err != nil {
		return nil, err
	}
	n, err := p.expression()
	if err != nil {
		return nil, err
	}
	if err := p.expect(")"); err != nil {
		return nil, err
	}
	return combine(opExists, n, nil)
}

// group reads ( … ).
func (p *parser) group() (*node, error) {
	if err := p.expect("("); err != nil {
		return nil, err
	}
	n, err := p.any()
	if err != nil {
		return nil, err
	}
	return n, p.expect(")")
}

// chain reads a primary with the accessors that follow.
func (p *parser) chain() (*node, error) {
	var n *node
	var err error
	switch {
	case p.isKeyword("exists"):
		return p.exists()
	case p.is("("):
		if n, err = p.group(); err != nil {
			return nil, err
		}
		if p.isKeyword("is") && n.predicate() {
			if err := p.advance(); err != nil {
				return nil, err
			}
			if err := p.expectKeyword("unknown"); err != nil {
				return nil, err
			}
			return combine(opUnknown, n, nil)
		}
	default:
		if n, err = p.primary(); err != nil {
			return nil, err
		}
	}
	return n, p.accessors(n)
}

// accessors adds the accessors that follow to the end of the chain n.
func (p *parser) accessors(n *node) error {
	tail, length := n, 1
	for tail.next != nil {
		tail, length = tail.next, length+1
	}
	for {
		next, err := p.accessor()
		if err != nil || next == nil {
			return err
		}
		if length++; length > maxDepth {
			return tooDeep()
		}
		n.depth = max(n.depth, next.depth)
		tail.next, tail = next, next
	}
}
