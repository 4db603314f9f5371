package outline

import (
	"fmt"
	"strings"
)

// XML returns the outline as XML, laid out as PostgreSQL does.
func (o *Outline) XML() string {
	w := &xmlWriter{}
	w.WriteString(`<explain xmlns="http://www.postgresql.org/2009/explain">`)
	w.open("Query", 2)
	w.object(o.document(), 4)
	w.end("Query", 2)
	w.WriteString("\n</explain>")
	return w.String()
}

type xmlWriter struct{ strings.Builder }

func (w *xmlWriter) object(o Object, col int) {
	for _, p := range o {
		w.value(tag(p.Key), p.Value, col)
	}
}

func (w *xmlWriter) open(name string, col int) {
	w.WriteString("\n" + strings.Repeat(" ", col) + "<" + name + ">")
}

func (w *xmlWriter) end(name string, col int) {
	w.WriteString("\n" + strings.Repeat(" ", col) + "</" + name + ">")
}

func (w *xmlWriter) value(name string, v any, col int) {
	w.open(name, col)
	switch v := v.(type) {
	case []string:
		for _, s := range v {
			w.value("Item", s, col+2)
		}
		w.end(name, col)
	case Object:
		w.object(v, col+2)
		w.end(name, col)
	case Objects:
		for _, o := range v.List {
			w.value(v.Name, o, col+2)
		}
		w.end(name, col)
	default:
		w.WriteString(escaped.Replace(fmt.Sprint(v)) + "</" + name + ">")
	}
}

var escaped = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\r", "&#x0d;")

// tag returns a key as the name of an element.
func tag(key string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r) {
			return r
		}
		return '-'
	}, key)
}
