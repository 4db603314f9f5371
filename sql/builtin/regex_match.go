package builtin

import (
	"unicode/utf8"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// regexTests are the operators ~ ~* !~ !~* and substring by expression.
var regexTests = map[string]Func{
	"textregexeq": regexTest(false, true), "nameregexeq": regexTest(false, true),
	"textregexne": regexTest(false, false), "nameregexne": regexTest(false, false),
	"texticregexeq": regexTest(true, true), "nameicregexeq": regexTest(true, true),
	"texticregexne": regexTest(true, false), "nameicregexne": regexTest(true, false),
	"textregexsubstr": regexSubstring, "regexp_like": regexpLike, "regexp_like_no_flags": regexpLike,
	"regexp_match": regexpMatch, "regexp_match_no_flags": regexpMatch,
	"regexp_count": regexpCount, "regexp_count_no_start": regexpCount, "regexp_count_no_flags": regexpCount,
	"regexp_instr": regexpInstr, "regexp_instr_no_start": regexpInstr, "regexp_instr_no_n": regexpInstr,
	"regexp_instr_no_endoption": regexpInstr,
	"regexp_instr_no_flags":     regexpInstr,
	"regexp_instr_no_subexpr":   regexpInstr,
	"regexp_substr":             regexpSubstr,
	"regexp_substr_no_start":    regexpSubstr,
	"regexp_substr_no_n":        regexpSubstr,
	"regexp_substr_no_flags":    regexpSubstr, "regexp_substr_no_subexpr": regexpSubstr,
}

func regexTest(ignoreCase, want bool) Func {
	return func(c *Ctx, a []types.Datum) (types.Datum, error) {
		re, err := c.regex(a[1].S, regexFlags{ignoreCase: ignoreCase})
		if err != nil {
			return types.Null, err
		}
		ok, err := re.matches(c, a[0].S)
		return types.NewBool(ok == want), err
	}
}

// parseFlags parses an option string; global is the letter g.
func parseFlags(text string) (flags regexFlags, global bool, err error) {
	for i := range len(text) {
		if text[i] == 'g' {
			global = true
			continue
		}
		if !flags.set(text[i]) {
			return flags, false, pgerr.New(pgerr.InvalidParameterValue, "invalid regular expression option: \"%s\"",
				sliceChars(text[i:], 0, 1))
		}
	}
	return flags, global, nil
}

// flagged compiles a pattern with the options in argument i, if present; the error about the letter
// g names function.
func (c *Ctx) flagged(a []types.Datum, i int, function string) (*compiledRegex, error) {
	var flags regexFlags
	if i < len(a) {
		f, global, err := parseFlags(a[i].S)
		if err != nil {
			return nil, err
		}
		if global {
			e := pgerr.New(pgerr.InvalidParameterValue, "%s() does not support the \"global\" option", function)
			if function == "regexp_match" {
				e = e.WithHint("Use the regexp_matches function instead.")
			}
			return nil, e
		}
		flags = f
	}
	return c.regex(a[1].S, flags)
}

// part returns the text between a pair of offsets, null for a group that did not take part.
func part(s string, loc []int, group int) types.Datum {
	if 2*group >= len(loc) || loc[2*group] < 0 {
		return types.Null
	}
	return types.NewText(s[loc[2*group]:loc[2*group+1]])
}

// captures returns the groups of a match, or the whole match if the expression has no groups.
func (r *compiledRegex) captures(s string, loc []int) []types.Datum {
	if r.groups == 0 {
		return []types.Datum{part(s, loc, 0)}
	}
	out := make([]types.Datum, r.groups)
	for i := range out {
		out[i] = part(s, loc, i+1)
	}
	return out
}

// each calls f for the matches from byte offset from on, until f returns false.
func (r *compiledRegex) each(c *Ctx, s string, from int, f func(loc []int) bool) error {
	const match = 1 << 10 // cost of a match, in bytes of work
	p := c.pace()
	for from <= len(s) {
		if err := p.spend(match); err != nil {
			return err
		}
		loc, err := r.find(c, s, from)
		if err != nil || loc == nil || !f(loc) {
			return err
		}
		from = loc[1]
		if loc[0] == loc[1] {
			from += nextChar(s, from)
		}
	}
	return nil
}

// nextChar returns the size of the character at an offset, 1 at the end.
func nextChar(s string, at int) int {
	_, size := utf8.DecodeRuneInString(s[at:])
	return max(size, 1)
}

func regexSubstring(c *Ctx, a []types.Datum) (types.Datum, error) {
	re, err := c.regex(a[1].S, regexFlags{})
	if err != nil {
		return types.Null, err
	}
	loc, err := re.find(c, a[0].S, 0)
	if err != nil || loc == nil {
		return types.Null, err
	}
	return part(a[0].S, loc, min(re.groups, 1)), nil
}

func regexpLike(c *Ctx, a []types.Datum) (types.Datum, error) {
	re, err := c.flagged(a, 2, "regexp_like")
	if err != nil {
		return types.Null, err
	}
	ok, err := re.matches(c, a[0].S)
	return types.NewBool(ok), err
}

func regexpMatch(c *Ctx, a []types.Datum) (types.Datum, error) {
	re, err := c.flagged(a, 2, "regexp_match")
	if err != nil {
		return types.Null, err
	}
	loc, err := re.find(c, a[0].S, 0)
	if err != nil || loc == nil {
		return types.Null, err
	}
	return types.NewList(types.Text, re.captures(a[0].S, loc)), nil
}

// positive returns integer argument i, which must be at least least; def if it is missing.
func positive(a []types.Datum, i int, name string, least, def int64) (int64, error) {
	if i >= len(a) {
		return def, nil
	}
	if a[i].N < least {
		return 0, badParameter(name, a[i].N)
	}
	return a[i].N, nil
}

func badParameter(name string, value int64) error {
	return pgerr.New(pgerr.InvalidParameterValue, "invalid value for parameter \"%s\": %d", name, value)
}

// startOffset returns the byte offset of start (characters from 1); beyond the text it is len+1.
func startOffset(s string, start int64) int {
	if start > int64(len(s))+1 {
		return len(s) + 1
	}
	at := charOffset(s, int(start-1))
	if at == len(s) && int64(charLength(s)) < start-1 {
		return len(s) + 1
	}
	return at
}

func regexpCount(c *Ctx, a []types.Datum) (types.Datum, error) {
	start, err := positive(a, 2, "start", 1, 1)
	if err != nil {
		return types.Null, err
	}
	re, err := c.flagged(a, 3, "regexp_count")
	if err != nil {
		return types.Null, err
	}
	n := int64(0)
	err = re.each(c, a[0].S, startOffset(a[0].S, start), func([]int) bool { n++; return true })
	return types.NewInt(n), err
}

// nth finds the n-th match at or after start; nil if there is none.
func (r *compiledRegex) nth(c *Ctx, s string, start, n int64) (found []int, err error) {
	err = r.each(c, s, startOffset(s, start), func(loc []int) bool {
		if n--; n == 0 {
			found = loc
		}
		return n > 0
	})
	return found, err
}

func regexpInstr(c *Ctx, a []types.Datum) (types.Datum, error) {
	start, err := positive(a, 2, "start", 1, 1)
	if err != nil {
		return types.Null, err
	}
	n, err := positive(a, 3, "n", 1, 1)
	if err != nil {
		return types.Null, err
	}
	end, err := positive(a, 4, "endoption", 0, 0)
	if err != nil {
		return types.Null, err
	}
	if end > 1 {
		return types.Null, badParameter("endoption", end)
	}
	group, err := positive(a, 6, "subexpr", 0, 0)
	if err != nil {
		return types.Null, err
	}
	re, err := c.flagged(a, 5, "regexp_instr")
	if err != nil {
		return types.Null, err
	}
	loc, err := re.nth(c, a[0].S, start, n)
	if err != nil || loc == nil || group > int64(re.groups) || loc[2*group] < 0 {
		return types.NewInt(0), err
	}
	return types.NewInt(int64(charLength(a[0].S[:loc[2*group+end]])) + 1), nil
}

func regexpSubstr(c *Ctx, a []types.Datum) (types.Datum, error) {
	start, err := positive(a, 2, "start", 1, 1)
	if err != nil {
		return types.Null, err
	}
	n, err := positive(a, 3, "n", 1, 1)
	if err != nil {
		return types.Null, err
	}
	group, err := positive(a, 5, "subexpr", 0, 0)
	if err != nil {
		return types.Null, err
	}
	re, err := c.flagged(a, 4, "regexp_substr")
	if err != nil {
		return types.Null, err
	}
	loc, err := re.nth(c, a[0].S, start, n)
	if err != nil || loc == nil || group > int64(re.groups) {
		return types.Null, err
	}
	return part(a[0].S, loc, int(group)), nil
}
