package syntax

import (
	"strings"
	"unicode/utf8"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/parse"
)

// token is a token of SQL's lexical grammar, which PL/pgSQL shares.
type token struct {
	kind       tokenKind
	text       string // a word in lower case unless it was quoted; punctuation as written
	start, end int    // bytes of the source
	reserved   bool   // a reserved word of PL/pgSQL
}

type tokenKind uint8

const (
	endOfText tokenKind = iota
	word
	quoted // a quoted identifier
	stringConstant
	number
	param
	punctuation
)

// reservedWords are those that cannot be names of variables.
var reservedWords = map[string]bool{
	"all": true, "begin": true, "by": true, "case": true, "declare": true, "else": true, "end": true,
	"execute": true, "for": true, "foreach": true, "from": true, "if": true, "in": true, "into": true, "loop": true,
	"not": true, "null": true, "or": true, "strict": true, "then": true, "to": true, "using": true, "when": true,
	"while": true,
}

// scan splits a source into tokens. The last one is endOfText.
func scan(source string) ([]token, error) {
	found, err := parse.Scan(source)
	if err != nil {
		return nil, inside(err, source, 0)
	}
	out := make([]token, 0, len(found)+1)
	for _, t := range found {
		text := source[t.Start:t.End]
		tok := token{kind: punctuation, text: text, start: int(t.Start), end: int(t.End)}
		switch t.Token {
		case pg_query.Token_SQL_COMMENT, pg_query.Token_C_COMMENT:
			continue
		case pg_query.Token_SCONST, pg_query.Token_USCONST, pg_query.Token_BCONST, pg_query.Token_XCONST:
			tok.kind = stringConstant
		case pg_query.Token_ICONST, pg_query.Token_FCONST:
			tok.kind = number
		case pg_query.Token_PARAM:
			tok.kind = param
		default:
			tok.setWord(t)
		}
		out = append(out, tok)
	}
	return append(out, token{start: len(source), end: len(source)}), nil
}

// setWord sets the kind of a token that may be a word.
func (t *token) setWord(from *pg_query.ScanToken) {
	switch {
	case from.Token == pg_query.Token_IDENT && strings.HasPrefix(t.text, `"`):
		t.kind, t.text = quoted, strings.ReplaceAll(t.text[1:len(t.text)-1], `""`, `"`)
	case from.Token == pg_query.Token_IDENT || from.KeywordKind != pg_query.KeywordKind_NO_KEYWORD:
		t.kind, t.text = word, asciiLower(t.text)
		t.reserved = reservedWords[t.text]
	}
}

// asciiLower is PostgreSQL's folding of identifiers, which leaves other letters alone.
func asciiLower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// isName reports whether the token may be the name of something.
func (t token) isName() bool { return t.kind == quoted || t.kind == word && !t.reserved }

func (t token) is(text string) bool {
	return (t.kind == word || t.kind == punctuation) && t.text == text
}

// at sets the position of an error to an offset in the source.
func at(e *pgerr.Error, source string, offset int) *pgerr.Error {
	e.InnerPosition = utf8.RuneCountInString(source[:min(offset, len(source))]) + 1
	e.InnerQuery = source
	return e
}

// inside makes the position of an error, which is one in a part of the source, one in the source.
// The part begins at an offset; characters of it that are not in the source precede it.
func inside(err error, source string, offset int) error {
	e := *pgerr.From(err)
	if e.Position > 0 {
		e.InnerPosition, e.InnerQuery = e.Position+utf8.RuneCountInString(source[:offset]), source
		e.Position = 0
	}
	return &e
}
