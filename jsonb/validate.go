package jsonb

import (
	"strings"
	"unicode/utf8"

	"github.com/sherddb/sherd/internal/pgerr"
)

// Validate checks every byte of a value that comes from outside: format, bounds, order of keys,
// number and text syntax, depth. It returns XX001 for a damaged value.
func (d Doc) Validate() error { return validate(d, 0) }

func damaged(what string) error {
	return pgerr.New(pgerr.DataCorrupted, "damaged jsonb value: %s", what)
}

func validate(d Doc, depth int) error {
	if depth > MaxDepth {
		return damaged("nested too deeply")
	}
	if len(d) == 0 {
		return damaged("no bytes")
	}
	switch t := d[0]; {
	case t&0xf0 != format:
		return damaged("unknown format")
	case t <= tagTrue:
		if len(d) != 1 {
			return damaged("trailing bytes")
		}
	case t == tagNumber:
		text := string(d[1:])
		if !isNumber(text) {
			return damaged("number")
		}
		if s, err := canonicalNumber(text); err != nil || s != text {
			return damaged("number")
		}
	case t == tagString:
		if !validText(string(d[1:])) {
			return damaged("text")
		}
	case d.Kind() >= Array:
		return validateContainer(d, depth)
	default:
		return damaged("unknown kind")
	}
	return nil
}

func validateContainer(d Doc, depth int) error {
	c := d.cursor()
	if c.width == 0 {
		return damaged("header")
	}
	last := ""
	for i := 0; i < c.n; i++ {
		key, val, ok := c.next()
		if !ok {
			return damaged("offsets")
		}
		if c.keyed {
			if i > 0 && compareKeys(last, key) >= 0 || !validText(key) {
				return damaged("keys")
			}
			last = key
		}
		if err := validate(val, depth+1); err != nil {
			return err
		}
	}
	if c.valEnd != len(c.vals) || c.width != widthOf(c.n, len(c.keys), len(c.vals)) {
		return damaged("offsets")
	}
	return nil
}

// validText reports whether a PostgreSQL text may hold s: UTF-8 without NUL.
func validText(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// isNumber reports whether s is a JSON number.
func isNumber(s string) bool {
	n := scanNumber(s)
	return n == len(s) && n > 0
}
