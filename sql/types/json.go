package types

import (
	"unicode/utf8"

	"github.com/sherddb/sherd/jsonb"
	"github.com/sherddb/sherd/jsonb/jsonpath"
)

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
