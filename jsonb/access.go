package jsonb

import (
	"iter"
	"strconv"
)

// Len counts the elements of an array or the pairs of an object; 0 for scalars.
func (d Doc) Len() int {
	c := d.open()
	return c.n
}

// Get returns the value of an object's key: the operator -> with a text operand.
func (d Doc) Get(key string) (Doc, bool) {
	if d.tag() < tagObject {
		return "", false
	}
	c := d.open()
	i, ok := c.find(key)
	if !ok {
		return "", false
	}
	return c.val(i), true
}

// GetAll returns the values of several keys of an object, in out. The value of a missing key is the
// empty Doc. It reads the object's header once.
func (d Doc) GetAll(keys []string, out []Doc) []Doc {
	c := container{}
	if d.tag() >= tagObject {
		c = d.open()
	}
	for _, key := range keys {
		v := Doc("")
		if i, ok := c.find(key); ok {
			v = c.val(i)
		}
		out = append(out, v)
	}
	return out
}

// Index returns the i-th element of an array, from the end if i is negative: the operator -> with
// an integer operand. As in PostgreSQL a scalar is treated as an array of itself here, but not in
// Path.
func (d Doc) Index(i int) (Doc, bool) {
	switch d.Kind() {
	case Array:
	case Object:
		return "", false
	default:
		return d, i == 0 || i == -1
	}
	c := d.open()
	if i < 0 {
		i += c.n
	}
	if i < 0 || i >= c.n {
		return "", false
	}
	return c.val(i), true
}

// Path follows keys and array positions: the operator #>. The empty path returns d itself.
func (d Doc) Path(path ...string) (Doc, bool) {
	for _, step := range path {
		var ok bool
		switch d.Kind() {
		case Object:
			d, ok = d.Get(step)
		case Array:
			var i int
			if i, ok = arrayPosition(step); ok {
				d, ok = d.Index(i)
			}
		}
		if !ok {
			return "", false
		}
	}
	return d, true
}

// arrayPosition reads a path step as C's strtol does: leading white space, a sign, digits up to the
// end.
func arrayPosition(step string) (int, bool) {
	s := step
	for len(s) > 0 && (s[0] == ' ' || s[0] >= '\t' && s[0] <= '\r') {
		s = s[1:]
	}
	i, err := strconv.ParseInt(s, 10, 32)
	return int(i), err == nil
}

// GetText is ->> with a text operand: ok is false if the key is missing or its value is null.
func (d Doc) GetText(key string) (string, bool) {
	v, ok := d.Get(key)
	if !ok {
		return "", false
	}
	return v.AsText()
}

// IndexText is ->> with an integer operand.
func (d Doc) IndexText(i int) (string, bool) {
	v, ok := d.Index(i)
	if !ok {
		return "", false
	}
	return v.AsText()
}

// PathText is #>>.
func (d Doc) PathText(path ...string) (string, bool) {
	v, ok := d.Path(path...)
	if !ok {
		return "", false
	}
	return v.AsText()
}

// Elements walks an array's elements; it yields nothing for other kinds.
func (d Doc) Elements() iter.Seq2[int, Doc] {
	return func(yield func(int, Doc) bool) {
		if d.Kind() != Array {
			return
		}
		c := d.cursor()
		for i := 0; ; i++ {
			_, v, ok := c.next()
			if !ok || !yield(i, v) {
				return
			}
		}
	}
}

// Pairs walks an object's pairs in the order of storage; it yields nothing for other kinds.
func (d Doc) Pairs() iter.Seq2[string, Doc] {
	return func(yield func(string, Doc) bool) {
		if d.Kind() != Object {
			return
		}
		c := d.cursor()
		for {
			k, v, ok := c.next()
			if !ok || !yield(k, v) {
				return
			}
		}
	}
}
