package types

import (
	"unicode/utf8"

	"github.com/sherddb/sherd/jsonb"
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

// Doc gives the document of a KindJSONB Datum.
func (d Datum) Doc() jsonb.Doc { return jsonb.Doc(d.S) }

// OfDoc wraps a document.
func OfDoc(d jsonb.Doc) Datum { return NewJSONB(string(d)) }
