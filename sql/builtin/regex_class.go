package builtin

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Contents of bracket expressions for character classes. Letters are those of Unicode; digits are
// those of ASCII.
const (
	classDigit = `0-9`
	classAlpha = `\p{L}\p{Nl}`
	classAlnum = `\p{L}\p{Nl}\p{Nd}`
	classWord  = classAlnum + `_`
	classSpace = "\t-\r \u1680\u2000-\u2006\u2008-\u200a\u2028\u2029\u205f\u3000"
)

var regexClasses = map[string]string{
	"alpha": classAlpha, "digit": classDigit, "alnum": classAlnum, "space": classSpace, "word": classWord,
	"upper":  `\p{Lu}`,
	"lower":  `\p{Ll}`,
	"punct":  `\p{P}\p{S}`,
	"xdigit": `0-9A-Fa-f`,
	"blank":  " \t",
	"cntrl":  `\p{Cc}`,
	"print":  `\p{L}\p{M}\p{N}\p{P}\p{S}\p{Zs}`, "graph": `\p{L}\p{M}\p{N}\p{P}\p{S}`, "ascii": "\x01-\x7f",
}

// bracket parses […].
func (p *regexParser) bracket() (*regexNode, bool, error) {
	for i, name := range []string{"[[:<:]]", "[[:>:]]"} {
		if strings.HasPrefix(p.src, name) {
			p.src = p.src[len(name):]
			return p.wordEdge(i == 0), true, nil
		}
	}
	p.src = p.src[1:]
	b := &regexBracket{p: p}
	negated := strings.HasPrefix(p.src, "^")
	if negated {
		p.src = p.src[1:]
	}
	for first := true; ; first = false {
		if p.src == "" {
			return nil, false, regexError("brackets [] not balanced")
		}
		if p.src[0] == ']' && !first {
			p.src = p.src[1:]
			break
		}
		if err := b.item(); err != nil {
			return nil, false, err
		}
	}
	set := b.set.String()
	switch {
	case negated && p.flags.dotLine:
		return &regexNode{text: `[^\n` + set + `]`}, false, nil
	case negated:
		return &regexNode{text: `[^` + set + `]`}, false, nil
	}
	return &regexNode{text: `[` + set + `]`}, false, nil
}

// regexBracket collects the contents of a bracket expression.
type regexBracket struct {
	p   *regexParser
	set strings.Builder
}

// item parses a class, a character or a range.
func (b *regexBracket) item() error {
	p := b.p
	if after, ok := strings.CutPrefix(p.src, "[:"); ok {
		name, rest, ok := strings.Cut(after, ":]")
		class, known := regexClasses[name]
		if !ok || !known {
			return regexError("invalid character class")
		}
		p.src = rest
		b.set.WriteString(class)
		return nil
	}
	if len(p.src) > 1 && p.src[0] == '\\' {
		if class := regexShorthand(p.src[1]); class != "" {
			p.src = p.src[2:]
			b.set.WriteString(class)
			return nil
		}
		if strings.IndexByte("DSW", p.src[1]) >= 0 {
			return b.negatedShorthand(p.src[1])
		}
	}
	low, err := b.char()
	if err != nil {
		return err
	}
	high := low
	if len(p.src) > 1 && p.src[0] == '-' && p.src[1] != ']' {
		p.src = p.src[1:]
		if high, err = b.char(); err != nil {
			return err
		}
	}
	if low > high {
		return regexError("invalid character range")
	}
	b.set.WriteString(quoteRune(low))
	if low != high {
		b.set.WriteString("-" + quoteRune(high))
	}
	return nil
}

func regexShorthand(c byte) string {
	switch c {
	case 'd':
		return classDigit
	case 's':
		return classSpace
	case 'w':
		return classWord
	}
	return ""
}

func (b *regexBracket) negatedShorthand(c byte) error {
	b.p.src = b.p.src[2:]
	switch c {
	case 'D':
		b.set.WriteString(`\D`)
	case 'S':
		b.set.WriteString(`\S`)
	default:
		b.set.WriteString(`\W`)
	}
	return nil
}

// char parses one character of a bracket expression: itself, an escape, [.x.] or [=x=].
func (b *regexBracket) char() (rune, error) {
	p := b.p
	for _, mark := range []string{".", "="} {
		after, ok := strings.CutPrefix(p.src, "["+mark)
		if !ok {
			continue
		}
		name, rest, ok := strings.Cut(after, mark+"]")
		if !ok || utf8.RuneCountInString(name) != 1 {
			return 0, regexError("invalid collating element")
		}
		p.src = rest
		r, _ := utf8.DecodeRuneInString(name)
		return r, nil
	}
	if p.src == "" {
		return 0, regexError("brackets [] not balanced")
	}
	if p.src[0] == '\\' {
		p.src = p.src[1:]
		return p.charEscape()
	}
	r, size := utf8.DecodeRuneInString(p.src)
	p.src = p.src[size:]
	return r, nil
}

