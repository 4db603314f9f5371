package builtin

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// maxText is the largest text that a function may build: PostgreSQL's limit of an allocation.
const maxText = 1<<30 - 1

// textBasic has length, case, trimming, padding and searching of text. Positions and lengths count
// characters from 1.
var textBasic = map[string]Func{
	"textlen": textLength, "bpcharlen": bpcharLength, "textoctetlen": octetLength, "bpcharoctetlen": octetLength,
	"byteaoctetlen": octetLength, "bit_length(25)": bitLengthOfText, "bit_length(17)": bitLengthOfText,
	"upper": textUpper, "lower": textLower, "initcap": textInitcap,
	"textcat": textConcat, "byteacat": byteaConcat,
	"textpos": textPosition, "byteapos": byteaPosition,
	"text_left": textLeft, "text_right": textRight, "text_reverse": textReverse, "repeat": textRepeat,
	"replace_text": textReplace, "translate": textTranslate, "split_part": splitPart,
	"btrim": trimWith(true, true), "ltrim": trimWith(true, false), "rtrim": trimWith(false, true),
	"btrim1": trimBlanks(true, true), "ltrim1": trimBlanks(true, false), "rtrim1": trimBlanks(false, true),
	"byteatrim": byteaTrim(true, true), "bytealtrim": byteaTrim(true, false), "byteartrim": byteaTrim(false, true),
	"lpad": lpad, "rpad": rpad, "lpad(25,23)": lpad, "rpad(25,23)": rpad,
	"ascii": ascii, "chr": chr,
}

func charLength(s string) int {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return i + utf8.RuneCountInString(s[i:])
		}
	}
	return len(s)
}

func textLength(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewInt(int64(charLength(a[0].S))), nil
}

func bpcharLength(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewInt(int64(charLength(unpad(a[0].S)))), nil
}

func octetLength(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewInt(int64(len(a[0].S))), nil
}

func bitLengthOfText(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewInt(int64(len(a[0].S)) * 8), nil
}

func textUpper(c *Ctx, a []types.Datum) (types.Datum, error) {
	return newText(c.mapText(a[0].S, unicode.ToUpper))
}

func textLower(c *Ctx, a []types.Datum) (types.Datum, error) {
	return newText(c.mapText(a[0].S, unicode.ToLower))
}

func textInitcap(c *Ctx, a []types.Datum) (types.Datum, error) {
	inWord := false
	return newText(c.mapText(a[0].S, func(r rune) rune {
		was := inWord
		inWord = unicode.IsLetter(r) || unicode.IsDigit(r)
		if was {
			return unicode.ToLower(r)
		}
		return unicode.ToUpper(r)
	}))
}

func textConcat(_ *Ctx, a []types.Datum) (types.Datum, error) {
	if err := enlarge(len(a[0].S), len(a[1].S)); err != nil {
		return types.Null, err
	}
	return types.NewText(a[0].S + a[1].S), nil
}

func byteaConcat(_ *Ctx, a []types.Datum) (types.Datum, error) {
	if err := enlarge(len(a[0].S), len(a[1].S)); err != nil {
		return types.Null, err
	}
	return types.NewBytes(a[0].S + a[1].S), nil
}

func textPosition(c *Ctx, a []types.Datum) (types.Datum, error) {
	i, err := c.index(a[0].S, a[1].S)
	if i < 0 {
		return types.NewInt(0), err
	}
	return types.NewInt(int64(charLength(a[0].S[:i])) + 1), nil
}

func byteaPosition(c *Ctx, a []types.Datum) (types.Datum, error) {
	i, err := c.index(a[0].S, a[1].S)
	return types.NewInt(int64(i) + 1), err
}

// charOffset returns the byte offset of character n (from 0), or len(s) if s is shorter.
func charOffset(s string, n int) int {
	if n <= 0 {
		return 0
	}
	if n >= len(s) {
		return len(s)
	}
	const block = 4096 // counting characters is faster than stepping through them
	at := 0
	for n >= block && len(s)-at > block {
		end := at + block
		for !utf8.RuneStart(s[end]) && end > at+1 {
			end--
		}
		n -= utf8.RuneCountInString(s[at:end])
		at = end
	}
	for ; n > 0 && at < len(s); n-- {
		if s[at] < utf8.RuneSelf {
			at++
			continue
		}
		_, size := utf8.DecodeRuneInString(s[at:])
		at += size
	}
	return at
}

func textLeft(_ *Ctx, a []types.Datum) (types.Datum, error) {
	s, n := a[0].S, int(a[1].N)
	if n < 0 {
		n += charLength(s)
	}
	return types.NewText(s[:charOffset(s, n)]), nil
}

func textRight(_ *Ctx, a []types.Datum) (types.Datum, error) {
	s, n := a[0].S, int(a[1].N)
	if n < 0 {
		return types.NewText(s[charOffset(s, -n):]), nil
	}
	return types.NewText(s[charOffset(s, charLength(s)-n):]), nil
}

func textReverse(c *Ctx, a []types.Datum) (types.Datum, error) {
	s, p := a[0].S, c.pace()
	b := make([]byte, len(s))
	for i, at := 0, len(s); i < len(s); {
		_, size := utf8.DecodeRuneInString(s[i:])
		at -= size
		copy(b[at:], s[i:i+size])
		i += size
		if err := p.spend(size); err != nil {
			return types.Null, err
		}
	}
	return types.NewText(string(b)), nil
}

