package syntax

import (
	"slices"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
)

// stream is the tokens of a body.
type stream struct {
	source string
	tokens []token
	next   int
}

func (p *stream) peek() token { return p.tokens[p.next] }

func (p *stream) peekAt(n int) token { return p.tokens[min(p.next+n, len(p.tokens)-1)] }

func (p *stream) take() token {
	t := p.tokens[p.next]
	if t.kind != endOfText {
		p.next++
	}
	return t
}

// accept takes a word or punctuation if it is next.
func (p *stream) accept(text string) bool {
	if !p.tokens[p.next].is(text) {
		return false
	}
	p.next++
	return true
}

// acceptAny takes one of several words.
func (p *stream) acceptAny(texts ...string) (string, bool) {
	if t := p.peek(); (t.kind == word || t.kind == punctuation) && slices.Contains(texts, t.text) {
		p.next++
		return t.text, true
	}
	return "", false
}

func (p *stream) expect(text string) error {
	if !p.accept(text) {
		return p.unexpected()
	}
	return nil
}

// line returns the line of the next token.
func (p *stream) line() int { return p.lineAt(p.peek().start) }

func (p *stream) lineAt(offset int) int { return 1 + strings.Count(p.source[:offset], "\n") }

// unexpected is the error of a grammar that does not allow the next token.
func (p *stream) unexpected() error { return p.unexpectedAt(p.next) }

func (p *stream) unexpectedAt(n int) error { return p.nearToken(p.tokens[n], "syntax error") }

func (p *stream) nearToken(t token, what string) error {
	if t.kind == endOfText {
		return p.failAt(t.start, pgerr.SyntaxError, "%s at end of input", what)
	}
	return p.failAt(t.start, pgerr.SyntaxError, "%s at or near \"%s\"", what, p.source[t.start:t.end])
}

// failAt makes an error at an offset.
func (p *stream) failAt(offset int, code, format string, args ...any) error {
	return at(pgerr.New(code, format, args...), p.source, offset)
}

// fail makes an error without a position: its CONTEXT names the line of the last token.
func (p *stream) fail(code, format string, args ...any) error {
	return p.failNear(p.tokens[max(p.next-1, 0)].start, code, format, args...)
}

// failNear makes an error whose CONTEXT names the line of an offset.
func (p *stream) failNear(offset int, code, format string, args ...any) error {
	return &LineError{Err: pgerr.New(code, format, args...), Line: p.lineAt(offset)}
}

// locate sets the position of an error that has none.
func (p *stream) locate(err error, offset int) error {
	e := *pgerr.From(err)
	e.Position = 0
	return at(&e, p.source, offset)
}

// LineError is an error in a line of a body.
type LineError struct {
	Err  *pgerr.Error
	Line int
}

// Error implements error.
func (e *LineError) Error() string { return e.Err.Error() }

// Unwrap returns the error without the line.
func (e *LineError) Unwrap() error { return e.Err }
