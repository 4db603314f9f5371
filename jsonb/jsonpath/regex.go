package jsonpath

import (
	"context"
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"
	"time"

	"github.com/dlclark/regexp2"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/internal/regexrun"
)

// matcher reports whether a text has a match. It returns the cause if the context, which may be
// nil, is canceled.
type matcher func(ctx context.Context, text string) (bool, error)

// regexFlags are the flags of like_regex.
type regexFlags uint8

const (
	flagCase   regexFlags = 1 << iota // i: ignore case
	flagDotAll                        // s: . matches a newline
	flagLines                         // m: ^ and $ match at lines
	flagSpace                         // x
	flagQuote                         // q: the pattern is plain text
)

const flagLetters = "ismxq"

func (f regexFlags) String() string {
	var b strings.Builder
	for i := range flagLetters {
		if f&(1<<i) != 0 {
			b.WriteByte(flagLetters[i])
		}
	}
	return b.String()
}

func parseFlags(s string) (f regexFlags, err error) {
	for _, r := range s {
		i := strings.IndexRune(flagLetters, r)
		if i < 0 {
			return 0, pgerr.New(pgerr.SyntaxError, "invalid input syntax for type %s", "jsonpath").
				WithDetail("Unrecognized flag character \"%c\" in LIKE_REGEX predicate.", r)
		}
		f |= 1 << i
	}
	return f, nil
}

// matchTimeout bounds a match of the backtracking engine, which some patterns make exponential.
const matchTimeout = 5 * time.Second

// compileRegex compiles a pattern of PostgreSQL's advanced regular expressions for Go's engine, or
// for regexp2 if it has look-around or back references. Only the existence of a match matters, so
// the leftmost-longest rule does not.
func compileRegex(pattern string, f regexFlags) (matcher, error) {
	if f&flagSpace != 0 && f&flagQuote == 0 {
		return nil, pgerr.New(
			pgerr.FeatureNotSupported, `XQuery "x" flag (expanded regular expressions) is not implemented`,
		)
	}
	options := ""
	if f&flagCase != 0 {
		options += "i"
	}
	t := translation{fold: f&flagCase != 0, dotAll: f&flagDotAll != 0, lines: f&flagLines != 0}
	if f&flagQuote != 0 {
		t.out.WriteString(regexp.QuoteMeta(pattern))
	} else {
		if t.dotAll {
			options += "s"
		}
		if t.lines {
			options += "m"
		}
		if err := t.translate(pattern); err != nil {
			return nil, err
		}
	}
	text := t.out.String()
	if options != "" {
		text = "(?" + options + ")" + text
	}
	if t.backtracking {
		return compileBacktracking(text)
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, regexError(err)
	}
	return func(ctx context.Context, s string) (bool, error) {
		loc, err := regexrun.Find(ctx, re, s, false)
		return loc != nil, err
	}, nil
}

func compileBacktracking(text string) (matcher, error) {
	re, err := regexp2.Compile(text, regexp2.None)
	if err != nil {
		return nil, badRegex("invalid backreference number")
	}
	re.MatchTimeout = matchTimeout
	return func(ctx context.Context, s string) (bool, error) {
		m, err := regexrun.Backtrack(ctx, re, []rune(s), 0)
		switch {
		case err != nil && ctx != nil && ctx.Err() != nil:
			return false, context.Cause(ctx)
		case err != nil:
			return false, pgerr.New(
				pgerr.InvalidRegularExpression, "regular expression failed: it took more than %v", matchTimeout,
			)
		}
		return m != nil, nil
	}, nil
}

func badRegex(what string) error {
	return pgerr.New(pgerr.InvalidRegularExpression, "invalid regular expression: %s", what)
}

// regexError returns an error of Go's parser in PostgreSQL's words.
func regexError(err error) error {
	var e *syntax.Error
	if !errors.As(err, &e) {
		return badRegex(err.Error())
	}
	switch e.Code {
	case syntax.ErrMissingParen, syntax.ErrUnexpectedParen:
		return badRegex("parentheses () not balanced")
	case syntax.ErrMissingBracket:
		return badRegex("brackets [] not balanced")
	case syntax.ErrMissingRepeatArgument, syntax.ErrInvalidRepeatOp:
		return badRegex("quantifier operand invalid")
	case syntax.ErrInvalidRepeatSize:
		return badRegex("invalid repetition count(s)")
	case syntax.ErrInvalidCharRange:
		return badRegex("invalid character range")
	case syntax.ErrTrailingBackslash, syntax.ErrInvalidEscape:
		return badRegex(`invalid escape \ sequence`)
	case syntax.ErrLarge, syntax.ErrNestingDepth:
		return badRegex("regular expression is too complex")
	}
	return badRegex(string(e.Code))
}
