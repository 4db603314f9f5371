package jsonpath

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxRepeat is PostgreSQL's bound of a repetition count.
const maxRepeat = 255

// translation rewrites a pattern.
type translation struct {
	out          strings.Builder
	dotAll       bool
	lines        bool
	fold         bool // ignore case
	backtracking bool
}

// Members of the character classes in which Go and PostgreSQL (under C.UTF-8) differ, in the form
// for inside of brackets.
const (
	wordMembers  = `\p{L}\p{N}_`
	spaceMembers = "\\t-\\r \u1680\u2000-\u2006\u2008-\u200a\u2028\u2029\u205f\u3000"
)

var classMembers = map[string]string{
	"alpha": `\p{L}`, "alnum": `\p{L}\p{N}`, "digit": "0-9", "upper": `\p{Lu}`, "lower": `\p{Ll}`,
	"space": spaceMembers,
	"blank": ` \t`, "punct": "!-/:-@\\[-`{-~\\p{P}\\p{S}", "xdigit": "0-9A-Fa-f", "cntrl": `\x00-\x1f\x7f`,
	"graph": `!-~\p{L}\p{N}\p{P}\p{S}`, "print": ` -~\p{L}\p{N}\p{P}\p{S}`, "word": wordMembers,
}

func (t *translation) translate(s string) error {
	for len(s) > 0 {
		var n int
		var err error
		switch s[0] {
		case '\\':
			n, err = t.escape(s, false)
		case '[':
			n, err = t.bracket(s)
		case '(':
			n, err = t.paren(s)
		case '$':
			n = 1
			if t.lines {
				t.out.WriteByte('$')
			} else {
				t.out.WriteString(`\z`)
			}
		case '{':
			n, err = t.brace(s)
		default:
			_, n = utf8.DecodeRuneInString(s)
			t.out.WriteString(s[:n])
		}
		if err != nil {
			return err
		}
		s = s[n:]
	}
	return nil
}

// brace keeps a bound; a brace that no digit follows is an ordinary character.
func (t *translation) brace(s string) (int, error) {
	if len(s) < 2 || !isDigit(s[1]) {
		t.out.WriteString(`\{`)
		return 1, nil
	}
	end := strings.IndexByte(s, '}')
	if end < 0 {
		return 0, badRegex("braces {} not balanced")
	}
	low, high, _ := strings.Cut(s[1:end], ",")
	for _, bound := range []string{low, high} {
		if v, err := strconv.Atoi("0" + bound); err != nil || v > maxRepeat {
			return 0, badRegex("invalid repetition count(s)")
		}
	}
	t.out.WriteString(s[:end+1])
	return end + 1, nil
}

func (t *translation) paren(s string) (int, error) {
	for _, look := range []string{"(?=", "(?!", "(?<=", "(?<!"} {
		if strings.HasPrefix(s, look) {
			t.backtracking = true
			t.out.WriteString(look)
			return len(look), nil
		}
	}
	if strings.HasPrefix(s, "(?:") {
		t.out.WriteString("(?:")
		return 3, nil
	}
	if strings.HasPrefix(s, "(?") {
		return t.embedded(s)
	}
	t.out.WriteByte('(')
	return 1, nil
}

// embedded takes the options a pattern may begin with, such as (?i).
func (t *translation) embedded(s string) (int, error) {
	end := strings.IndexByte(s, ')')
	if end < 0 || t.out.Len() > 0 || s[2] < 'a' || s[2] > 'z' {
		return 0, badRegex("quantifier operand invalid")
	}
	for _, c := range s[2:end] {
		switch c {
		case 'i':
			t.fold = true
			t.out.WriteString("(?i)")
		case 'n', 'm':
			t.dotAll, t.lines = false, true
			t.out.WriteString("(?m-s)")
		case 's':
			t.dotAll, t.lines = true, false
			t.out.WriteString("(?s-m)")
		case 'c', 'e', 't':
		default:
			return 0, badRegex("invalid embedded option")
		}
	}
	return end + 1, nil
}

// literal writes a character so that it has no special meaning, inside of brackets and outside.
func literal(out *strings.Builder, r rune) {
	if r == '-' {
		out.WriteByte('\\')
	}
	out.WriteString(regexp.QuoteMeta(string(r)))
}

