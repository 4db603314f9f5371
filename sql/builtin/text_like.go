package builtin

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// textLike is LIKE and ILIKE.
var textLike = map[string]Func{
	"textlike": like, "namelike": like, "bytealike": byteaLike,
	"textnlike": notLike, "namenlike": notLike, "byteanlike": byteaNotLike,
	"texticlike": ilike, "nameiclike": ilike, "texticnlike": notIlike, "nameicnlike": notIlike,
	"like_escape": likeEscape, "like_escape_bytea": likeEscapeBytea,
}

func like(c *Ctx, a []types.Datum) (types.Datum, error) {
	m, err := matchLike(c, a[0].S, a[1].S, true)
	return types.NewBool(m), err
}

func notLike(c *Ctx, a []types.Datum) (types.Datum, error) {
	m, err := matchLike(c, a[0].S, a[1].S, true)
	return types.NewBool(!m), err
}

func byteaLike(c *Ctx, a []types.Datum) (types.Datum, error) {
	m, err := matchLike(c, a[0].S, a[1].S, false)
	return types.NewBool(m), err
}

func byteaNotLike(c *Ctx, a []types.Datum) (types.Datum, error) {
	m, err := matchLike(c, a[0].S, a[1].S, false)
	return types.NewBool(!m), err
}

func ilike(c *Ctx, a []types.Datum) (types.Datum, error) {
	m, err := c.matchFolded(a[0].S, a[1].S)
	return types.NewBool(m), err
}

func notIlike(c *Ctx, a []types.Datum) (types.Datum, error) {
	m, err := c.matchFolded(a[0].S, a[1].S)
	return types.NewBool(!m), err
}

// matchFolded is a case-insensitive matchLike.
func (c *Ctx) matchFolded(s, pattern string) (bool, error) {
	s, err := c.mapText(s, unicode.ToLower)
	if err != nil {
		return false, err
	}
	return matchLike(c, s, strings.Map(unicode.ToLower, pattern), true)
}

func trailingEscape() error {
	return pgerr.New(pgerr.InvalidEscapeSequence, "LIKE pattern must not end with escape character")
}

// matchLike matches with backslash as escape. After a % it searches for the literal text that
// follows; on a mismatch only the last % has to match one more character, so the time is at most
// the product of the lengths. If chars is set, _ matches a UTF-8 character instead of a byte.
func matchLike(ctx *Ctx, s, p string, chars bool) (bool, error) {
	pace := pace{c: ctx}
	retryS, retryP := "", ""
	retry := false
	for {
		if err := pace.spend(1); err != nil {
			return false, err
		}
		switch {
		case p != "" && p[0] == '%':
			p = strings.TrimLeft(p, "%")
			if p == "" {
				return true, nil
			}
			retry, retryS, retryP = true, s, p
			continue
		case p == "" && s == "":
			return true, nil
		case s != "" && p != "":
			c, rest, wild := p[0], p[1:], p[0] == '_'
			if c == '\\' {
				if rest == "" {
					return false, trailingEscape()
				}
				c, rest = rest[0], rest[1:]
			}
			if wild {
				s, p = s[charSize(s, chars):], rest
				continue
			}
			if s[0] == c {
				s, p = s[1:], rest
				continue
			}
		}
		if !retry || retryS == "" {
			return false, nil
		}
		retryS = retryS[charSize(retryS, chars):]
		s, p = retryS, retryP
	}
}

func charSize(s string, chars bool) int {
	if !chars || s[0] < utf8.RuneSelf {
		return 1
	}
	_, size := utf8.DecodeRuneInString(s)
	return size
}

// likeEscape converts a pattern with another escape character to one with backslash; an empty
// escape means none.
func likeEscape(_ *Ctx, a []types.Datum) (types.Datum, error) {
	s, err := replaceEscape(a[0].S, a[1].S)
	return types.NewText(s), err
}

func likeEscapeBytea(_ *Ctx, a []types.Datum) (types.Datum, error) {
	s, err := replaceEscape(a[0].S, a[1].S)
	return types.NewBytes(s), err
}

func replaceEscape(pattern, escape string) (string, error) {
	switch {
	case escape == "":
		return strings.ReplaceAll(pattern, `\`, `\\`), nil
	case escape == `\`:
		return pattern, nil
	case utf8.RuneCountInString(escape) != 1:
		return "", pgerr.New(pgerr.InvalidEscapeSequence, "invalid escape string").
			WithHint("Escape string must be empty or one character.")
	}
	var b strings.Builder
	for afterEscape, rest := false, pattern; rest != ""; {
		switch {
		case !afterEscape && strings.HasPrefix(rest, escape):
			b.WriteByte('\\')
			rest, afterEscape = rest[len(escape):], true
			continue
		case rest[0] == '\\' && !afterEscape:
			b.WriteString(`\\`)
		default:
			b.WriteByte(rest[0])
		}
		rest, afterEscape = rest[1:], false
	}
	return b.String(), nil
}
