package types

import (
	"encoding/binary"

	"github.com/sherddb/sherd/internal/pgerr"
)

// MaxDims is the greatest number of dimensions of an array.
const MaxDims = 6

const maxArrayItems = 1 << 27

// The flat form of an array (V2), frozen by golden files:
//
//	element type(4) · dimensions(1) · length of each(4) · lower bound of each(4) · tuple
//
// all little endian. An empty array has no dimensions and no tuple.

// Array reads a KindArray Datum without decoding the elements. Elements alias the Datum.
type Array struct {
	Elem OID
	NDim int
	kind Kind
	s    string
	t    tuple
}

// ArrayOf opens an array value.
func ArrayOf(d Datum) (Array, error) {
	s := d.S
	if len(s) < 5 {
		return Array{}, errTuple
	}
	a := Array{Elem: le32(s), NDim: int(s[4]), s: s}
	a.kind = KindOf(a.Elem)
	if a.NDim == 0 {
		return a, nil
	}
	if a.NDim > MaxDims || len(s) < 5+8*a.NDim {
		return Array{}, errTuple
	}
	items := int64(1)
	for i := 0; i < a.NDim; i++ {
		n := a.Dim(i)
		if n <= 0 || items*int64(n) > maxArrayItems {
			return Array{}, errTuple
		}
		items *= int64(n)
	}
	if items > int64(len(s)) {
		return Array{}, errTuple
	}
	var err error
	a.t, err = openTuple(s, 5+8*a.NDim, int(items))
	nests := a.kind == KindRecord || a.kind == KindArray
	if err == nil && nests && (IsArray(a.Elem) || !a.t.monotone()) {
		err = errTuple
	}
	return a, err
}

// Len returns the number of elements over all dimensions.
func (a *Array) Len() int { return a.t.n }

// Dim returns the length of dimension i, from 0.
func (a *Array) Dim(i int) int32 { return int32(le32(a.s[5+4*i:])) }

// Lower returns the lower bound of dimension i.
func (a *Array) Lower(i int) int32 { return int32(le32(a.s[5+4*a.NDim+4*i:])) }

// Upper returns the upper bound of dimension i.
func (a *Array) Upper(i int) int32 { return a.Lower(i) + a.Dim(i) - 1 }

// Dims returns the lengths of all dimensions.
func (a *Array) Dims() []int32 {
	dims := make([]int32, a.NDim)
	for i := range dims {
		dims[i] = a.Dim(i)
	}
	return dims
}

// Lowers returns the lower bounds of all dimensions.
func (a *Array) Lowers() []int32 {
	lbs := make([]int32, a.NDim)
	for i := range lbs {
		lbs[i] = a.Lower(i)
	}
	return lbs
}

// At returns element i in storage order, from 0. A damaged element is null.
func (a *Array) At(i int) Datum {
	d, err := a.t.datum(i, a.kind)
	if err != nil {
		return Null
	}
	return d
}

// IsNullAt reports whether element i is null.
func (a *Array) IsNullAt(i int) bool { return a.t.isNull(i) }

// HasNulls reports whether any element is null.
func (a *Array) HasNulls() bool {
	if a.t.nulls == 0 {
		return false
	}
	for i := 0; i < a.t.n; i++ {
		if a.t.isNull(i) {
			return true
		}
	}
	return false
}

// Elems returns all elements in storage order.
func (a *Array) Elems() []Datum {
	out := make([]Datum, a.t.n)
	for i := range out {
		out[i] = a.At(i)
	}
	return out
}

// Subscript returns the element at subscripts counted from the lower bounds. It is null if a
// subscript is out of bounds, or if their number is not that of the dimensions.
func (a *Array) Subscript(subs ...int32) Datum {
	if len(subs) != a.NDim || a.NDim == 0 {
		return Null
	}
	pos := 0
	for i, s := range subs {
		at := int64(s) - int64(a.Lower(i))
		if at < 0 || at >= int64(a.Dim(i)) {
			return Null
		}
		pos = pos*int(a.Dim(i)) + int(at)
	}
	return a.At(pos)
}

