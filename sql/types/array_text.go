package types

import (
	"strconv"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
)

func malformedArray(s string) *pgerr.Error {
	return pgerr.New(pgerr.InvalidTextRepresentation, "malformed array literal: \"%s\"", s)
}

// parseArray parses the text form of an array: optional bounds, braces, elements.
func parseArray(elem OID, typmod int32, s string, env *Env) (Datum, error) {
	p := arrayParser{s: s, elem: elem, typmod: typmod, env: env}
	dims, lbs, err := p.bounds()
	if err != nil {
		return Null, err
	}
	if err := p.body(); err != nil {
		return Null, err
	}
	if dims != nil {
		if err := p.matchBounds(dims); err != nil {
			return Null, err
		}
	}
	if len(p.vals) == 0 {
		return NewArray(elem, nil, nil, nil), nil
	}
	return NewArray(elem, p.dims, lbs, p.vals), nil
}

type arrayParser struct {
	s      string
	pos    int
	elem   OID
	typmod int32
	env    *Env
	vals   []Datum
	dims   []int32 // length at each depth, -1 if unknown
	leaf   int     // depth of the elements, 0 if unknown
}

func (p *arrayParser) space() {
	for p.pos < len(p.s) && isSpace(p.s[p.pos]) {
		p.pos++
	}
}

func (p *arrayParser) fail(detail string, args ...any) error {
	return malformedArray(p.s).WithDetail(detail, args...)
}

// bounds reads [l:u]…= before the braces.
func (p *arrayParser) bounds() (dims, lbs []int32, err error) {
	for {
		p.space()
		if p.pos >= len(p.s) || p.s[p.pos] != '[' {
			break
		}
		p.pos++
		if len(dims) >= MaxDims {
			return nil, nil, ArrayDimError(len(dims) + 1)
		}
		lo, hi, err := p.bound()
		if err != nil {
			return nil, nil, err
		}
		if hi < lo {
			return nil, nil, pgerr.New(pgerr.ArraySubscriptError, "upper bound cannot be less than lower bound")
		}
		if hi-lo+1 > maxArrayItems {
			return nil, nil, pgerr.New(pgerr.ProgramLimitExceeded, "array size exceeds the maximum allowed (%d)",
				maxArrayItems)
		}
		if hi == 1<<31-1 {
			return nil, nil, pgerr.New(pgerr.ProgramLimitExceeded, "array lower bound is too large: %d", lo)
		}
		dims, lbs = append(dims, int32(hi-lo+1)), append(lbs, int32(lo))
	}
	if dims == nil {
		if p.pos >= len(p.s) || p.s[p.pos] != '{' {
			return nil, nil, p.fail("Array value must start with \"{\" or dimension information.")
		}
		return nil, nil, nil
	}
	if p.pos >= len(p.s) || p.s[p.pos] != '=' {
		return nil, nil, p.fail("Missing \"%s\" after array dimensions.", "=")
	}
	p.pos++
	p.space()
	if p.pos >= len(p.s) || p.s[p.pos] != '{' {
		return nil, nil, p.fail("Array contents must start with \"{\".")
	}
	return dims, lbs, nil
}

func (p *arrayParser) bound() (lo, hi int64, err error) {
	first, ok := p.number()
	if !ok {
		return 0, 0, p.fail("\"[\" must introduce explicitly-specified array dimensions.")
	}
	lo, hi = 1, first
	if p.pos < len(p.s) && p.s[p.pos] == ':' {
		p.pos++
		lo = first
		if hi, ok = p.number(); !ok {
			return 0, 0, p.fail("Missing array dimension value.")
		}
	}
	if p.pos >= len(p.s) || p.s[p.pos] != ']' {
		return 0, 0, p.fail("Missing \"%s\" after array dimensions.", "]")
	}
	p.pos++
	return lo, hi, nil
}

func (p *arrayParser) number() (int64, bool) {
	start := p.pos
	for p.pos < len(p.s) && (isDigit(p.s[p.pos]) || (p.pos == start && (p.s[p.pos] == '-' || p.s[p.pos] == '+'))) {
		p.pos++
	}
	n, err := strconv.ParseInt(p.s[start:p.pos], 10, 32)
	return n, err == nil
}

// body reads the braces and what follows them.
func (p *arrayParser) body() error {
	if err := p.level(1); err != nil {
		return err
	}
	p.space()
	if p.pos < len(p.s) {
		return p.fail("Junk after closing right brace.")
	}
	for i, d := range p.dims {
		if d < 0 {
			p.dims = p.dims[:i]
			break
		}
	}
	return nil
}

