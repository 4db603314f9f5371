package shape

import (
	"bytes"
	"strconv"
	"strings"
)

// scanner reads the tokens of a text, and writes its shape.
type scanner struct {
	text     string
	at       int
	shape    []byte
	literals []Literal
	end      int  // of the statement, if its semicolon was read; 0: not yet
	afterStr bool // the last token is a string: another one would continue it
}

// token reads the next token, blank or comment. It returns false if it does not know it.
func (s *scanner) token() bool {
	c := s.text[s.at]
	switch {
	case isBlank(c):
		s.at++
		s.blank()
		return true
	case s.has("--"):
		s.lineComment()
		return true
	case s.has("/*"):
		return s.comment()
	case s.end > 0:
		return false // a second statement
	}
	after := s.afterStr
	s.afterStr = false
	switch {
	case c == '\'':
		return !after && s.str(s.at)
	case c == '$':
		return !after && s.dollar()
	case c == '"':
		return s.name()
	case isDigit(c):
		return s.number()
	case c == '.' && s.at+1 < len(s.text) && (isDigit(s.text[s.at+1]) || s.text[s.at+1] == '.'):
		return false
	case isLetter(c):
		return s.word(after)
	case c == ';':
		s.end = s.at
		s.at++
		return s.end > 0
	case strings.IndexByte("+-*/<>=~!@#%^&|`?()[],.:", c) >= 0:
		s.keep(1)
		return true
	}
	return false
}

func (s *scanner) has(prefix string) bool { return strings.HasPrefix(s.text[s.at:], prefix) }

// keep makes the next n bytes a part of the shape.
func (s *scanner) keep(n int) {
	s.shape = append(s.shape, s.text[s.at:s.at+n]...)
	s.at += n
}

// blank ends a token in the shape.
func (s *scanner) blank() {
	if n := len(s.shape); n > 0 && s.shape[n-1] != ' ' && s.end == 0 {
		s.shape = append(s.shape, ' ')
	}
}

func (s *scanner) lineComment() {
	n := strings.IndexAny(s.text[s.at:], "\n\r")
	if n < 0 {
		n = len(s.text) - s.at
	}
	s.at += n
	s.blank()
}

// comment skips a comment, which may contain others.
func (s *scanner) comment() bool {
	for depth := 0; s.at < len(s.text); {
		switch {
		case s.has("/*"):
			depth++
			s.at += 2
		case s.has("*/"):
			s.at += 2
			if depth--; depth == 0 {
				s.blank()
				return true
			}
		default:
			s.at++
		}
	}
	return false
}

// literal adds a literal that ends here.
func (s *scanner) literal(kind Kind, start int, value string) bool {
	s.literals = append(s.literals, Literal{kind, start, s.at, value})
	s.shape = append(s.shape, mark, byte(kind))
	return len(s.literals) <= MaxLiterals
}

// word reads a key word or a name, or a string with the prefix E.
func (s *scanner) word(after bool) bool {
	n := 1
	for s.at+n < len(s.text) && (isLetter(s.text[s.at+n]) || isDigit(s.text[s.at+n]) || s.text[s.at+n] == '$') {
		n++
	}
	rest := s.text[s.at+n:]
	if n == 1 && rest != "" {
		switch c := s.text[s.at] | 0x20; {
		case rest[0] == '\'' && c == 'e':
			return !after && s.escaped()
		case rest[0] == '\'' && (c == 'b' || c == 'x' || c == 'n'):
			return false
		case c == 'u' && (strings.HasPrefix(rest, "&'") || strings.HasPrefix(rest, `&"`)):
			return false
		}
	}
	s.keep(n)
	return true
}

// name reads a quoted name.
func (s *scanner) name() bool {
	n := strings.IndexByte(s.text[s.at+1:], '"')
	if n <= 0 {
		return false
	}
	s.keep(n + 2) // a doubled quote is read as the beginning of the next name
	return true
}

