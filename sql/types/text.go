package types

import (
	"strings"
	"unicode/utf8"

	"github.com/sherddb/sherd/internal/pgerr"
)

// NameLen is the greatest length of a name in bytes.
const NameLen = 63

// TruncateName truncates a name to 63 bytes, at a character boundary.
func TruncateName(s string) string {
	if len(s) <= NameLen {
		return s
	}
	n := NameLen
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// ValidateText checks text from a client. It returns 22021, worded as in PostgreSQL, unless the
// text is valid UTF-8 without NUL.
func ValidateText(s string) error {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return nil
	}
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if s[i] == 0 || (r == utf8.RuneError && n <= 1) {
			return invalidBytes(s[i:])
		}
		i += n
	}
	return nil
}

// invalidBytes lists as many bytes as the first byte announces, as PostgreSQL does.
func invalidBytes(s string) error {
	n := 1
	switch c := s[0]; {
	case c&0xe0 == 0xc0:
		n = 2
	case c&0xf0 == 0xe0:
		n = 3
	case c&0xf8 == 0xf0:
		n = 4
	}
	n = min(n, len(s), 8)
	const hex = "0123456789abcdef"
	var b strings.Builder
	for i := 0; i < n; i++ {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString("0x")
		b.WriteByte(hex[s[i]>>4])
		b.WriteByte(hex[s[i]&15])
	}
	return pgerr.New(pgerr.CharacterNotInRepertoire, "invalid byte sequence for encoding \"UTF8\": %s", b.String())
}

// runeCut returns the byte position of character n, or len(s) and true if s has at most n
// characters.
func runeCut(s string, n int) (int, bool) {
	if len(s) <= n {
		return len(s), true
	}
	for i := range s {
		if n == 0 {
			return i, false
		}
		n--
	}
	return len(s), true
}

func trimBlanks(s string) string {
	n := len(s)
	for n > 0 && s[n-1] == ' ' {
		n--
	}
	return s[:n]
}
