package builtin

import (
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dlclark/regexp2"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/internal/regexrun"
)

// regexTimeout limits a match by the backtracking engine, whose time can grow exponentially.
const regexTimeout = 10 * time.Second

// compiledRegex is a compiled expression. RE2 is used if possible, because it is linear and finds
// the longest match. Back references, lookaround and word constraints need a backtracking engine.
type compiledRegex struct {
	first   *regexp.Regexp // for a search from the start of the text
	later   *regexp.Regexp // for a search from further on, where ^ does not match
	back    *regexp2.Regexp
	groups  int
	atStart bool // ^ or \A occurs: a match may depend on where the text starts
}

// compileRegex translates and compiles an expression. PostgreSQL prefers the longest match, or the
// shortest if the first relevant quantifier is lazy. RE2 has a mode for the former; the latter is
// approximated by making all quantifiers lazy.
func compileRegex(src string, flags regexFlags) (*compiledRegex, error) {
	root, p, err := parseRegex(src, flags)
	if err != nil {
		return nil, err
	}
	force := byte(0)
	lazy := preference(root) < 0
	if lazy && !endsAnchored(root) {
		force = 'l'
	}
	var b strings.Builder
	writeRegex(&b, root, force)
	if p.backtrack {
		return compileBacktracking(strings.ReplaceAll(b.String(), textStart, `\A`), p)
	}
	text := b.String()
	if p.flags.ignoreCase {
		text = "(?i)" + text
	}
	c := &compiledRegex{groups: p.groups, atStart: p.atStart}
	if c.first, err = regexp.Compile(strings.ReplaceAll(text, textStart, `\A`)); err != nil {
		return nil, pgerr.New(pgerr.InvalidRegularExpression,
			"invalid regular expression: regular expression is too complex")
	}
	c.later = c.first
	if p.atStart {
		// No character is outside of all characters: ^ does not match further on.
		if c.later, err = regexp.Compile(strings.ReplaceAll(text, textStart, `[^\x00-\x{10FFFF}]`)); err != nil {
			return nil, regexError("regular expression is too complex")
		}
	}
	if !lazy {
		c.first.Longest()
		c.later.Longest()
	}
	return c, nil
}

func compileBacktracking(text string, p *regexParser) (*compiledRegex, error) {
	options := regexp2.RegexOptions(regexp2.None)
	if p.flags.ignoreCase {
		options |= regexp2.IgnoreCase
	}
	re, err := regexp2.Compile(text, options)
	if err != nil {
		return nil, regexError("regular expression is too complex")
	}
	re.MatchTimeout = regexTimeout
	return &compiledRegex{back: re, groups: p.groups}, nil
}

// preference returns 1 if an expression prefers its longest match, -1 for the shortest, 0 if it has
// no choice, by PostgreSQL's "Regular Expression Matching Rules".
func preference(n *regexNode) int {
	if len(n.branches) > 1 {
		return 1
	}
	for _, branch := range n.branches {
		for _, atom := range branch {
			if p := atomPreference(atom); p != 0 {
				return p
			}
		}
	}
	return 0
}

func atomPreference(n *regexNode) int {
	inner := 0
	if n.group == "(" || n.group == "(?:" {
		inner = preference(n)
	}
	switch {
	case n.quant == nil, n.quant.min == n.quant.max && !(n.quant.min == 1 && n.group != ""):
		return inner
	case n.quant.lazy:
		return -1
	}
	return 1
}

// endsAnchored reports whether every match ends at the end of the text, so that its length does not
// depend on preference.
func endsAnchored(root *regexNode) bool {
	for _, branch := range root.branches {
		if len(branch) == 0 || branch[len(branch)-1].text != `\z` {
			return false
		}
	}
	return true
}

// writeRegex writes a node. force makes the quantifiers in it lazy ('l') or greedy ('g').
func writeRegex(b *strings.Builder, n *regexNode, force byte) {
	inner := force
	if q := n.quant; q != nil && q.min == 1 && q.max == 1 && n.group != "" {
		inner = 'g' // {1,1} and {1,1}? set a group's preference
		if q.lazy {
			inner = 'l'
		}
	}
	b.WriteString(n.group)
	for i, branch := range n.branches {
		if i > 0 {
			b.WriteByte('|')
		}
		for _, atom := range branch {
			writeRegex(b, atom, inner)
		}
	}
	if n.group != "" {
		b.WriteByte(')')
	}
	b.WriteString(n.text)
	if n.quant != nil {
		n.quant.write(b, force)
	}
}

func (q *regexQuant) write(b *strings.Builder, force byte) {
	b.WriteString("{" + strconv.Itoa(q.min))
	if q.max != q.min {
		b.WriteByte(',')
		if q.max >= 0 {
			b.WriteString(strconv.Itoa(q.max))
		}
	}
	b.WriteByte('}')
	if force == 'l' || force == 0 && q.lazy {
		b.WriteByte('?')
	}
}

// find returns the first match at or after byte offset from: pairs of byte offsets of the match and
// of each group, -1 if a group did not take part; nil if there is no match.
func (r *compiledRegex) find(c *Ctx, s string, from int) ([]int, error) {
	if r.back != nil {
		return r.findBacktracking(c, s, from)
	}
	re := r.first
	if from > 0 {
		re = r.later
	}
	loc, err := regexrun.Find(c.Context, re, s[from:], !r.atStart)
	for i := range loc {
		if loc[i] >= 0 {
			loc[i] += from
		}
	}
	return loc, err
}

func (r *compiledRegex) matches(c *Ctx, s string) (bool, error) {
	if r.back == nil && len(s) < stride {
		return r.first.MatchString(s), nil
	}
	loc, err := r.find(c, s, 0)
	return loc != nil, err
}

func (r *compiledRegex) findBacktracking(c *Ctx, s string, from int) ([]int, error) {
	m, err := regexrun.Backtrack(c.Context, r.back, []rune(s), utf8.RuneCountInString(s[:from]))
	if err := c.canceled(); err != nil {
		return nil, err
	}
	if err != nil {
		return nil, pgerr.New(pgerr.StatementTooComplex, "regular expression failed: it took more than %s",
			regexTimeout)
	}
	if m == nil {
		return nil, nil
	}
	loc := make([]int, 0, 2*(r.groups+1))
	for _, g := range m.Groups() {
		if len(g.Captures) == 0 {
			loc = append(loc, -1, -1)
			continue
		}
		start := charOffset(s, g.Index)
		loc = append(loc, start, start+charOffset(s[start:], g.Length))
	}
	return loc, nil
}

// regexMemo has the expression that a call site used last.
type regexMemo struct {
	src   string
	flags regexFlags
	re    *compiledRegex
}

// regex returns the compiled expression, from the call site's memo if it is unchanged.
func (c *Ctx) regex(src string, flags regexFlags) (*compiledRegex, error) {
	if m, ok := c.Memo.(*regexMemo); ok && m.src == src && m.flags == flags {
		return m.re, nil
	}
	re, err := compileRegex(src, flags)
	if err == nil {
		c.Memo = &regexMemo{src: strings.Clone(src), flags: flags, re: re}
	}
	return re, err
}
