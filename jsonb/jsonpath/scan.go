package jsonpath

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sherddb/sherd/internal/pgerr"
)

// tokenKind is the kind of a token. Keywords and operators are distinguished by their text.
type tokenKind uint8

const (
	tokEnd      tokenKind = iota
	tokSymbol             // an operator or bracket
	tokIdent              // an unquoted name that is no keyword
	tokKeyword            // text is the keyword in lower case, raw the name as written
	tokString             // text is unescaped
	tokVariable           // $name
	tokInt
	tokNumeric
)

type token struct {
	kind tokenKind
	text string
	raw  string // a keyword as written
	near string // what an error at this token quotes; "" is the end of the input
}

// keywords are names only if a key is expected. The value reports whether a keyword must be in
// lower case.
var keywords = map[string]bool{
	"is": false, "to": false, "abs": false, "lax": false, "flag": false, "last": false, "null": true, "size": false,
	"true": true, "type": false, "with": false, "false": true, "floor": false, "double": false, "exists": false,
	"starts": false, "strict": false, "ceiling": false, "unknown": false, "datetime": false, "keyvalue": false,
	"like_regex": false,
}

const special = `?%$.[]{}()|&!=<>@#,*:-+/`

func isBlank(c byte) bool { return strings.IndexByte(" \t\n\r\f", c) >= 0 }

// isOther reports whether a byte may be in a name.
func isOther(c byte) bool {
	return !isBlank(c) && strings.IndexByte(special, c) < 0 && c != '"' && c != '\\'
}

// scanner cuts jsonpath text into tokens, with the longest-match rules of PostgreSQL's scanner.
type scanner struct {
	text string
	at   int
}

func syntaxAt(what, near string) error {
	if near == "" {
		return pgerr.New(pgerr.SyntaxError, "%s at end of jsonpath input", what)
	}
	return pgerr.New(pgerr.SyntaxError, "%s at or near \"%s\" of jsonpath input", what, near)
}

// skip passes blanks and comments.
func (s *scanner) skip() error {
	for s.at < len(s.text) {
		switch {
		case isBlank(s.text[s.at]):
			s.at++
		case strings.HasPrefix(s.text[s.at:], "/*"):
			end := strings.Index(s.text[s.at+2:], "*/")
			if end < 0 {
				return syntaxAt("unexpected end of comment", "")
			}
			s.at += end + 4
		default:
			return nil
		}
	}
	return nil
}