// escape translates a backslash sequence, which inside of brackets may only stand for characters.
func (t *translation) escape(s string, inBracket bool) (int, error) {
	if len(s) < 2 {
		return 0, badRegex(`invalid escape \ sequence`)
	}
	c := s[1]
	if members, ok := map[byte]string{'d': "0-9", 'w': wordMembers, 's': spaceMembers}[c|0x20]; ok {
		switch {
		case !inBracket && c < 'a':
			t.out.WriteString("[^" + members + "]")
		case !inBracket:
			t.out.WriteString("[" + members + "]")
		case c < 'a':
			return 0, badRegex(`invalid escape \ sequence`)
		default:
			t.out.WriteString(members)
		}
		return 2, nil
	}
	if i := strings.IndexByte("abefnrtv", c); i >= 0 {
		literal(&t.out, []rune("\a\b\x1b\f\n\r\t\v")[i])
		return 2, nil
	}
	if n, ok := t.coded(s); ok {
		return n, nil
	}
	if !inBracket {
		if n, ok := t.assertion(s); ok {
			return n, nil
		}
	}
	r, n := utf8.DecodeRuneInString(s[1:])
	if r == 'B' {
		r = '\\'
	} else if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || isDigit(c) {
		return 0, badRegex(`invalid escape \ sequence`)
	}
	literal(&t.out, r)
	return 1 + n, nil
}

// coded translates escapes that name a character by number.
func (t *translation) coded(s string) (int, bool) {
	want := 0
	switch s[1] {
	case 'x':
		want = 255
	case 'u':
		want = 4
	case 'U':
		want = 8
	case 'c':
		if len(s) > 2 {
			literal(&t.out, rune(s[2]&0x1f))
			return 3, true
		}
		return 0, false
	case '0':
		n := 2
		for n < len(s) && n < 4 && s[n] >= '0' && s[n] <= '7' {
			n++
		}
		v, _ := strconv.ParseUint(s[1:n], 8, 8)
		literal(&t.out, rune(v))
		return n, true
	default:
		return 0, false
	}
	v, n := hexDigits(s[2:], want)
	if n == 0 || want < 255 && n != want || v > utf8.MaxRune {
		return 0, false
	}
	literal(&t.out, rune(v))
	return 2 + n, true
}

// assertion translates constraint escapes and back references.
func (t *translation) assertion(s string) (int, bool) {
	switch c := s[1]; {
	case c == 'A':
		t.out.WriteString(`\A`)
	case c == 'Z':
		t.out.WriteString(`\z`)
	case c == 'y':
		t.backtracking = true // Go's \b knows ASCII only
		t.out.WriteString(`\b`)
	case c == 'Y':
		t.backtracking = true
		t.out.WriteString(`\B`)
	case c == 'm':
		t.backtracking = true
		t.out.WriteString(`\b(?=\w)`)
	case c == 'M':
		t.backtracking = true
		t.out.WriteString(`\b(?<=\w)`)
	case c >= '1' && c <= '9':
		t.backtracking = true
		t.out.WriteString(s[:2])
	default:
		return 0, false
	}
	return 2, true
}

// bracket translates a bracket expression.
func (t *translation) bracket(s string) (int, error) {
	i := 1
	t.out.WriteByte('[')
	if i < len(s) && s[i] == '^' {
		i++
		t.out.WriteByte('^')
		if !t.dotAll {
			t.out.WriteString(`\n`)
		}
	}
	for start := i; ; {
		switch {
		case i >= len(s):
			return 0, badRegex("brackets [] not balanced")
		case s[i] == ']' && i > start:
			t.out.WriteByte(']')
			return i + 1, nil
		case s[i] == '\\':
			n, err := t.escape(s[i:], true)
			if err != nil {
				return 0, err
			}
			i += n
		case s[i] == '[' && i+1 < len(s) && strings.IndexByte(":.=", s[i+1]) >= 0:
			n, err := t.named(s[i:])
			if err != nil {
				return 0, err
			}
			i += n
		case s[i] == '-' && i > start && i+1 < len(s) && s[i+1] != ']':
			t.out.WriteByte('-')
			i++
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			if strings.ContainsRune(`[]\^-&~`, r) {
				t.out.WriteByte('\\')
			}
			t.out.WriteRune(r)
			i += n
		}
	}
}

// named translates [:class:], [.x.] and [=x=].
func (t *translation) named(s string) (int, error) {
	kind := s[1:2]
	end := strings.Index(s[2:], kind+"]")
	if end < 0 {
		return 0, badRegex("brackets [] not balanced")
	}
	name := s[2 : 2+end]
	if kind == ":" {
		if t.fold && (name == "upper" || name == "lower") {
			name = "alpha"
		}
		members, ok := classMembers[name]
		if !ok {
			return 0, badRegex("invalid character class")
		}
		t.out.WriteString(members)
		return end + 4, nil
	}
	r, n := utf8.DecodeRuneInString(name)
	if n != len(name) || n == 0 {
		return 0, badRegex("invalid collating element")
	}
	literal(&t.out, r)
	return end + 4, nil
}
