package shape

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// Text is the text of a statement as Split has found it.
type Text struct {
	Source   string
	Shape    string // equal for texts that differ only in literals of the same kinds, and in comments
	Literals []Literal
	End      int // of the statement in Source, before its semicolon
}

// Literal is a number or a string in a text.
type Literal struct {
	Kind       Kind
	Start, End int    // in the source
	Value      string // of a string without quotes and escapes, or the digits of a number
}

// Kind is the kind of a literal, which decides its type before its context does.
type Kind byte

// Kinds of literals.
const (
	Int4    Kind = 'i'
	Int8    Kind = 'l'
	Numeric Kind = 'n'
	String  Kind = 's'
)

// Limits of texts that are split.
const (
	MaxText     = 16 << 10
	MaxLiterals = 256
)

// mark stands in shapes for a literal, before the letter of its kind. Split refuses texts that have
// it.
const mark = 1

// Split returns the shape and the literals of a text. ok is false if the text is not one query, or
// is not understood. Strings of the result may alias the text.
func Split(text string) (out Text, ok bool) {
	if len(text) > MaxText || !beginsQuery(text) || !utf8.ValidString(text) || strings.ContainsAny(text, "\x00\x01") {
		return out, false
	}
	s := scanner{text: text, shape: make([]byte, 0, len(text)+16)}
	for s.at < len(text) {
		if !s.token() {
			return out, false
		}
	}
	if len(s.literals) == 0 {
		return out, false
	}
	if s.end == 0 {
		s.end = len(text)
	}
	return Text{
		Source: text, Shape: string(bytes.TrimRight(s.shape, " ")), Literals: s.literals, End: s.end,
	}, true
}

// beginsQuery reports whether the first word of a text is that of a query.
func beginsQuery(text string) bool {
	text = strings.TrimLeft(text, " \t\n\r(")
	n := 0
	for n < len(text) && isLetter(text[n]) {
		n++
	}
	if n > len("select") {
		return false
	}
	switch strings.ToLower(text[:n]) {
	case "select", "insert", "update", "delete", "with", "values":
		return true
	case "": // a comment
		return len(text) > 1 && (text[:2] == "--" || text[:2] == "/*")
	}
	return false
}

// Statement returns the statement without its semicolon, comments and blanks around it included.
func (t *Text) Statement() string { return t.Source[:t.End] }
