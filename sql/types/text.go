package types

import (
	"strings"
	"unicode/utf8"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/jsonb"
	"github.com/sherddb/sherd/jsonb/jsonpath"
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

func firstRune(s string) (rune, int) { return utf8.DecodeRuneInString(s) }

func parseJSONB(s string) (Datum, error) {
	doc, err := jsonb.Parse(s)
	if err != nil {
		return Null, err
	}
	return NewJSONB(string(doc)), nil
}

func parseJSON(s string) (Datum, error) {
	if err := jsonb.ValidateJSON(s); err != nil {
		return Null, err
	}
	return NewText(s), nil
}

func appendJSONB(dst []byte, s string) []byte { return jsonb.Doc(s).AppendText(dst) }

// Doc returns the document of a KindJSONB Datum.
func (d Datum) Doc() jsonb.Doc { return jsonb.Doc(d.S) }

// OfDoc returns a Datum of a document.
func OfDoc(d jsonb.Doc) Datum { return NewJSONB(string(d)) }

// parseJSONPath returns the text form as PostgreSQL prints it.
func parseJSONPath(s string) (Datum, error) {
	p, err := jsonpath.Parse(s)
	if err != nil {
		return Null, err
	}
	return Datum{K: KindJSONPath, S: p.String()}, nil
}