func (s *scanner) next() (token, error) {
	if err := s.skip(); err != nil || s.at >= len(s.text) {
		return token{}, err
	}
	rest := s.text[s.at:]
	switch c := rest[0]; {
	case c == '"':
		text, err := s.quoted()
		return token{kind: tokString, text: text, near: `"`}, err
	case c == '$':
		return s.dollar()
	case c >= '0' && c <= '9' || c == '.' && len(rest) > 1 && isDigit(rest[1]):
		if tok, ok, err := s.number(); ok || err != nil {
			return tok, err
		}
		return s.name()
	case strings.IndexByte(special, c) >= 0:
		n := 1
		if len(rest) > 1 {
			switch rest[:2] {
			case "&&", "||", "**", "<=", "==", "<>", "!=", ">=":
				n = 2
			}
		}
		s.at += n
		text := rest[:n]
		if text == "<>" {
			return token{kind: tokSymbol, text: "!=", near: text}, nil
		}
		return token{kind: tokSymbol, text: text, near: text}, nil
	}
	return s.name()
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// dollar reads $, $name or $"name".
func (s *scanner) dollar() (token, error) {
	s.at++
	if s.at < len(s.text) {
		if s.text[s.at] == '"' {
			text, err := s.quoted()
			return token{kind: tokVariable, text: text, near: `"`}, err
		}
		from := s.at
		for s.at < len(s.text) && isOther(s.text[s.at]) {
			s.at++
		}
		if s.at > from {
			return token{kind: tokVariable, text: s.text[from:s.at], near: s.text[from-1 : s.at]}, nil
		}
	}
	return token{kind: tokSymbol, text: "$", near: "$"}, nil
}

// number reads an integer, decimal or real; ok is false if a longer name begins here.
func (s *scanner) number() (token, bool, error) {
	rest := s.text[s.at:]
	kind, n := tokInt, 0
	digits := func() {
		for n < len(rest) && isDigit(rest[n]) {
			n++
		}
	}
	switch {
	case rest[0] == '0':
		n = 1
	case rest[0] != '.':
		digits()
	}
	if n < len(rest) && rest[n] == '.' {
		kind = tokNumeric
		n++
		digits()
	}
	bad := ""
	if n < len(rest) && rest[n]|0x20 == 'e' {
		m := n
		n++
		sign := n < len(rest) && (rest[n] == '+' || rest[n] == '-')
		if sign {
			n++
		}
		switch {
		case n < len(rest) && isDigit(rest[n]):
			kind = tokNumeric
			digits()
		case sign:
			bad = "invalid numeric literal"
		default:
			n = m
		}
	}
	junk := n
	if bad == "" && n < len(rest) && isOther(rest[n]) {
		_, size := utf8.DecodeRuneInString(rest[n:])
		bad, junk = "trailing junk after numeric literal", n+size
	}
	name := 0
	for name < len(rest) && isOther(rest[name]) {
		name++
	}
	if name > junk {
		return token{}, false, nil
	}
	if bad != "" {
		return token{}, false, syntaxAt(bad, rest[:junk])
	}
	s.at += n
	return token{kind: kind, text: rest[:n], near: rest[:n]}, true, nil
}

// name reads an unquoted name, with escapes, and looks it up among the keywords.
func (s *scanner) name() (token, error) {
	var b []byte
	for s.at < len(s.text) {
		c := s.text[s.at]
		if c == '\\' {
			var err error
			if b, err = s.escape(b); err != nil {
				return token{}, err
			}
			continue
		}
		if !isOther(c) {
			break
		}
		b = append(b, c)
		s.at++
	}
	tok := token{kind: tokIdent, text: string(b), raw: string(b)}
	if s.at < len(s.text) && isBlank(s.text[s.at]) {
		tok.near = s.text[s.at : s.at+1]
	}
	lower := strings.ToLower(tok.text)
	if exact, ok := keywords[lower]; ok && (!exact || lower == tok.text) {
		tok.kind, tok.text = tokKeyword, lower
	}
	return tok, nil
}

// quoted reads a string from its opening quote.
func (s *scanner) quoted() (string, error) {
	s.at++
	var b []byte
	for s.at < len(s.text) {
		switch c := s.text[s.at]; c {
		case '"':
			s.at++
			return string(b), nil
		case '\\':
			if s.at+1 >= len(s.text) {
				return "", syntaxAt("unexpected end after backslash", `\`)
			}
			var err error
			if b, err = s.escape(b); err != nil {
				return "", err
			}
		default:
			b = append(b, c)
			s.at++
		}
	}
	return "", syntaxAt("unexpected end of quoted string", "")
}

// escape reads one escape and appends the character that it means.
func (s *scanner) escape(b []byte) ([]byte, error) {
	rest := s.text[s.at:]
	if len(rest) < 2 {
		return nil, syntaxAt("unexpected end after backslash", `\`)
	}
	if i := strings.IndexByte("bfnrtv", rest[1]); i >= 0 {
		s.at += 2
		return append(b, "\b\f\n\r\t\v"[i]), nil
	}
	switch rest[1] {
	case 'x':
		v, n := hexDigits(rest[2:], 2)
		if n != 2 {
			return nil, syntaxAt("invalid hex character sequence", rest[:2+n])
		}
		s.at += 4
		return appendCodePoint(b, rune(v))
	case 'u':
		return s.unicode(b)
	}
	_, n := utf8.DecodeRuneInString(rest[1:])
	s.at += 1 + n
	return append(b, rest[1:1+n]...), nil
}

// hexDigits reads up to limit hexadecimal digits.
func hexDigits(s string, limit int) (v, n int) {
	for n < len(s) && n < limit {
		d := strings.IndexByte("0123456789abcdef", s[n]|0x20)
		if d < 0 || s[n] < '0' {
			break
		}
		v, n = v<<4|d, n+1
	}
	return v, n
}

// unicode reads a run of \uXXXX and \u{X…}, so that surrogates find each other.
func (s *scanner) unicode(b []byte) ([]byte, error) {
	high := rune(0)
	for strings.HasPrefix(s.text[s.at:], `\u`) {
		rest := s.text[s.at:]
		v, n := hexDigits(rest[2:], 4)
		size := 2 + n
		if strings.HasPrefix(rest, `\u{`) {
			v, n = hexDigits(rest[3:], 6)
			size = 4 + n
			if n == 0 || len(rest) < size || rest[size-1] != '}' {
				return nil, syntaxAt("invalid unicode sequence", rest[:3+n])
			}
		} else if n != 4 {
			return nil, syntaxAt("invalid unicode sequence", rest[:2+n])
		}
		s.at += size
		r := rune(v)
		isHigh, isLow := r >= 0xd800 && r < 0xdc00, r >= 0xdc00 && r < 0xe000
		switch {
		case isHigh && high != 0:
			return nil, invalid("Unicode high surrogate must not follow a high surrogate.")
		case isLow != (high != 0):
			return nil, invalid("Unicode low surrogate must follow a high surrogate.")
		case isHigh:
			high = r
			continue
		case isLow:
			r, high = utf16.DecodeRune(high, r), 0
		}
		var err error
		if b, err = appendCodePoint(b, r); err != nil {
			return nil, err
		}
	}
	if high != 0 {
		return nil, invalid("Unicode low surrogate must follow a high surrogate.")
	}
	return b, nil
}

func appendCodePoint(b []byte, r rune) ([]byte, error) {
	if r == 0 {
		return nil, pgerr.New(pgerr.UntranslatableCharacter, "unsupported Unicode escape sequence").
			WithDetail(`\u0000 cannot be converted to text.`)
	}
	if !utf8.ValidRune(r) {
		return nil, pgerr.New(pgerr.SyntaxError, "invalid Unicode code point")
	}
	return utf8.AppendRune(b, r), nil
}

func invalid(detail string) error {
	return pgerr.New(
		pgerr.InvalidTextRepresentation, "invalid input syntax for type %s", "jsonpath",
	).WithDetail("%s", detail)
}
