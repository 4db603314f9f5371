package builtin

import (
	"strings"
	"unicode/utf8"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/internal/regexrun"
	"github.com/sherddb/sherd/sql/types"
)

// stride is the number of bytes that a function processes between two checks of the statement's
// context. It is some milliseconds of work, so that a cancel request and statement_timeout end a
// function over a long text in time.
const stride = 1 << 20

// pace counts work, and checks the context once per stride.
type pace struct {
	c    *Ctx
	work int
}

func (c *Ctx) pace() *pace { return &pace{c: c} }

// spend counts n bytes of work. It returns an error if the statement is canceled.
func (p *pace) spend(n int) error {
	if p.work += n; p.work < stride {
		return nil
	}
	p.work = 0
	return p.c.canceled()
}

// pieces calls f for consecutive pieces of s that end at character boundaries.
func (c *Ctx) pieces(s string, f func(piece string)) error {
	for len(s) > stride {
		if err := c.canceled(); err != nil {
			return err
		}
		n := stride
		for n > stride-utf8.UTFMax && !utf8.RuneStart(s[n]) {
			n--
		}
		f(s[:n])
		s = s[n:]
	}
	f(s)
	return nil
}

// mapText is strings.Map with checks of the context.
func (c *Ctx) mapText(s string, f func(rune) rune) (string, error) {
	if len(s) <= stride {
		return strings.Map(f, s), nil
	}
	var b strings.Builder
	b.Grow(len(s))
	err := c.pieces(s, func(piece string) { b.WriteString(strings.Map(f, piece)) })
	return b.String(), err
}

// index is strings.Index with checks of the context.
func (c *Ctx) index(s, sub string) (int, error) {
	if len(s) <= stride {
		return strings.Index(s, sub), nil
	}
	return regexrun.Index(c.Context, s, sub)
}

// repeat is strings.Repeat with checks of the context.
func (c *Ctx) repeat(s string, n int) (string, error) {
	if len(s)*n <= stride {
		return strings.Repeat(s, n), nil
	}
	unit := max(stride/len(s), 1)
	piece := strings.Repeat(s, min(unit, n))
	var b strings.Builder
	b.Grow(len(s) * n)
	for ; n >= unit; n -= unit {
		if err := c.canceled(); err != nil {
			return "", err
		}
		b.WriteString(piece)
	}
	b.WriteString(piece[:n*len(s)])
	return b.String(), nil
}

// fields calls f for the texts between the occurrences of separator, which must not be empty, until
// f returns false.
func (c *Ctx) fields(s, separator string, f func(field string) bool) error {
	p := c.pace()
	for {
		i, err := c.index(s, separator)
		if err == nil {
			err = p.spend(max(i, 0) + len(separator))
		}
		if err != nil {
			return err
		}
		if i < 0 {
			f(s)
			return nil
		}
		if !f(s[:i]) {
			return nil
		}
		s = s[i+len(separator):]
	}
}

// characters calls f for each character.
func (c *Ctx) characters(s string, f func(char string) bool) error {
	p := c.pace()
	for s != "" {
		n := nextChar(s, 0)
		if err := p.spend(n); err != nil || !f(s[:n]) {
			return err
		}
		s = s[n:]
	}
	return nil
}

// textBuilder collects text up to PostgreSQL's size limit of a value.
type textBuilder struct {
	b strings.Builder
	p pace
}

func (c *Ctx) builder() *textBuilder { return &textBuilder{p: pace{c: c}} }

// add appends texts. It returns an error if the text becomes too long, or if the statement is
// canceled.
func (t *textBuilder) add(texts ...string) error {
	size := 1
	for _, s := range texts {
		size += len(s)
		if err := enlarge(t.b.Len(), len(s)); err != nil {
			return err
		}
		t.b.WriteString(s)
	}
	return t.p.spend(size)
}

// text appends the last piece and returns the whole text.
func (t *textBuilder) text(last string) (types.Datum, error) {
	err := t.add(last)
	return types.NewText(t.b.String()), err
}

// enlarge returns an error unless a value of have bytes can grow by n bytes.
func enlarge(have, n int) error {
	if have+n <= maxText {
		return nil
	}
	return pgerr.New(pgerr.ProgramLimitExceeded, "out of memory").
		WithDetail("Cannot enlarge string buffer containing %d bytes by %d more bytes.", have, n)
}

func newText(s string, err error) (types.Datum, error) {
	if err != nil {
		return types.Null, err
	}
	return types.NewText(s), nil
}