// level reads one pair of braces at a depth from 1.
func (p *arrayParser) level(depth int) error {
	if depth > MaxDims {
		return ArrayDimError(depth)
	}
	if len(p.dims) < depth {
		p.dims = append(p.dims, -1)
	}
	p.pos++ // {
	p.space()
	count := int32(0)
	if p.pos < len(p.s) && p.s[p.pos] == '}' {
		p.pos++
		return p.closeLevel(depth, 0)
	}
	for {
		p.space()
		if p.pos >= len(p.s) {
			return p.fail("Unexpected end of input.")
		}
		switch c := p.s[p.pos]; {
		case c == '{':
			if p.leaf != 0 && p.leaf <= depth {
				return p.fail("Unexpected \"%c\" character.", '{')
			}
			if err := p.level(depth + 1); err != nil {
				return err
			}
		case c == '}' || c == p.delim():
			return p.fail("Unexpected \"%c\" character.", c)
		default:
			if err := p.leafValue(depth); err != nil {
				return err
			}
		}
		count++
		p.space()
		if p.pos >= len(p.s) {
			return p.fail("Unexpected end of input.")
		}
		c := p.s[p.pos]
		p.pos++
		if c == '}' {
			return p.closeLevel(depth, count)
		}
		if c != p.delim() {
			return p.fail("Unexpected array element.")
		}
	}
}

func (p *arrayParser) delim() byte { return ',' }

func (p *arrayParser) closeLevel(depth int, count int32) error {
	if p.dims[depth-1] >= 0 && p.dims[depth-1] != count {
		return p.raggedError()
	}
	if count == 0 && depth > 1 {
		return p.fail("Unexpected \"%c\" character.", '}')
	}
	p.dims[depth-1] = count
	return nil
}

func (p *arrayParser) raggedError() error {
	return p.fail("Multidimensional arrays must have sub-arrays with matching dimensions.")
}

func (p *arrayParser) leafValue(depth int) error {
	if p.leaf == 0 {
		p.leaf = depth
	}
	if p.leaf != depth {
		return p.fail("Unexpected array element.")
	}
	text, null, err := p.element()
	if err != nil {
		return err
	}
	if null {
		p.vals = append(p.vals, Null)
		return nil
	}
	d, err := Input(p.elem, p.typmod, text, p.env)
	if err != nil {
		return err
	}
	p.vals = append(p.vals, d)
	return nil
}

// element reads one element: quoted or bare, with backslash escapes; bare NULL is null.
func (p *arrayParser) element() (text string, null bool, err error) {
	if p.s[p.pos] == '"' {
		return p.quoted()
	}
	var b strings.Builder
	escaped, keep := false, 0
	for ; p.pos < len(p.s); p.pos++ {
		c := p.s[p.pos]
		switch {
		case c == '"':
			return "", false, p.fail("Unexpected array element.")
		case c == '{':
			return "", false, p.fail("Unexpected \"%c\" character.", '{')
		case c == '}' || c == p.delim():
			t := b.String()[:keep]
			return t, !escaped && strings.EqualFold(t, "null"), nil
		case c == '\\':
			p.pos++
			if p.pos >= len(p.s) {
				return "", false, p.fail("Unexpected end of input.")
			}
			b.WriteByte(p.s[p.pos])
			escaped, keep = true, b.Len()
		default:
			b.WriteByte(c)
			if !isSpace(c) {
				keep = b.Len()
			}
		}
	}
	return "", false, p.fail("Unexpected end of input.")
}

func (p *arrayParser) quoted() (string, bool, error) {
	var b strings.Builder
	for p.pos++; p.pos < len(p.s); p.pos++ {
		c := p.s[p.pos]
		switch c {
		case '"':
			p.pos++
			return b.String(), false, nil
		case '\\':
			p.pos++
			if p.pos < len(p.s) {
				b.WriteByte(p.s[p.pos])
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", false, p.fail("Unexpected end of input.")
}

func (p *arrayParser) matchBounds(dims []int32) error {
	if len(p.dims) != len(dims) {
		return p.fail("Specified array dimensions do not match array contents.")
	}
	for i := range dims {
		if dims[i] != p.dims[i] {
			return p.fail("Specified array dimensions do not match array contents.")
		}
	}
	return nil
}