// wordEdge is \m or \M, the start or the end of a word.
func (p *regexParser) wordEdge(start bool) *regexNode {
	p.backtrack = true
	const word = `[` + classWord + `]`
	if start {
		return &regexNode{text: `(?<!` + word + `)(?=` + word + `)`}
	}
	return &regexNode{text: `(?<=` + word + `)(?!` + word + `)`}
}

// escape parses a backslash sequence outside of brackets.
func (p *regexParser) escape() (node *regexNode, constraint bool, err error) {
	if len(p.src) < 2 {
		return nil, false, regexError(`invalid escape \ sequence`)
	}
	c := p.src[1]
	if class := regexShorthand(c); class != "" {
		p.src = p.src[2:]
		return &regexNode{text: "[" + class + "]"}, false, nil
	}
	if class := regexShorthand(c | 0x20); class != "" {
		p.src = p.src[2:]
		return &regexNode{text: "[^" + class + "]"}, false, nil
	}
	const word = `[` + classWord + `]`
	switch c {
	case 'A':
		p.atStart = true
		node = &regexNode{text: textStart}
	case 'Z':
		node = &regexNode{text: `\z`}
	case 'm', 'M':
		node = p.wordEdge(c == 'm')
	case 'y':
		p.backtrack = true
		node = &regexNode{text: `(?:(?<!` + word + `)(?=` + word + `)|(?<=` + word + `)(?!` + word + `))`}
	case 'Y':
		p.backtrack = true
		node = &regexNode{text: `(?:(?<!` + word + `)(?!` + word + `)|(?<=` + word + `)(?=` + word + `))`}
	}
	if node != nil {
		p.src = p.src[2:]
		return node, true, nil
	}
	p.src = p.src[1:]
	if n := p.backReference(); n > 0 {
		if n > p.groups {
			return nil, false, regexError("invalid backreference number")
		}
		p.backtrack = true
		return &regexNode{text: `(?:\` + string(rune('0'+n)) + `)`}, false, nil
	}
	r, err := p.charEscape()
	return &regexNode{text: quoteRune(r)}, false, err
}

// backReference parses the digit of \1 … \9; it returns 0 for anything else.
func (p *regexParser) backReference() int {
	if p.src[0] < '1' || p.src[0] > '9' || len(p.src) > 1 && p.src[1] >= '0' && p.src[1] <= '9' {
		return 0
	}
	n := int(p.src[0] - '0')
	p.src = p.src[1:]
	return n
}

// charEscape parses an escape sequence for a single character.
func (p *regexParser) charEscape() (rune, error) {
	if p.src == "" {
		return 0, regexError(`invalid escape \ sequence`)
	}
	r, size := utf8.DecodeRuneInString(p.src)
	p.src = p.src[size:]
	if plain := strings.IndexRune(`abBefnrtv`, r); plain >= 0 {
		return rune("\a\b\\\x1b\f\n\r\t\v"[plain]), nil
	}
	switch r {
	case 'c':
		if p.src == "" {
			break
		}
		next, n := utf8.DecodeRuneInString(p.src)
		p.src = p.src[n:]
		return next & 0x1f, nil
	case 'u':
		return p.codePoint(4, 4, 16)
	case 'U':
		return p.codePoint(8, 8, 16)
	case 'x':
		return p.codePoint(1, 255, 16)
	case '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		p.src = string(r) + p.src
		return p.codePoint(1, 3, 8)
	}
	if r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
		return 0, regexError(`invalid escape \ sequence`)
	}
	return r, nil
}

// codePoint parses a character by number: at least low and at most high digits.
func (p *regexParser) codePoint(low, high int, base rune) (rune, error) {
	var n rune
	i := 0
	for ; i < high && i < len(p.src); i++ {
		d, ok := hexDigit(p.src[i])
		if !ok || rune(d) >= base {
			break
		}
		if n = n*base + rune(d); n > unicode.MaxRune {
			return 0, regexError(`invalid escape \ sequence`)
		}
	}
	if i < low {
		return 0, regexError(`invalid escape \ sequence`)
	}
	p.src = p.src[i:]
	return n, nil
}
