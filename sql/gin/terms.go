package gin

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/sherddb/sherd/jsonb"
	"github.com/sherddb/sherd/sql/types"
)

// Term is what an entry of an index is found by.
type Term uint64

// What a term is of. The numbers are part of stored terms (G1).
const (
	ofKey     = 'k'
	ofString  = 's'
	ofNumber  = 'n'
	ofBoolean = 'b'
	ofNull    = '0'
	ofPath    = 'p'
	ofElement = 'a'
	ofEmpty   = 'e'
)

// Column computes the terms of a key column of an index. It must not be used by several goroutines.
type Column struct {
	At    int // position in the index
	Type  types.OID
	Class Class
	buf   []byte
}

// Append appends the terms of a value, some of them perhaps several times. Null has none.
func (c *Column) Append(dst []Term, d types.Datum) ([]Term, error) {
	switch {
	case d.IsNull():
		return dst, nil
	case c.Class == ArrayOps:
		return c.appendElements(dst, d)
	case c.Class == JSONBOps:
		return c.appendParts(dst, jsonb.Doc(d.S)), nil
	}
	return c.appendPaths(dst, jsonb.Doc(d.S), c.root()), nil
}

// Distinct sorts terms and removes repetitions.
func Distinct(list []Term) []Term {
	slices.Sort(list)
	return slices.Compact(list)
}

// term hashes what the column has of some kind.
func (c *Column) term(of byte, text string) Term {
	c.buf = append(append(c.buf[:0], byte(c.At), of), text...)
	return Term(xxhash.Sum64(c.buf))
}

// appendElements appends the terms of an array.
func (c *Column) appendElements(dst []Term, d types.Datum) ([]Term, error) {
	a, err := types.ArrayOf(d)
	if err != nil {
		return dst, err
	}
	for i := range a.Len() {
		dst = append(dst, c.element(a.At(i)))
	}
	if a.Len() == 0 {
		dst = append(dst, c.term(ofEmpty, ""))
	}
	return dst, nil
}

func (c *Column) element(d types.Datum) Term {
	if d.IsNull() {
		return c.term(ofNull, "")
	}
	c.buf = types.AppendKey(append(c.buf[:0], byte(c.At), ofElement), types.ElemOf(types.BaseOf(c.Type)), d, false)
	return Term(xxhash.Sum64(c.buf))
}

// appendParts appends the terms of jsonb_ops. Strings in arrays count as keys, and so does a document
// that is a string.
func (c *Column) appendParts(dst []Term, d jsonb.Doc) []Term {
	switch d.Kind() {
	case jsonb.Object:
		for key, v := range d.Pairs() {
			dst = append(dst, c.term(ofKey, key))
			if v.IsContainer() {
				dst = c.appendParts(dst, v)
			} else {
				dst = append(dst, c.scalar(v))
			}
		}
	case jsonb.Array:
		for _, v := range d.Elements() {
			dst = c.appendParts(dst, v)
		}
	case jsonb.String:
		s, _ := d.Str()
		dst = append(dst, c.term(ofKey, s))
	default:
		dst = append(dst, c.scalar(d))
	}
	return dst
}

// scalar returns the term of a value in jsonb_ops that does not count as a key.
func (c *Column) scalar(d jsonb.Doc) Term { return c.term(scalarParts(d)) }

// scalarParts returns the kind and the text of a scalar; those of equal scalars are equal.
func scalarParts(d jsonb.Doc) (of byte, text string) {
	switch d.Kind() {
	case jsonb.String:
		s, _ := d.Str()
		return ofString, s
	case jsonb.Number:
		s, _ := d.NumberText()
		if strings.IndexByte(s, '.') >= 0 {
			s = strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
		}
		return ofNumber, s
	case jsonb.Bool:
		if v, _ := d.Bool(); v {
			return ofBoolean, "t"
		}
		return ofBoolean, "f"
	}
	return ofNull, ""
}

// path is the hash of the keys that lead to a value, in jsonb_path_ops.
type path uint64

// root returns the path of the whole document.
func (c *Column) root() path { return path(c.term(ofPath, "")) }

// below returns the path with one more step, a key or a scalar value.
func (c *Column) below(p path, of byte, text string) path {
	c.buf = binary.BigEndian.AppendUint64(c.buf[:0], uint64(p))
	c.buf = append(append(c.buf, of), text...)
	return path(xxhash.Sum64(c.buf))
}

// leaf returns the term of a scalar at a path.
func (c *Column) leaf(p path, d jsonb.Doc) Term {
	of, text := scalarParts(d)
	return Term(c.below(p, of, text))
}

// appendPaths appends the terms of jsonb_path_ops: those of the scalars in a value at a path. An
// array is at the path of its elements.
func (c *Column) appendPaths(dst []Term, d jsonb.Doc, p path) []Term {
	switch d.Kind() {
	case jsonb.Object:
		for key, v := range d.Pairs() {
			dst = c.appendPaths(dst, v, c.below(p, ofKey, key))
		}
	case jsonb.Array:
		for _, v := range d.Elements() {
			dst = c.appendPaths(dst, v, p)
		}
	default:
		dst = append(dst, c.leaf(p, d))
	}
	return dst
}
