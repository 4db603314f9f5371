package jsonb

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/sherddb/sherd/internal/pgerr"
)

// lexer checks JSON text token by token and phrases its errors as PostgreSQL does. It is the slow
// counterpart of parser: it serves the json type, which only checks, and finds the message after
// parser has refused a text.
type lexer struct {
	text      string
	unescape  bool // check what escapes stand for, not only their form
	start     int  // of the current token
	end       int  // of it; errors in the middle of a token move it
	kind      byte // of it: one of {}[],:, '"', '0' for numbers, 't' 'f' 'n', 'E' at the end
	line      int
	lineStart int
	depth     int
}

func (l *lexer) document() error {
	if err := l.next(); err != nil {
		return err
	}
	if err := l.value(); err != nil {
		return err
	}
	if l.kind != 'E' {
		return l.expected("end of input")
	}
	return nil
}

func (l *lexer) value() error {
	switch l.kind {
	case '{':
		return l.object()
	case '[':
		return l.array()
	case '"', '0', 't', 'f', 'n':
		return l.next()
	}
	return l.expected("JSON value")
}

func (l *lexer) enter() error {
	if l.depth++; l.depth > MaxDepth {
		return tooDeep()
	}
	return l.next()
}

func (l *lexer) array() error {
	if err := l.enter(); err != nil {
		return err
	}
	if l.kind != ']' {
		for {
			if err := l.value(); err != nil {
				return err
			}
			if l.kind != ',' {
				break
			}
			if err := l.next(); err != nil {
				return err
			}
		}
		if l.kind != ']' {
			return l.expected(`"," or "]"`)
		}
	}
	l.depth--
	return l.next()
}

func (l *lexer) object() error {
	if err := l.enter(); err != nil {
		return err
	}
	if l.kind != '}' && l.kind != '"' {
		return l.expected(`string or "}"`)
	}
	if l.kind == '"' {
		for {
			if err := l.pair(); err != nil {
				return err
			}
			if l.kind != ',' {
				break
			}
			if err := l.next(); err != nil {
				return err
			}
		}
		if l.kind != '}' {
			return l.expected(`"," or "}"`)
		}
	}
	l.depth--
	return l.next()
}

func (l *lexer) pair() error {
	if l.kind != '"' {
		return l.expected("string")
	}
	if err := l.next(); err != nil {
		return err
	}
	if l.kind != ':' {
		return l.expected(`":"`)
	}
	if err := l.next(); err != nil {
		return err
	}
	return l.value()
}

// next reads a token.
func (l *lexer) next() error {
	i := l.end
	for ; i < len(l.text) && strings.IndexByte(" \t\n\r", l.text[i]) >= 0; i++ {
		if l.text[i] == '\n' {
			l.line++
			l.lineStart = i + 1
		}
	}
	l.start, l.end = i, i
	if i >= len(l.text) {
		l.kind = 'E'
		return nil
	}
	l.kind = l.text[i]
	switch c := l.text[i]; {
	case strings.IndexByte("{}[],:", c) >= 0:
		l.end = i + 1
		return nil
	case c == '"':
		return l.str()
	case c == '-' || c >= '0' && c <= '9':
		return l.number()
	}
	return l.word()
}

func (l *lexer) word() error {
	i := l.start
	for i < len(l.text) && wordByte(l.text[i]) {
		i++
	}
	if i == l.start {
		i++ // a stray byte is a token of its own
	}
	l.end = i
	switch l.text[l.start:i] {
	case "true", "false", "null":
		return nil
	}
	return l.invalidToken()
}

// number reads a number, and includes what follows without a separator in the error.
func (l *lexer) number() error {
	l.kind = '0'
	n := scanNumber(l.text[l.start:])
	i := l.start + n
	if n == 0 || i < len(l.text) && (wordByte(l.text[i])) {
		i = l.start + partialNumber(l.text[l.start:])
		for i < len(l.text) && wordByte(l.text[i]) {
			i++
		}
		l.end = i
		return l.invalidToken()
	}
	l.end = i
	return nil
}

// partialNumber returns the length of the valid part of a wrong number.
func partialNumber(s string) int {
	i := 0
	if s[0] == '-' {
		i++
	}
	switch {
	case i < len(s) && s[i] == '0':
		i++
	default:
		i = digits(s, i)
	}
	if i < len(s) && s[i] == '.' {
		i = digits(s, i+1)
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		i = digits(s, i)
	}
	return i
}

