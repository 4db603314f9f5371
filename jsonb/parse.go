package jsonb

import (
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sherddb/sherd/internal/pgerr"
)

// parsers keeps builders with room between calls of Parse; it holds no state.
var parsers = sync.Pool{New: func() any { return new(parser) }}

// checkEvery is how many bytes are read or written between two calls of a caller's check.
const checkEvery = 1 << 20

// maxText is PostgreSQL's longest value.
const maxText = 1<<30 - 1

// Parse reads JSON text as the jsonb type does. It returns 22P02 if the text is not JSON, 22P05 for
// \u0000, 22003 for numbers that numeric cannot hold, 22021 for text that is not UTF-8, and 54001
// beyond MaxDepth.
func Parse(text string) (Doc, error) { return ParseUntil(text, nil) }

// ParseUntil is Parse, but calls check once in a megabyte and returns its error. A nil check is not
// called.
func ParseUntil(text string, check func() error) (Doc, error) {
	if !utf8.ValidString(text) {
		return "", invalidUTF8(text)
	}
	if len(text) > maxText {
		return "", pgerr.New(pgerr.ProgramLimitExceeded, "JSON text of %d bytes is too long", len(text)).
			WithDetail("The longest has %d bytes.", maxText)
	}
	p := parsers.Get().(*parser)
	if len(text) <= 1<<16 { // the room of a large text would be held for nothing
		defer parsers.Put(p)
	}
	p.text, p.at, p.room = text, 0, p.room[:0]
	p.check, p.look = check, checkEvery
	if check == nil {
		p.look = maxText
	}
	ok := p.value()
	if ok && p.b.err == nil {
		p.space()
		ok = p.at == len(text)
	}
	p.text, p.check = "", nil
	if p.b.err != nil || ok {
		return p.b.Finish()
	}
	p.b.reset()
	return "", diagnose(text)
}

// parser reads valid JSON fast. It only reports that a text is wrong; diagnose then finds
// PostgreSQL's error.
type parser struct {
	text string
	at   int
	room []byte // of strings that had escapes
	b    Builder

	check func() error
	look  int // where check is called next
}

func (p *parser) space() {
	for p.at < len(p.text) {
		switch p.text[p.at] {
		case ' ', '\n', '\t', '\r':
			p.at++
		default:
			return
		}
	}
}

