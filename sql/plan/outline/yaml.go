package outline

import (
	"fmt"
	"strings"
)

// YAML returns the outline as YAML, laid out as PostgreSQL does.
func (o *Outline) YAML() string {
	w := &yamlWriter{}
	w.item(o.document(), 0)
	return w.String()
}

type yamlWriter struct{ strings.Builder }

// item writes an object as an element of a list.
func (w *yamlWriter) item(o Object, col int) {
	w.line(col)
	w.WriteString("- ")
	w.object(o, col+2)
}

// object writes properties, the first one on the line that has begun.
func (w *yamlWriter) object(o Object, col int) {
	for i, p := range o {
		if i > 0 {
			w.line(col)
		}
		w.WriteString(p.Key + ": ")
		w.value(p.Value, col)
	}
}

func (w *yamlWriter) line(col int) {
	if w.Len() > 0 {
		w.WriteString("\n" + strings.Repeat(" ", col))
	}
}

func (w *yamlWriter) value(v any, col int) {
	switch v := v.(type) {
	case string:
		w.WriteString(quoted(v))
	case []string:
		for _, s := range v {
			w.line(col + 2)
			w.WriteString("- " + quoted(s))
		}
	case Object:
		w.line(col + 2)
		w.object(v, col+2)
	case Objects:
		for _, o := range v.List {
			w.item(o, col+2)
		}
	default:
		fmt.Fprint(w, v)
	}
}