func (l *lexer) str() error {
	high := false // the last escape was a high surrogate
	for i := l.start + 1; ; {
		if i >= len(l.text) {
			l.end = i
			return l.invalidToken()
		}
		switch c := l.text[i]; {
		case c == '"':
			if high {
				return l.badEscape(i+1, "Unicode low surrogate must follow a high surrogate.")
			}
			l.end = i + 1
			return nil
		case c < 0x20:
			l.end = i
			return l.fail("Character with value 0x%02x must be escaped.", c)
		case c == '\\':
			n, err := l.escape(i, &high)
			if err != nil {
				return err
			}
			i += n
		default:
			_, n := utf8.DecodeRuneInString(l.text[i:])
			if high {
				return l.badEscape(i+n, "Unicode low surrogate must follow a high surrogate.")
			}
			i += n
		}
	}
}

// escape checks the escape at i and returns its length.
func (l *lexer) escape(i int, high *bool) (int, error) {
	const lowFirst = "Unicode low surrogate must follow a high surrogate."
	if i+1 >= len(l.text) {
		l.end = len(l.text)
		return 0, l.invalidToken()
	}
	c := l.text[i+1]
	if c != 'u' {
		if *high {
			return 0, l.badEscape(i+2, lowFirst)
		}
		if strings.IndexByte(`"\/bfnrt`, c) >= 0 {
			return 2, nil
		}
		_, n := utf8.DecodeRuneInString(l.text[i+1:])
		l.start, l.end = i+1, i+1+n
		return 0, l.fail(`Escape sequence "\%s" is invalid.`, l.token())
	}
	r, ok := hex4(l.text[i:])
	if !ok {
		j := i + 2
		for j < len(l.text) && j < i+6 && isHex(l.text[j]) {
			j++
		}
		if j >= len(l.text) {
			l.end = j
			return 0, l.invalidToken()
		}
		_, n := utf8.DecodeRuneInString(l.text[j:])
		return 0, l.badEscape(j+n, `"\u" must be followed by four hexadecimal digits.`)
	}
	if !l.unescape {
		return 6, nil
	}
	return 6, l.surrogate(i, r, high)
}

func (l *lexer) surrogate(i int, r rune, high *bool) error {
	isHigh, isLow := r >= 0xd800 && r < 0xdc00, r >= 0xdc00 && r < 0xe000
	switch {
	case isHigh && *high:
		return l.badEscape(i+6, "Unicode high surrogate must not follow a high surrogate.")
	case isLow != *high:
		return l.badEscape(i+6, "Unicode low surrogate must follow a high surrogate.")
	case r == 0:
		l.end = i + 6
		return l.fail(`\u0000 cannot be converted to text.`)
	}
	*high = isHigh
	return nil
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }

func (l *lexer) badEscape(end int, detail string) error {
	l.end = end
	return l.fail("%s", detail)
}

func (l *lexer) token() string { return l.text[l.start:l.end] }

func (l *lexer) invalidToken() error { return l.fail(`Token "%s" is invalid.`, l.token()) }

func (l *lexer) expected(what string) error {
	if l.kind == 'E' {
		return l.fail("The input string ended unexpectedly.")
	}
	return l.fail(`Expected %s, but found "%s".`, what, l.token())
}

// fail returns an error at the current token, with the line up to its end as context.
func (l *lexer) fail(detail string, args ...any) error {
	e := pgerr.New(pgerr.InvalidTextRepresentation, "invalid input syntax for type json")
	if strings.HasPrefix(detail, `\u0000`) {
		e = pgerr.New(pgerr.UntranslatableCharacter, "unsupported Unicode escape sequence")
	}
	e.Detail = fmt.Sprintf(detail, args...)
	e.Where = fmt.Sprintf("JSON data, line %d: %s", l.line, l.excerpt())
	return e
}

// excerpt returns at most 50 bytes of the line before the end of the token.
func (l *lexer) excerpt() string {
	from := l.lineStart
	for l.end-from >= 50 {
		_, n := utf8.DecodeRuneInString(l.text[from:])
		from += n
	}
	if from-l.lineStart <= 3 {
		from = l.lineStart
	}
	s := l.text[from:l.end]
	if from > l.lineStart {
		s = "..." + s
	}
	if l.kind != 'E' && l.end < len(l.text) && l.text[l.end] != '\n' && l.text[l.end] != '\r' {
		s += "..."
	}
	return s
}