// NewArray returns an array with the given dimensions and lower bounds; nil lower bounds are 1. The
// product of the dimensions must be the number of elements. Without elements the array is empty.
func NewArray(elem OID, dims, lowers []int32, elems []Datum) Datum {
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, 16+8*len(elems)), elem)
	if len(elems) == 0 {
		return Datum{K: KindArray, S: aliasString(append(b, 0))}
	}
	b = append(b, byte(len(dims)))
	for _, d := range dims {
		b = binary.LittleEndian.AppendUint32(b, uint32(d))
	}
	for i := range dims {
		lb := int32(1)
		if lowers != nil {
			lb = lowers[i]
		}
		b = binary.LittleEndian.AppendUint32(b, uint32(lb))
	}
	return Datum{K: KindArray, S: aliasString(appendTuple(b, elems))}
}

// NewList returns an array of one dimension with lower bound 1.
func NewList(elem OID, elems []Datum) Datum {
	return NewArray(elem, []int32{int32(len(elems))}, nil, elems)
}

// NewVector returns an int2vector or oidvector: one dimension with lower bound 0.
func NewVector(vector OID, elems []Datum) Datum {
	return NewArray(ElemOf(vector), []int32{int32(len(elems))}, []int32{0}, elems)
}

// NewTextArray returns a text[].
func NewTextArray(texts []string) Datum {
	elems := make([]Datum, len(texts))
	for i, s := range texts {
		elems[i] = NewText(s)
	}
	return NewList(Text, elems)
}

// WithElem returns the array with another element type of the same kind (for binary-coercible
// casts).
func (a *Array) WithElem(elem OID) Datum {
	if a.Elem == elem {
		return Datum{K: KindArray, S: a.s}
	}
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, len(a.s)), elem)
	return Datum{K: KindArray, S: aliasString(append(b, a.s[4:]...))}
}

// ArrayDimError returns the error about too many dimensions.
func ArrayDimError(n int) error {
	return pgerr.New(pgerr.ProgramLimitExceeded, "number of array dimensions (%d) exceeds the maximum allowed (%d)",
		n, MaxDims)
}

func compareArray(x, y Datum) int {
	a, err1 := ArrayOf(x)
	b, err2 := ArrayOf(y)
	if err1 != nil || err2 != nil {
		return compareS(x, y)
	}
	cmp := Comparer(a.Elem)
	for i := 0; i < min(a.Len(), b.Len()); i++ {
		if c := compareNullable(cmp, a.At(i), b.At(i)); c != 0 {
			return c
		}
	}
	if a.Len() != b.Len() {
		return compareInt(int64(a.Len()), int64(b.Len()))
	}
	if a.NDim != b.NDim {
		return compareInt(int64(a.NDim), int64(b.NDim))
	}
	for i := 0; i < a.NDim; i++ {
		if c := compareInt(int64(a.Dim(i)), int64(b.Dim(i))); c != 0 {
			return c
		}
	}
	for i := 0; i < a.NDim; i++ {
		if c := compareInt(int64(a.Lower(i)), int64(b.Lower(i))); c != 0 {
			return c
		}
	}
	return 0
}

func compareNullable(cmp func(a, b Datum) int, a, b Datum) int {
	switch {
	case a.K == KindNull && b.K == KindNull:
		return 0
	case a.K == KindNull:
		return 1
	case b.K == KindNull:
		return -1
	}
	return cmp(a, b)
}

func hashArray(seed uint64, d *Datum) uint64 {
	a, err := ArrayOf(*d)
	if err != nil {
		return seed
	}
	h := mix(seed, uint64(a.Len()))
	for i := 0; i < a.Len(); i++ {
		h = Hash(a.Elem, h, a.At(i))
	}
	return h
}