// take skips white space and then the byte c, if it is there.
func (p *parser) take(c byte) bool {
	p.space()
	if p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

func (p *parser) value() bool {
	p.space()
	if p.at >= len(p.text) {
		return false
	}
	if p.at >= p.look {
		p.look = p.at + checkEvery
		if err := p.check(); err != nil {
			p.b.fail(err)
			return false
		}
	}
	switch c := p.text[p.at]; c {
	case '{':
		return p.object()
	case '[':
		return p.array()
	case '"':
		s, ok := p.str()
		p.b.add(node{tag: tagString, text: s, size: int32(1 + len(s))})
		return ok
	case 't':
		p.b.add(node{tag: tagTrue, size: 1})
		return p.word("true")
	case 'f':
		p.b.add(node{tag: tagFalse, size: 1})
		return p.word("false")
	case 'n':
		p.b.add(node{tag: tagNull, size: 1})
		return p.word("null")
	}
	return p.number()
}

func (p *parser) word(w string) bool {
	if !strings.HasPrefix(p.text[p.at:], w) {
		return false
	}
	p.at += len(w)
	return p.at == len(p.text) || !wordByte(p.text[p.at])
}

// wordByte reports whether PostgreSQL's lexer takes a byte into one token with a preceding word or
// number.
func wordByte(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '_' || c >= 0x80
}

func (p *parser) number() bool {
	n := scanNumber(p.text[p.at:])
	if n == 0 {
		return false
	}
	s := p.text[p.at : p.at+n]
	if n >= 20 || s[0] == '-' || digits(s, 0) < n { // a short run of digits is canonical
		var err error
		if s, err = canonicalNumber(s); err != nil {
			p.b.fail(err)
			return false
		}
	}
	p.at += n
	p.b.add(numberNode(s))
	return p.at == len(p.text) || !wordByte(p.text[p.at])
}

func (p *parser) array() bool {
	p.at++
	p.b.begin(tagArray)
	if p.b.err != nil {
		return false
	}
	if !p.take(']') {
		for {
			p.b.key = ""
			if !p.value() {
				return false
			}
			if p.take(']') {
				break
			}
			if !p.take(',') {
				return false
			}
		}
	}
	p.b.End()
	return p.b.err == nil
}

func (p *parser) object() bool {
	p.at++
	p.b.begin(tagObject)
	if p.b.err != nil {
		return false
	}
	if !p.take('}') {
		for {
			p.space()
			if p.at >= len(p.text) || p.text[p.at] != '"' {
				return false
			}
			key, ok := p.str()
			if !ok || !p.take(':') {
				return false
			}
			p.b.key = key
			if !p.value() {
				return false
			}
			if p.take('}') {
				break
			}
			if !p.take(',') {
				return false
			}
		}
	}
	p.b.End()
	return p.b.err == nil
}

// str reads a string, which aliases the text if it has no escapes.
func (p *parser) str() (string, bool) {
	from := p.at + 1
	i := from + plainPrefix(p.text[from:])
	switch {
	case i == len(p.text) || p.text[i] < 0x20:
		return "", false
	case p.text[i] == '"':
		p.at = i + 1
		return p.fits(p.text[from:i])
	}
	return p.escaped(from, i)
}

func (p *parser) fits(s string) (string, bool) {
	if len(s) > maxSize {
		p.b.checkText(s)
		return "", false
	}
	return s, true
}

// escaped reads the rest of a string from its first backslash on, into room that lasts until the
// next Parse.
func (p *parser) escaped(from, i int) (string, bool) {
	start := len(p.room)
	buf := append(p.room, p.text[from:i]...)
	for i < len(p.text) {
		c := p.text[i]
		switch {
		case c == '"':
			p.at, p.room = i+1, buf
			return p.fits(string(FromBytes(buf[start:])))
		case c < 0x20 || c == '\\' && i+1 >= len(p.text):
			return "", false
		case c != '\\':
			n := plainPrefix(p.text[i:])
			buf = append(buf, p.text[i:i+n]...)
			i += n
			continue
		}
		if p.text[i+1] == 'u' {
			r, n := unicodeEscape(p.text[i:])
			if n == 0 {
				return "", false
			}
			buf = utf8.AppendRune(buf, r)
			i += n
			continue
		}
		at := strings.IndexByte(`"\/bfnrt`, p.text[i+1])
		if at < 0 {
			return "", false
		}
		buf = append(buf, "\"\\/\b\f\n\r\t"[at])
		i += 2
	}
	return "", false
}

// unicodeEscape reads \uXXXX, or two of them that are a surrogate pair; n is 0 if they are wrong or
// mean NUL.
func unicodeEscape(s string) (r rune, n int) {
	r, ok := hex4(s)
	if !ok || r == 0 {
		return 0, 0
	}
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	low, ok := hex4(s[6:])
	if r = utf16.DecodeRune(r, low); !ok || r == utf8.RuneError {
		return 0, 0
	}
	return r, 12
}

func hex4(s string) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	var r rune
	for i := 2; i < 6; i++ {
		c := s[i]
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// ValidateJSON checks text as the json type does, which stores it unchanged: it checks only the
// form of escapes.
func ValidateJSON(text string) error {
	if !utf8.ValidString(text) {
		return invalidUTF8(text)
	}
	l := lexer{text: text, line: 1}
	return l.document()
}

// diagnose returns PostgreSQL's error for text that is not valid jsonb.
func diagnose(text string) error {
	l := lexer{text: text, line: 1, unescape: true}
	if err := l.document(); err != nil {
		return err
	}
	return pgerr.New(pgerr.InvalidTextRepresentation, "invalid input syntax for type json")
}
