package builtin

import (
	"strings"
	"unicode/utf8"

	"github.com/sherddb/sherd/internal/pgerr"
)

// regexNode is a part of an advanced regular expression of PostgreSQL. Its atoms are already in the
// syntax that both engines accept.
type regexNode struct {
	text     string         // of an atom
	branches [][]*regexNode // of a group, and of the whole expression
	group    string         // "(", "(?:", "(?=", …: how a group opens; "" if it is not a group
	quant    *regexQuant
}

// regexQuant is a quantifier: * + ? {m,n}, lazy if ? follows.
type regexQuant struct {
	min, max int // max -1 means no limit
	lazy     bool
}

// regexFlags are the options of an expression.
type regexFlags struct {
	ignoreCase bool
	literal    bool // q: no metacharacters
	expanded   bool // x: white space and comments
	dotLine    bool // . and [^…] do not match a newline (n, p)
	anchorLine bool // ^ and $ match at newlines (n, w)
}

// regexParser parses an expression.
type regexParser struct {
	src       string
	flags     regexFlags
	groups    int  // capturing groups so far
	open      int  // depth of parentheses
	backtrack bool // back references, lookaround, word constraints: RE2 has none
	atStart   bool // ^ or \A occurs: it only matches at the start of the text
}

func regexError(what string) error {
	return pgerr.New(pgerr.InvalidRegularExpression, "invalid regular expression: %s", what)
}

const maxRegexDepth = 250

// textStart marks the start of the text until the engine is chosen; text does not contain NUL.
const textStart = "\x00"

// parseRegex parses a whole expression with its leading options.
func parseRegex(src string, flags regexFlags) (*regexNode, *regexParser, error) {
	p := &regexParser{src: src, flags: flags}
	if err := p.options(); err != nil {
		return nil, nil, err
	}
	if p.flags.literal {
		atoms := make([]*regexNode, 0, len(p.src))
		for _, r := range p.src {
			atoms = append(atoms, &regexNode{text: quoteRune(r)})
		}
		return &regexNode{branches: [][]*regexNode{atoms}}, p, nil
	}
	branches, err := p.alternatives()
	if err != nil {
		return nil, nil, err
	}
	if p.src != "" {
		return nil, nil, regexError("parentheses () not balanced")
	}
	return &regexNode{branches: branches}, p, nil
}

// options parses ***: and ***= and (?flags) at the start.
func (p *regexParser) options() error {
	if strings.HasPrefix(p.src, "***=") {
		p.src, p.flags.literal = p.src[4:], true
		return nil
	}
	p.src = strings.TrimPrefix(p.src, "***:")
	if strings.HasPrefix(p.src, "***") {
		return regexError("quantifier operand invalid")
	}
	if !strings.HasPrefix(p.src, "(?") || len(p.src) < 3 || !isASCIILetter(p.src[2]) {
		return nil
	}
	letters, rest, ok := strings.Cut(p.src[2:], ")")
	if !ok {
		return regexError("invalid embedded option")
	}
	for i := range len(letters) {
		if !p.flags.set(letters[i]) {
			return regexError("invalid embedded option")
		}
	}
	p.src = rest
	return nil
}

// set applies a flag letter; ok is false for an unknown flag.
func (f *regexFlags) set(c byte) bool {
	switch c {
	case 'i':
		f.ignoreCase = true
	case 'c':
		f.ignoreCase = false
	case 'm', 'n':
		f.dotLine, f.anchorLine = true, true
	case 'p':
		f.dotLine, f.anchorLine = true, false
	case 'w':
		f.dotLine, f.anchorLine = false, true
	case 's':
		f.dotLine, f.anchorLine = false, false
	case 'x':
		f.expanded = true
	case 't':
		f.expanded = false
	case 'q':
		f.literal = true
	case 'e', 'b':
		f.literal = false
	default:
		return false
	}
	return true
}

func isASCIILetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func (p *regexParser) alternatives() (branches [][]*regexNode, err error) {
	if p.open++; p.open > maxRegexDepth {
		return nil, regexError("regular expression is too complex")
	}
	defer func() { p.open-- }()
	for {
		branch, err := p.branch()
		if err != nil {
			return nil, err
		}
		branches = append(branches, branch)
		if !strings.HasPrefix(p.src, "|") {
			return branches, nil
		}
		p.src = p.src[1:]
	}
}

func (p *regexParser) branch() (nodes []*regexNode, err error) {
	for p.skipBlanks(); p.src != "" && p.src[0] != '|' && !(p.src[0] == ')' && p.open > 1); p.skipBlanks() {
		if p.src[0] == ')' {
			return nil, regexError("parentheses () not balanced")
		}
		node, constraint, err := p.atom()
		if err != nil {
			return nil, err
		}
		p.skipBlanks()
		quant, err := p.quantifier()
		if err != nil {
			return nil, err
		}
		if quant != nil && constraint {
			return nil, regexError("quantifier operand invalid")
		}
		node.quant = quant
		nodes = append(nodes, node)
	}
	return nodes, nil
}

