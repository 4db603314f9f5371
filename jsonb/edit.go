package jsonb

import (
	"slices"

	"github.com/sherddb/sherd/internal/pgerr"
)

// Concat is the operator ||: objects are merged (b wins), arrays are joined, and any other value is
// treated as an array of one element.
func Concat(a, b Doc) (Doc, error) {
	ak, bk := a.Kind(), b.Kind()
	if ak == bk && ak >= Array {
		switch {
		case a.Len() == 0:
			return b, nil
		case b.Len() == 0:
			return a, nil
		}
	}
	var out Builder
	if ak == Object && bk == Object {
		out.BeginObject()
		out.pairs(a)
		out.pairs(b)
	} else {
		out.BeginArray()
		out.elements(a)
		out.elements(b)
	}
	out.End()
	return out.Finish()
}

func (b *Builder) pairs(d Doc) {
	for k, v := range d.Pairs() {
		b.key = k
		b.Doc(v)
	}
}

// elements adds the elements of an array, or any other value as one element.
func (b *Builder) elements(d Doc) {
	if d.Kind() != Array {
		b.Doc(d)
		return
	}
	for _, v := range d.Elements() {
		b.Doc(v)
	}
}

// DeleteKey is the operator - with a text operand: the key of an object, or each equal string of an
// array.
func (d Doc) DeleteKey(key string) (Doc, error) { return d.DeleteKeys([]string{key}) }

// DeleteKeys is the operator - with a text[] operand; the caller leaves out NULL keys.
func (d Doc) DeleteKeys(keys []string) (Doc, error) {
	var out Builder
	switch d.Kind() {
	case Object:
		out.BeginObject()
		for k, v := range d.Pairs() {
			if !slices.Contains(keys, k) {
				out.key = k
				out.Doc(v)
			}
		}
	case Array:
		out.BeginArray()
		for _, v := range d.Elements() {
			if s, ok := v.Str(); !ok || !slices.Contains(keys, s) {
				out.Doc(v)
			}
		}
	default:
		return "", pgerr.New(pgerr.InvalidParameterValue, "cannot delete from scalar")
	}
	out.End()
	return out.Finish()
}

// DeleteIndex is the operator - with an integer operand.
func (d Doc) DeleteIndex(i int) (Doc, error) {
	switch d.Kind() {
	case Array:
	case Object:
		return "", pgerr.New(pgerr.InvalidParameterValue, "cannot delete from object using integer index")
	default:
		return "", pgerr.New(pgerr.InvalidParameterValue, "cannot delete from scalar")
	}
	if i < 0 {
		i += d.Len()
	}
	var out Builder
	out.BeginArray()
	for at, v := range d.Elements() {
		if at != i {
			out.Doc(v)
		}
	}
	out.End()
	return out.Finish()
}

// StripNulls is jsonb_strip_nulls: objects lose their pairs with null values, at all levels.
func (d Doc) StripNulls() (Doc, error) {
	var out Builder
	out.stripped(d, 0)
	return out.Finish()
}

func (b *Builder) stripped(d Doc, depth int) {
	if !d.IsContainer() || depth >= MaxDepth {
		b.Doc(d)
		return
	}
	c := d.cursor()
	if c.keyed {
		b.BeginObject()
	} else {
		b.BeginArray()
	}
	for {
		k, v, ok := c.next()
		if !ok {
			break
		}
		if !c.keyed || !v.IsNull() {
			b.key = k
			b.stripped(v, depth+1)
		}
	}
	b.End()
}

// ArrayLength is jsonb_array_length.
func (d Doc) ArrayLength() (int, error) {
	switch d.Kind() {
	case Array:
		return d.Len(), nil
	case Object:
		return 0, pgerr.New(pgerr.InvalidParameterValue, "cannot get array length of a non-array")
	}
	return 0, pgerr.New(pgerr.InvalidParameterValue, "cannot get array length of a scalar")
}
