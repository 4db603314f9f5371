package builtin

import (
	"github.com/sherddb/sherd/jsonb"
	"github.com/sherddb/sherd/sql/types"
)

// populateSource is a part of the value that fills a record: of a jsonb document, or of a json
// text, which is not changed.
type populateSource interface {
	// kind returns { [ " t f n, or another character for a number.
	kind() byte
	get(key string) (populateSource, bool)
	items(yield func(populateSource) bool)
	// text returns the value as ->> does; for null it is "".
	text() string
	// json returns the value as type json.
	json() string
	// jsonb returns the value as a document.
	jsonb() (types.Datum, error)
}

type docSource struct{ jsonb.Doc }

func (d docSource) kind() byte {
	switch d.Kind() {
	case jsonb.Object:
		return '{'
	case jsonb.Array:
		return '['
	case jsonb.String:
		return '"'
	case jsonb.Null:
		return 'n'
	}
	return '0'
}

func (d docSource) get(key string) (populateSource, bool) {
	v, ok := d.Get(key)
	return docSource{v}, ok
}

func (d docSource) items(yield func(populateSource) bool) {
	for _, e := range d.Elements() {
		if !yield(docSource{e}) {
			return
		}
	}
}

func (d docSource) text() string {
	s, _ := d.AsText()
	return s
}

func (d docSource) json() string                { return d.Text() }
func (d docSource) jsonb() (types.Datum, error) { return fromDoc(d.Doc), nil }

type textSource struct{ jsonText }

func (t textSource) get(key string) (populateSource, bool) {
	v, ok := t.field(key)
	return textSource{v}, ok
}

func (t textSource) items(yield func(populateSource) bool) {
	for e := range t.elements {
		if !yield(textSource{e}) {
			return
		}
	}
}

func (t textSource) text() string {
	s, _ := t.scalarText()
	return s
}

func (t textSource) json() string {
	if t.kind() == '"' {
		return string(jsonb.AppendQuoted(nil, t.text()))
	}
	return string(t.trimmed())
}

func (t textSource) jsonb() (types.Datum, error) { return newDoc(jsonb.Parse(string(t.jsonText))) }
