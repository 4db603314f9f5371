// Package regexrun runs regular expressions that can be canceled: neither Go's engine nor regexp2
// knows a context.
package regexrun

import (
	"context"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/dlclark/regexp2"
)

const (
	short  = 1 << 20 // bytes that Go's engine matches without a look at the context
	stride = 1 << 16 // characters between two looks at the context
)

// Find returns the leftmost match of re in s, as FindStringSubmatchIndex does, or the cause if ctx
// is canceled. floating reports that a match does not depend on what precedes it, so that the
// search may begin at the first occurrence of the literal that begins each match.
func Find(ctx context.Context, re *regexp.Regexp, s string, floating bool) ([]int, error) {
	if len(s) <= short || ctx == nil || ctx.Done() == nil {
		return re.FindStringSubmatchIndex(s), nil
	}
	skipped := 0
	if prefix, _ := re.LiteralPrefix(); floating && prefix != "" {
		i, err := Index(ctx, s, prefix)
		if i < 0 {
			return nil, err
		}
		skipped = i
	}
	r := &reader{ctx: ctx, text: s[skipped:]}
	loc := re.FindReaderSubmatchIndex(r)
	if r.err != nil {
		return nil, r.err
	}
	for i := range loc {
		if loc[i] >= 0 {
			loc[i] += skipped
		}
	}
	return loc, nil
}

// Index is strings.Index, or returns -1 and the cause if ctx is canceled.
func Index(ctx context.Context, s, sub string) (int, error) {
	window := max(short, 2*len(sub))
	at := 0
	for ctx != nil && len(s)-at > window {
		if i := strings.Index(s[at:at+window], sub); i >= 0 {
			return at + i, nil
		}
		if ctx.Err() != nil {
			return -1, context.Cause(ctx)
		}
		at += window - len(sub) + 1
	}
	if i := strings.Index(s[at:], sub); i >= 0 {
		return at + i, nil
	}
	return -1, nil
}

// reader reads the characters of a text; the text ends early if the context is canceled.
type reader struct {
	ctx  context.Context
	text string
	at   int
	n    int
	err  error
}

func (r *reader) ReadRune() (rune, int, error) {
	if r.n++; r.n%stride == 0 && r.ctx.Err() != nil {
		r.err = context.Cause(r.ctx)
	}
	if r.at >= len(r.text) || r.err != nil {
		return 0, 0, io.EOF
	}
	c, size := rune(r.text[r.at]), 1
	if c >= utf8.RuneSelf {
		c, size = utf8.DecodeRuneInString(r.text[r.at:])
	}
	r.at += size
	return c, size, nil
}

// Backtrack returns the first match of re at or after character from, or the cause as soon as ctx
// is canceled. The engine cannot be stopped: what it still does then ends with its own time limit.
func Backtrack(ctx context.Context, re *regexp2.Regexp, text []rune, from int) (*regexp2.Match, error) {
	if ctx == nil || ctx.Done() == nil {
		return re.FindRunesMatchStartingAt(text, from)
	}
	type result struct {
		m      *regexp2.Match
		err    error
		failed any // the engine's panic
	}
	done := make(chan result, 1)
	go func() {
		var res result
		defer func() {
			res.failed = recover()
			done <- res
		}()
		res.m, res.err = re.FindRunesMatchStartingAt(text, from)
	}()
	select {
	case res := <-done:
		if res.failed != nil {
			panic(res.failed) // in the caller, which may recover; here it would end the process
		}
		return res.m, res.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
