package parse

import (
	"errors"
	"strings"
	"unicode/utf8"

	pg_query "github.com/pganalyze/pg_query_go/v6"
	"github.com/pganalyze/pg_query_go/v6/parser"

	"github.com/sherddb/sherd/internal/pgerr"
)

// Statement is one statement of a text. Locations in Node are byte offsets into Source.
type Statement struct {
	Node   *pg_query.Node // nil: the text shares a program with others, and was not parsed
	Source string         // the whole text that contains it
	Start  int            // range of the statement in Source, without the semicolon
	End    int
}

// Parsed returns the statement with its tree, which one that was run without its tree does not have.
func (s Statement) Parsed() (Statement, error) {
	if s.Node != nil {
		return s, nil
	}
	list, err := Parse(s.Source)
	if err != nil {
		return s, err
	}
	if len(list) != 1 {
		return s, pgerr.New(pgerr.InternalError, "a text without a tree has %d statements", len(list))
	}
	return list[0], nil
}

// Text returns the statement's own text, without surrounding blanks.
func (s Statement) Text() string { return strings.TrimSpace(s.Source[s.Start:s.End]) }

// Parse splits a text into its statements; an empty text has none. Errors are *pgerr.Error with
// positions in characters of text.
func Parse(text string) ([]Statement, error) {
	if err := checkText(text); err != nil {
		return nil, err
	}
	tree, err := pg_query.Parse(text)
	if err != nil {
		return nil, parseError(err)
	}
	out := make([]Statement, 0, len(tree.Stmts))
	for _, raw := range tree.Stmts {
		s := Statement{Node: raw.Stmt, Source: text, Start: int(raw.StmtLocation), End: len(text)}
		if raw.StmtLen > 0 {
			s.End = s.Start + int(raw.StmtLen)
		}
		if s.Start < 0 || s.End > len(text) || s.Start > s.End {
			return nil, pgerr.New(pgerr.InternalError, "statement outside of its text")
		}
		if raw.Stmt != nil {
			out = append(out, s)
		}
	}
	return out, nil
}

// Scan splits a text into tokens, comments included, with offsets in bytes. Errors are as those of Parse.
func Scan(text string) ([]*pg_query.ScanToken, error) {
	if err := checkText(text); err != nil {
		return nil, err
	}
	found, err := pg_query.Scan(text)
	if err != nil {
		return nil, parseError(err)
	}
	return found.Tokens, nil
}

// checkText refuses invalid text, and text that the C parser must not see.
func checkText(text string) error {
	if strings.IndexByte(text, 0) >= 0 {
		return pgerr.New(pgerr.CharacterNotInRepertoire, `invalid byte sequence for encoding "UTF8": 0x00`)
	}
	if !utf8.ValidString(text) {
		return pgerr.New(
			pgerr.CharacterNotInRepertoire, `invalid byte sequence for encoding "UTF8": %s`, badBytes(text),
		)
	}
	return checkSize(text)
}

// badBytes returns the first invalid sequence as PostgreSQL shows it.
func badBytes(text string) string {
	for i, r := range text {
		if r != utf8.RuneError || strings.HasPrefix(text[i:], "\uFFFD") {
			continue
		}
		n := 1
		switch c := text[i]; {
		case c >= 0xf0:
			n = 4
		case c >= 0xe0:
			n = 3
		case c >= 0xc0:
			n = 2
		}
		var b strings.Builder
		for j := i; j < min(i+n, len(text)); j++ {
			if j > i {
				b.WriteByte(' ')
			}
			b.WriteString("0x")
			b.WriteByte("0123456789abcdef"[text[j]>>4])
			b.WriteByte("0123456789abcdef"[text[j]&15])
		}
		return b.String()
	}
	return "?"
}

// parseError returns the parser's error with the SQLSTATE that follows from its message; pg_query
// does not return it.
func parseError(err error) error {
	var pe *parser.Error
	if !errors.As(err, &pe) {
		if strings.Contains(err.Error(), "UTF-8") {
			return pgerr.New(pgerr.CharacterNotInRepertoire, `invalid byte sequence for encoding "UTF8"`)
		}
		return tooDeep() // the decoder's nesting limit
	}
	if strings.HasPrefix(pe.Message, "memory exhausted") {
		return tooDeep()
	}
	e := pgerr.New(codeOf(pe.Message), "%s", pe.Message)
	if pe.Cursorpos > 0 {
		e.Position = pe.Cursorpos
	}
	return e
}

func codeOf(message string) string {
	switch {
	case strings.Contains(message, "stack depth limit exceeded"):
		return pgerr.StatementTooComplex
	case strings.Contains(message, "not yet implemented"), strings.Contains(message, "not supported"),
		strings.Contains(message, "not implemented"):
		return pgerr.FeatureNotSupported
	case strings.HasPrefix(message, "role name ") && strings.HasSuffix(message, " is reserved"),
		strings.HasSuffix(message, "cannot be used as a role name here"):
		return pgerr.ReservedName
	case strings.HasPrefix(message, "frame start"), strings.HasPrefix(message, "frame end"):
		return pgerr.WindowingError
	case strings.HasPrefix(message, "invalid byte sequence"):
		return pgerr.CharacterNotInRepertoire
	case strings.HasPrefix(message, "invalid Unicode escape"), strings.HasPrefix(message, "unsafe use of \\'"):
		return "22025"
	}
	return pgerr.SyntaxError
}

// Position returns the character position, from 1, of a byte offset in text; 0 for an unknown
// (negative) offset.
func Position(text string, offset int) int {
	if offset < 0 || offset > len(text) {
		return 0
	}
	return utf8.RuneCountInString(text[:offset]) + 1
}

// Positions returns the positions of offsets in one text. Consecutive offsets are mostly close
// together, so it counts from the last one; a statement with thousands of values is not counted
// from the start for each.
type Positions struct {
	Text  string
	last  int // an offset
	chars int // characters before it
}

// At is Position for an offset in the text.
func (p *Positions) At(offset int) int {
	switch {
	case offset < 0 || offset > len(p.Text):
		return 0
	case offset >= p.last:
		p.chars += utf8.RuneCountInString(p.Text[p.last:offset])
	case offset < p.last-offset:
		p.chars = utf8.RuneCountInString(p.Text[:offset])
	default:
		p.chars -= utf8.RuneCountInString(p.Text[offset:p.last])
	}
	p.last = offset
	return p.chars + 1
}
