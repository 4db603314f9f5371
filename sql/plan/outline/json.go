package outline

import (
	"fmt"
	"strings"
)

// JSON returns the outline as JSON, laid out as PostgreSQL does.
func (o *Outline) JSON() string {
	w := &jsonWriter{}
	w.WriteString("[\n  ")
	w.object(o.document(), 2)
	w.WriteString("\n]")
	return w.String()
}

type jsonWriter struct{ strings.Builder }

func (w *jsonWriter) object(o Object, col int) {
	w.WriteString("{")
	for i, p := range o {
		if i > 0 {
			w.WriteString(",")
		}
		w.line(col + 2)
		w.WriteString(quoted(p.Key))
		w.WriteString(": ")
		w.value(p.Value, col+2)
	}
	w.line(col)
	w.WriteString("}")
}

func (w *jsonWriter) line(col int) { w.WriteString("\n" + strings.Repeat(" ", col)) }

func (w *jsonWriter) value(v any, col int) {
	switch v := v.(type) {
	case string:
		w.WriteString(quoted(v))
	case []string:
		list := make([]string, len(v))
		for i, s := range v {
			list[i] = quoted(s)
		}
		w.WriteString("[" + strings.Join(list, ", ") + "]")
	case Object:
		w.object(v, col)
	case Objects:
		w.WriteString("[")
		for i, o := range v.List {
			if i > 0 {
				w.WriteString(",")
			}
			w.line(col + 2)
			w.object(o, col+2)
		}
		w.line(col)
		w.WriteString("]")
	default:
		fmt.Fprint(w, v)
	}
}

// quoted returns a text as a JSON string.
func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; c {
		case '\b':
			b.WriteString(`\b`)
		case '\f':
			b.WriteString(`\f`)
		case '\n':
			b.WriteString(`\n`)
		case '\r':
			b.WriteString(`\r`)
		case '\t':
			b.WriteString(`\t`)
		case '"', '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		default:
			if c < ' ' {
				fmt.Fprintf(&b, `\u%04x`, c)
			} else {
				b.WriteByte(c)
			}
		}
	}
	b.WriteByte('"')
	return b.String()
}
