// Package pattern says what the texts begin with that a pattern matches, LIKE's or a regular
// expression. It is pure.
package pattern

import (
	"strings"
	"unicode/utf8"
)

// RegexPrefix returns a text that all texts begin with that match a regular expression: what follows
// ^ and stands for itself. There is none if the expression may have alternatives.
func RegexPrefix(pattern string) string {
	literal, ok := strings.CutPrefix(pattern, "^")
	if !ok || strings.Contains(pattern, "|") {
		return ""
	}
	end := strings.IndexAny(literal, `\.^$*+?()[]{}`)
	if end < 0 {
		return literal
	}
	if strings.IndexByte("*?{", literal[end]) >= 0 { // the character before may be missing
		_, size := utf8.DecodeLastRuneInString(literal[:end])
		end -= size
	}
	return literal[:end]
}

// LikePrefix returns the text that all texts begin with that are LIKE a pattern.
func LikePrefix(pattern string) string {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '%', '_':
			return b.String()
		case '\\':
			if i++; i == len(pattern) {
				return b.String() // LIKE refuses it
			}
		}
		b.WriteByte(pattern[i])
	}
	return b.String()
}