// str reads a string whose first quote is here; the literal begins at start.
func (s *scanner) str(start int) bool {
	s.at++
	from, doubled := s.at, false
	for {
		n := strings.IndexByte(s.text[s.at:], '\'')
		if n < 0 {
			return false
		}
		if s.at += n + 1; s.at >= len(s.text) || s.text[s.at] != '\'' {
			break
		}
		s.at++
		doubled = true
	}
	value := s.text[from : s.at-1]
	if doubled {
		value = strings.ReplaceAll(value, "''", "'")
	}
	s.afterStr = true
	return s.literal(String, start, value)
}

// escaped reads a string with the prefix E. Escapes of characters by number are not known.
func (s *scanner) escaped() bool {
	start := s.at
	s.at += 2
	var value []byte
	for s.at < len(s.text) {
		c := s.text[s.at]
		s.at++
		if c != '\'' && c != '\\' {
			value = append(value, c)
			continue
		}
		next := byte(0)
		if s.at < len(s.text) {
			next = s.text[s.at]
		}
		switch {
		case c == '\'' && next != '\'':
			s.afterStr = true
			return s.literal(String, start, string(value))
		case c == '\\':
			if next = unescaped(next); next == 0 {
				return false
			}
		}
		value = append(value, next)
		s.at++
	}
	return false
}

// unescaped returns the byte that c stands for behind a backslash; 0: it is not known.
func unescaped(c byte) byte {
	if i := bytes.IndexByte([]byte("bfnrt"), c); i >= 0 {
		return "\b\f\n\r\t"[i]
	}
	if c == 'u' || c == 'U' || c == 'x' || c == 'v' || isDigit(c) || c >= 0x80 {
		return 0
	}
	return c
}

// dollar reads a string between dollar signs with a tag.
func (s *scanner) dollar() bool {
	n := 1
	for s.at+n < len(s.text) && (isLetter(s.text[s.at+n]) || n > 1 && isDigit(s.text[s.at+n])) {
		n++
	}
	if s.at+n >= len(s.text) || s.text[s.at+n] != '$' {
		return false // a parameter
	}
	start, tag := s.at, s.text[s.at:s.at+n+1]
	from := s.at + len(tag)
	size := strings.Index(s.text[from:], tag)
	if size < 0 {
		return false
	}
	s.at = from + size + len(tag)
	s.afterStr = true
	return s.literal(String, start, s.text[from:from+size])
}

// number reads a number without sign.
func (s *scanner) number() bool {
	start, whole := s.at, true
	s.digits()
	if s.at < len(s.text) && s.text[s.at] == '.' {
		s.at++
		s.digits()
		whole = false
	}
	if s.at < len(s.text) && s.text[s.at]|0x20 == 'e' {
		s.at++
		if s.at < len(s.text) && (s.text[s.at] == '+' || s.text[s.at] == '-') {
			s.at++
		}
		if from := s.at; s.digits() == from {
			return false
		}
		whole = false
	}
	if s.at < len(s.text) {
		if c := s.text[s.at]; isLetter(c) || isDigit(c) || c == '.' || c == '$' {
			return false
		}
	}
	value := s.text[start:s.at]
	kind, ok := kindOf(value, whole)
	return ok && s.literal(kind, start, value)
}

func (s *scanner) digits() int {
	for s.at < len(s.text) && isDigit(s.text[s.at]) {
		s.at++
	}
	return s.at
}

// kindOf returns the kind of a number. It is not known for numbers that a minus sign would make
// another one.
func kindOf(value string, whole bool) (Kind, bool) {
	if !whole {
		return Numeric, true
	}
	n, err := strconv.ParseUint(value, 10, 64)
	switch {
	case err == nil && n < 1<<31:
		return Int4, true
	case err == nil && n < 1<<63:
		return Int8, n != 1<<31
	}
	return Numeric, err != nil || n != 1<<63
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isLetter reports whether a byte may begin a name.
func isLetter(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}
