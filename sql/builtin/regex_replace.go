package builtin

import (
	"cmp"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// regexEdits has regexp_replace and regexp_split_to_array.
var regexEdits = map[string]Func{
	"textregexreplace_noopt": regexpReplace, "textregexreplace": regexpReplaceFlags,
	"textregexreplace_extended": regexpReplaceFrom, "textregexreplace_extended_no_flags": regexpReplaceFrom,
	"textregexreplace_extended_no_n": regexpReplaceFrom,
	"regexp_split_to_array":          regexpSplitToArray, "regexp_split_to_array_no_flags": regexpSplitToArray,
}

// regexSets has the set-returning functions.
var regexSets = map[string]SetFunc{
	"regexp_matches": regexpMatches, "regexp_matches_no_flags": regexpMatches,
	"regexp_split_to_table": regexpSplitToTable, "regexp_split_to_table_no_flags": regexpSplitToTable,
}

func regexpReplace(c *Ctx, a []types.Datum) (types.Datum, error) {
	re, err := c.regex(a[1].S, regexFlags{})
	if err != nil {
		return types.Null, err
	}
	return re.replace(c, a[0].S, a[2].S, 0, 1)
}

func regexpReplaceFlags(c *Ctx, a []types.Datum) (types.Datum, error) {
	if o := a[3].S; o != "" && o[0] >= '0' && o[0] <= '9' {
		return types.Null, pgerr.New(pgerr.InvalidParameterValue, "invalid regular expression option: \"%s\"", o[:1]).
			WithHint("If you meant to use regexp_replace() with a start parameter, cast the fourth argument to " +
				"integer explicitly.")
	}
	flags, global, err := parseFlags(a[3].S)
	if err != nil {
		return types.Null, err
	}
	re, err := c.regex(a[1].S, flags)
	if err != nil {
		return types.Null, err
	}
	if global {
		return re.replace(c, a[0].S, a[2].S, 0, 0)
	}
	return re.replace(c, a[0].S, a[2].S, 0, 1)
}

// regexpReplaceFrom is regexp_replace(text, pattern, replacement, start [, n [, flags]]).
func regexpReplaceFrom(c *Ctx, a []types.Datum) (types.Datum, error) {
	start, err := positive(a, 3, "start", 1, 1)
	if err != nil {
		return types.Null, err
	}
	n, err := positive(a, 4, "n", 0, 1)
	if err != nil {
		return types.Null, err
	}
	var flags regexFlags
	if len(a) > 5 {
		if flags, _, err = parseFlags(a[5].S); err != nil {
			return types.Null, err
		}
	}
	re, err := c.regex(a[1].S, flags)
	if err != nil {
		return types.Null, err
	}
	return re.replace(c, a[0].S, a[2].S, startOffset(a[0].S, start), n)
}

// replace replaces the n-th match at or after a byte offset, or all matches if n is 0.
func (r *compiledRegex) replace(c *Ctx, s, with string, from int, n int64) (types.Datum, error) {
	b := c.builder()
	done, count := 0, int64(0)
	var stop error
	err := r.each(c, s, from, func(loc []int) bool {
		if count++; n > 0 && count < n {
			return true
		}
		if stop = b.add(s[done:loc[0]]); stop == nil {
			stop = writeReplacement(b, s, with, loc)
		}
		done = loc[1]
		return n == 0 && stop == nil
	})
	if err = cmp.Or(stop, err); err != nil {
		return types.Null, err
	}
	return b.text(s[done:])
}

// writeReplacement writes the replacement: \1 … \9 are groups, \& is the whole match, \\ a
// backslash.
func writeReplacement(b *textBuilder, s, with string, loc []int) error {
	for {
		i := strings.IndexByte(with, '\\')
		if i < 0 || i+1 == len(with) {
			return b.add(with)
		}
		piece, next := `\`, i+2
		switch c := with[i+1]; {
		case c >= '1' && c <= '9':
			piece = part(s, loc, int(c-'0')).S
		case c == '&':
			piece = part(s, loc, 0).S
		case c != '\\':
			next = i + 1
		}
		if err := b.add(with[:i], piece); err != nil {
			return err
		}
		with = with[next:]
	}
}

func regexpMatches(c *Ctx, a []types.Datum, emit func([]types.Datum) error) error {
	var flags regexFlags
	global := false
	if len(a) > 2 {
		var err error
		if flags, global, err = parseFlags(a[2].S); err != nil {
			return err
		}
	}
	re, err := c.regex(a[1].S, flags)
	if err != nil {
		return err
	}
	var stop error
	err = re.each(c, a[0].S, 0, func(loc []int) bool {
		stop = emit([]types.Datum{types.NewList(types.Text, re.captures(a[0].S, loc))})
		return global && stop == nil
	})
	if stop != nil {
		return stop
	}
	return err
}

// split returns the pieces between the matches. Empty matches at the ends of the text and right
// after another match do not count.
func (r *compiledRegex) split(c *Ctx, s string) (pieces []string, err error) {
	last := 0
	err = r.each(c, s, 0, func(loc []int) bool {
		if loc[0] < len(s) && loc[1] > last {
			pieces = append(pieces, s[last:loc[0]])
			last = loc[1]
		}
		return true
	})
	return append(pieces, s[last:]), err
}

func regexpSplitToArray(c *Ctx, a []types.Datum) (types.Datum, error) {
	re, err := c.flagged(a, 2, "regexp_split_to_array")
	if err != nil {
		return types.Null, err
	}
	pieces, err := re.split(c, a[0].S)
	return types.NewTextArray(pieces), err
}

func regexpSplitToTable(c *Ctx, a []types.Datum, emit func([]types.Datum) error) error {
	re, err := c.flagged(a, 2, "regexp_split_to_table")
	if err != nil {
		return err
	}
	pieces, err := re.split(c, a[0].S)
	if err != nil {
		return err
	}
	return emitTexts(pieces, emit)
}

func emitTexts(texts []string, emit func([]types.Datum) error) error {
	row := make([]types.Datum, 1)
	for _, s := range texts {
		row[0] = types.NewText(s)
		if err := emit(row); err != nil {
			return err
		}
	}
	return nil
}