// skipBlanks skips comments, and in expanded syntax white space.
func (p *regexParser) skipBlanks() {
	for {
		switch {
		case strings.HasPrefix(p.src, "(?#"):
			_, rest, _ := strings.Cut(p.src, ")")
			p.src = rest
		case !p.flags.expanded || p.src == "":
			return
		case p.src[0] == '#':
			_, rest, _ := strings.Cut(p.src, "\n")
			p.src = rest
		case strings.IndexByte(" \t\n\v\f\r", p.src[0]) >= 0:
			p.src = p.src[1:]
		default:
			return
		}
	}
}

// atom parses an atom, or a constraint, which cannot have a quantifier.
func (p *regexParser) atom() (node *regexNode, constraint bool, err error) {
	switch c := p.src[0]; c {
	case '*', '+', '?':
		return nil, false, regexError("quantifier operand invalid")
	case '{':
		if len(p.src) > 1 && p.src[1] >= '0' && p.src[1] <= '9' {
			return nil, false, regexError("quantifier operand invalid")
		}
	case '(':
		return p.parenthesis()
	case '[':
		return p.bracket()
	case '\\':
		return p.escape()
	case '^':
		p.src = p.src[1:]
		return p.lineStart(), true, nil
	case '$':
		p.src = p.src[1:]
		if p.flags.anchorLine {
			p.backtrack = true
			return &regexNode{text: `(?=\n|\z)`}, true, nil
		}
		return &regexNode{text: `\z`}, true, nil
	case '.':
		p.src = p.src[1:]
		if p.flags.dotLine {
			return &regexNode{text: `[^\n]`}, false, nil
		}
		return &regexNode{text: `(?s:.)`}, false, nil
	}
	r, size := utf8.DecodeRuneInString(p.src)
	p.src = p.src[size:]
	return &regexNode{text: quoteRune(r)}, false, nil
}

func (p *regexParser) lineStart() *regexNode {
	if p.flags.anchorLine {
		p.backtrack = true
		return &regexNode{text: `(?:\A|(?<=\n))`}
	}
	p.atStart = true
	return &regexNode{text: textStart}
}

func (p *regexParser) parenthesis() (*regexNode, bool, error) {
	open, constraint := "(", false
	for _, o := range []string{"(?:", "(?=", "(?!", "(?<=", "(?<!"} {
		if strings.HasPrefix(p.src, o) {
			open, constraint = o, o != "(?:"
		}
	}
	if open == "(" && strings.HasPrefix(p.src, "(?") {
		return nil, false, regexError("quantifier operand invalid")
	}
	p.src = p.src[len(open):]
	if open == "(" {
		p.groups++
	}
	p.backtrack = p.backtrack || constraint
	branches, err := p.alternatives()
	if err != nil {
		return nil, false, err
	}
	if !strings.HasPrefix(p.src, ")") {
		return nil, false, regexError("parentheses () not balanced")
	}
	p.src = p.src[1:]
	return &regexNode{group: open, branches: branches}, constraint, nil
}

// quantifier parses one quantifier, if there is one; two in a row are an error.
func (p *regexParser) quantifier() (*regexQuant, error) {
	q, ok, err := p.oneQuantifier()
	if err != nil || !ok {
		return nil, err
	}
	p.skipBlanks()
	if _, again, err := p.oneQuantifier(); again || err != nil {
		return nil, regexError("quantifier operand invalid")
	}
	return q, nil
}

func (p *regexParser) oneQuantifier() (*regexQuant, bool, error) {
	if p.src == "" {
		return nil, false, nil
	}
	q := &regexQuant{max: -1}
	switch c := p.src[0]; {
	case c == '*':
	case c == '+':
		q.min = 1
	case c == '?':
		q.max = 1
	case c == '{' && len(p.src) > 1 && p.src[1] >= '0' && p.src[1] <= '9':
		if err := p.repetition(q); err != nil {
			return nil, false, err
		}
	default:
		return nil, false, nil
	}
	p.src = p.src[1:]
	if strings.HasPrefix(p.src, "?") {
		q.lazy, p.src = true, p.src[1:]
	}
	return q, true, nil
}

// repetition parses {m}, {m,} or {m,n} up to the closing brace.
func (p *regexParser) repetition(q *regexQuant) error {
	const most = 255 // DUPMAX
	body, _, ok := strings.Cut(p.src[1:], "}")
	if !ok {
		return regexError("braces {} not balanced")
	}
	first, second, bounded := strings.Cut(body, ",")
	q.min = smallNumber(first)
	switch {
	case !bounded:
		q.max = q.min
	case second != "":
		q.max = smallNumber(second)
	}
	if q.min < 0 || bounded && second != "" && q.max < 0 {
		return regexError("invalid repetition count(s)")
	}
	if q.min > most || q.max > most || q.max >= 0 && q.min > q.max {
		return regexError("invalid repetition count(s)")
	}
	p.src = p.src[1+len(body):]
	return nil
}

// smallNumber parses digits; it returns -1 for other text.
func smallNumber(s string) int {
	n := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return -1
		}
		n = min(n*10+int(s[i]-'0'), 1<<20)
	}
	if s == "" {
		return -1
	}
	return n
}

// quoteRune returns a character quoted for use outside and inside of brackets.
func quoteRune(r rune) string {
	if r < 0x80 && strings.ContainsRune(`\.+*?()|[]{}^$-#&~`, r) {
		return `\` + string(r)
	}
	return string(r)
}
