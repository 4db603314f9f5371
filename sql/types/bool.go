package types

import (
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
)

func badSyntax(typeName, s string) error {
	return pgerr.New(pgerr.InvalidTextRepresentation, "invalid input syntax for type %s: \"%s\"", typeName, s)
}

func outOfRange(s, typeName string) error {
	return pgerr.New(pgerr.NumericValueOutOfRange, "value \"%s\" is out of range for type %s", s, typeName)
}

// isSpace is C's isspace.
func isSpace(c byte) bool { return c == ' ' || ('\t' <= c && c <= '\r') }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isAlpha(c byte) bool { return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') }

func trimSpace(s string) string {
	for s != "" && isSpace(s[0]) {
		s = s[1:]
	}
	for s != "" && isSpace(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return s
}

// parseBool accepts unique prefixes of true, false, yes, no, and on, off, 1, 0.
func parseBool(s string) (Datum, error) {
	t := strings.ToLower(trimSpace(s))
	prefix := func(word string, least int) bool { return len(t) >= least && strings.HasPrefix(word, t) }
	switch {
	case prefix("true", 1), prefix("yes", 1), t == "on", t == "1":
		return NewBool(true), nil
	case prefix("false", 1), prefix("no", 1), prefix("off", 2), t == "0":
		return NewBool(false), nil
	}
	return Null, badSyntax("boolean", s)
}
