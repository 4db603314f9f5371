package composite

import "strings"

// Field is the text of a field without quotes and escapes, or null.
type Field struct {
	Text string
	Null bool
}

// TooFew is the reason if a text has fewer fields than the row.
const TooFew = "Too few columns."

// Split returns the n fields of the text of a row: (1,"a b",). detail is the reason if the text is not
// one of n fields.
func Split(text string, n int) (fields []Field, detail string) {
	r := reader{s: text}
	r.space()
	if !r.take('(') {
		return nil, "Missing left parenthesis."
	}
	for i := range n {
		if i > 0 && !r.take(',') {
			return nil, TooFew
		}
		f, detail := r.field()
		if detail != "" {
			return nil, detail
		}
		fields = append(fields, f)
	}
	if !r.take(')') {
		return nil, "Too many columns."
	}
	r.space()
	if r.pos < len(r.s) {
		return nil, "Junk after right parenthesis."
	}
	return fields, ""
}

type reader struct {
	s   string
	pos int
}

func (r *reader) take(c byte) bool {
	if r.pos < len(r.s) && r.s[r.pos] == c {
		r.pos++
		return true
	}
	return false
}

func (r *reader) space() {
	for r.pos < len(r.s) && strings.IndexByte(" \t\n\r\v\f", r.s[r.pos]) >= 0 {
		r.pos++
	}
}

const endOfInput = "Unexpected end of input."

// field reads up to the next comma or parenthesis outside of quotes. A field of no characters is null.
func (r *reader) field() (Field, string) {
	if r.pos < len(r.s) && (r.s[r.pos] == ',' || r.s[r.pos] == ')') {
		return Field{Null: true}, ""
	}
	var b strings.Builder
	quoted := false
	for {
		if r.pos >= len(r.s) {
			return Field{}, endOfInput
		}
		c := r.s[r.pos]
		if !quoted && (c == ',' || c == ')') {
			return Field{Text: b.String()}, ""
		}
		r.pos++
		switch {
		case c == '\\':
			if r.pos >= len(r.s) {
				return Field{}, endOfInput
			}
			b.WriteByte(r.s[r.pos])
			r.pos++
		case c == '"' && quoted && r.take('"'):
			b.WriteByte('"')
		case c == '"':
			quoted = !quoted
		default:
			b.WriteByte(c)
		}
	}
}