func requestTooLarge() error {
	return pgerr.New(pgerr.ProgramLimitExceeded, "requested length too large")
}

func textRepeat(c *Ctx, a []types.Datum) (types.Datum, error) {
	n := max(a[1].N, 0)
	if size, ok := mulInt8(n, int64(len(a[0].S))); !ok || size > maxText {
		return types.Null, requestTooLarge()
	}
	return newText(c.repeat(a[0].S, int(n)))
}

func textReplace(c *Ctx, a []types.Datum) (types.Datum, error) {
	s, old := a[0].S, a[1].S
	if old == "" {
		return types.NewText(s), nil
	}
	if len(s) < stride && len(a[2].S) < stride>>4 {
		return types.NewText(strings.ReplaceAll(s, old, a[2].S)), nil
	}
	b := c.builder()
	for {
		i, err := c.index(s, old)
		if err != nil {
			return types.Null, err
		}
		if i < 0 {
			return b.text(s)
		}
		if err = b.add(s[:i], a[2].S); err != nil {
			return types.Null, err
		}
		s = s[i+len(old):]
	}
}

func textTranslate(c *Ctx, a []types.Datum) (types.Datum, error) {
	from, to := []rune(a[1].S), []rune(a[2].S)
	table := make(map[rune]rune, len(from))
	for i, f := range from {
		if _, known := table[f]; known {
			continue
		}
		table[f] = -1
		if i < len(to) {
			table[f] = to[i]
		}
	}
	return newText(c.mapText(a[0].S, func(r rune) rune {
		if t, ok := table[r]; ok {
			return t
		}
		return r
	}))
}

func splitPart(c *Ctx, a []types.Datum) (types.Datum, error) {
	s, sep, n := a[0].S, a[1].S, int(a[2].N)
	if n == 0 {
		return types.Null, pgerr.New(pgerr.InvalidParameterValue, "field position must not be zero")
	}
	if s == "" {
		return types.NewText(""), nil
	}
	if sep == "" {
		if n == 1 || n == -1 {
			return types.NewText(s), nil
		}
		return types.NewText(""), nil
	}
	if n < 0 {
		count := 0
		if err := c.fields(s, sep, func(string) bool { count++; return true }); err != nil {
			return types.Null, err
		}
		n += count + 1
	}
	part := ""
	err := c.fields(s, sep, func(field string) bool {
		if n--; n == 0 {
			part = field
		}
		return n > 0
	})
	return types.NewText(part), err
}

func trim(s, set string, left, right bool) string {
	if set == "" {
		return s
	}
	if left {
		s = strings.TrimLeft(s, set)
	}
	if right {
		s = strings.TrimRight(s, set)
	}
	return s
}

func trimWith(left, right bool) Func {
	return func(_ *Ctx, a []types.Datum) (types.Datum, error) {
		return types.NewText(trim(a[0].S, a[1].S, left, right)), nil
	}
}

func trimBlanks(left, right bool) Func {
	return func(_ *Ctx, a []types.Datum) (types.Datum, error) {
		return types.NewText(trim(a[0].S, " ", left, right)), nil
	}
}

func byteaTrim(left, right bool) Func {
	return func(_ *Ctx, a []types.Datum) (types.Datum, error) {
		s, set := a[0].S, a[1].S
		for left && s != "" && strings.IndexByte(set, s[0]) >= 0 {
			s = s[1:]
		}
		for right && s != "" && strings.IndexByte(set, s[len(s)-1]) >= 0 {
			s = s[:len(s)-1]
		}
		return types.NewBytes(s), nil
	}
}

func lpad(c *Ctx, a []types.Datum) (types.Datum, error) {
	s, fill, err := c.padding(a)
	return types.NewText(fill + s), err
}

func rpad(c *Ctx, a []types.Datum) (types.Datum, error) {
	s, fill, err := c.padding(a)
	return types.NewText(s + fill), err
}

// padding returns the text truncated to its length, and the padding that follows it.
func (c *Ctx) padding(a []types.Datum) (s, fill string, err error) {
	s, with := a[0].S, " "
	if len(a) > 2 {
		with = a[2].S
	}
	n := max(int(a[1].N), 0)
	if int64(n)*4 > maxText {
		return "", "", requestTooLarge()
	}
	have := charLength(s)
	if have >= n || with == "" {
		return s[:charOffset(s, n)], "", nil
	}
	missing, unit := n-have, charLength(with)
	rest := missing % unit
	fill, err = c.repeat(with, missing/unit)
	return s, fill + with[:charOffset(with, rest)], err
}

func ascii(_ *Ctx, a []types.Datum) (types.Datum, error) {
	if a[0].S == "" {
		return types.NewInt(0), nil
	}
	r, _ := utf8.DecodeRuneInString(a[0].S)
	return types.NewInt(int64(r)), nil
}

func chr(_ *Ctx, a []types.Datum) (types.Datum, error) {
	n := a[0].N
	switch {
	case n < 0:
		return types.Null, pgerr.New(pgerr.InvalidParameterValue, "character number must be positive")
	case n == 0:
		return types.Null, pgerr.New(pgerr.ProgramLimitExceeded, "null character not permitted")
	case n > unicode.MaxRune:
		return types.Null, pgerr.New(pgerr.ProgramLimitExceeded, "requested character too large for encoding: %d", n)
	case n >= 0xD800 && n < 0xE000:
		return types.Null, pgerr.New(pgerr.ProgramLimitExceeded, "requested character not valid for encoding: %d", n)
	}
	return types.NewText(string(rune(n))), nil
}
