package builtin

import (
	"strings"
	"unicode/utf8"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// similar has the functions by which the parser rewrites SIMILAR TO as a regular expression.
var similar = map[string]Func{
	"similar_escape":      similarEscapeNulls,
	"similar_to_escape_1": similarToEscape,
	"similar_to_escape_2": similarToEscape,
	"substring(25,25,25)": substringSimilar,
}

// similarEscapeNulls is not strict: a null escape means the default.
func similarEscapeNulls(c *Ctx, a []types.Datum) (types.Datum, error) {
	if a[0].IsNull() {
		return types.Null, nil
	}
	if a[1].IsNull() {
		a = a[:1]
	}
	return similarToEscape(c, a)
}

func similarToEscape(_ *Ctx, a []types.Datum) (types.Datum, error) {
	escape := `\`
	if len(a) > 1 {
		escape = a[1].S
	}
	s, err := similarToRegex(a[0].S, escape)
	return types.NewText(s), err
}

func substringSimilar(c *Ctx, a []types.Datum) (types.Datum, error) {
	pattern, err := similarToRegex(a[1].S, a[2].S)
	if err != nil {
		return types.Null, err
	}
	return regexSubstring(c, []types.Datum{a[0], types.NewText(pattern)})
}

// similarToRegex converts a pattern of SIMILAR TO. Escaped double quotes divide it into three
// parts; substring returns the match of the second, and the match of the first is as short as
// possible.
func similarToRegex(pattern, escape string) (string, error) {
	if utf8.RuneCountInString(escape) > 1 {
		return "", pgerr.New(pgerr.InvalidEscapeSequence, "invalid escape string").
			WithHint("Escape string must be empty or one character.")
	}
	var b strings.Builder
	b.WriteString("^(?:")
	quotes, inClass := 0, false
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		switch {
		case escape != "" && strings.HasPrefix(pattern[i:], escape):
			if i += len(escape); i >= len(pattern) {
				break
			}
			if pattern[i] != '"' || inClass {
				b.WriteString(`\` + pattern[i:i+1])
				continue
			}
			if quotes++; quotes > 2 {
				return "",
					pgerr.New("2200C",
						"SQL regular expression may not contain more than two escape-double-quote separators")
			}
			b.WriteString([]string{"){1,1}?(", "){1,1}(?:"}[quotes-1])
		case inClass:
			if c == '\\' {
				b.WriteByte('\\')
			}
			b.WriteByte(c)
			inClass = c != ']'
		default:
			b.WriteString(similarChar(c))
			inClass = c == '['
		}
	}
	b.WriteString(")$")
	return b.String(), nil
}

func similarChar(c byte) string {
	switch c {
	case '%':
		return ".*"
	case '_':
		return "."
	case '(':
		return "(?:"
	case '\\', '.', '^', '$':
		return `\` + string(c)
	}
	return string([]byte{c})
}
