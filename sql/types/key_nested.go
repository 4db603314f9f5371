package types

import (
	"encoding/binary"

	"github.com/sherddb/sherd/jsonb"
)

const (
	keyElemsEnd = 0x00 // before every element, because a shorter array comes first
	keyMaxDepth = 64
)

// appendKeyNested appends arrays (elements, end, dimensions, bounds), records (fields, end) and
// jsonb. Null elements are last.
func appendKeyNested(dst []byte, d *Datum) []byte {
	switch d.K {
	case KindArray:
		a, err := ArrayOf(*d)
		if err != nil {
			return append(dst, keyArray, keyElemsEnd)
		}
		dst = append(dst, keyArray)
		for i := 0; i < a.Len(); i++ {
			dst = AppendKeyNulls(dst, a.Elem, a.At(i), false, false)
		}
		dst = appendKeyInt(append(dst, keyElemsEnd), int64(a.NDim))
		for i := 0; i < a.NDim; i++ {
			dst = appendKeyInt(dst, int64(a.Dim(i)))
		}
		for i := 0; i < a.NDim; i++ {
			dst = appendKeyInt(dst, int64(a.Lower(i)))
		}
		return dst
	case KindRecord:
		rec, err := RecordOf(*d)
		dst = append(dst, keyRecord)
		for i := 0; err == nil && i < rec.Len(); i++ {
			dst = AppendKeyNulls(dst, rec.Type(i), rec.At(i), false, false)
		}
		return append(dst, keyElemsEnd)
	case KindJSONB:
		return appendKeyJSON(append(dst, keyJSONB), jsonb.Doc(d.S), true)
	}
	return append(dst, 0x70) // void
}

// nested decodes arrays. Records and jsonb are not decoded from keys: the field types are unknown,
// and the row has the values.
func (r *keyReader) nested(k Kind, oid OID, depth int) Datum {
	if k != KindArray || depth > keyMaxDepth {
		r.bad = true
		return Null
	}
	r.expect(keyArray)
	elem := ElemOf(oid)
	var vals []Datum
	for !r.bad {
		if r.pos >= len(r.b) {
			r.bad = true
			break
		}
		c := r.b[r.pos] ^ r.flip
		if c == keyElemsEnd {
			r.pos++
			break
		}
		if c == keyNullLast {
			r.pos++
			vals = append(vals, Null)
			continue
		}
		vals = append(vals, r.value(KindOf(elem), elem, depth+1))
	}
	ndim := r.integer()
	if r.bad || ndim < 0 || ndim > MaxDims {
		r.bad = true
		return Null
	}
	dims, lbs := make([]int32, ndim), make([]int32, ndim)
	for i := range dims {
		dims[i] = int32(r.integer())
	}
	for i := range lbs {
		lbs[i] = int32(r.integer())
	}
	if r.bad || !dimsMatch(dims, len(vals)) {
		r.bad = true
		return Null
	}
	return NewArray(elem, dims, lbs, vals)
}

func dimsMatch(dims []int32, n int) bool {
	if len(dims) == 0 {
		return n == 0
	}
	items := int64(1)
	for _, d := range dims {
		if d <= 0 || int64(d) > int64(n) {
			return false
		}
		items *= int64(d)
	}
	return items == int64(n)
}

// appendKeyJSON follows PostgreSQL's jsonb order: from highest to lowest object, array, boolean,
// number, string, null; containers by their size first. At the top, an array and a scalar compare
// by size too; a scalar has one element.
func appendKeyJSON(dst []byte, doc jsonb.Doc, top bool) []byte {
	kind := doc.Kind()
	if top && kind != jsonb.Object {
		dst = append(dst, 0x18)
		if kind == jsonb.Array {
			dst = binary.BigEndian.AppendUint32(dst, uint32(doc.Len()))
			dst = append(dst, 1)
			return appendKeyJSONElems(dst, doc)
		}
		dst = append(binary.BigEndian.AppendUint32(dst, 1), 0)
	}
	switch kind {
	case jsonb.String:
		s, _ := doc.Str()
		return appendKeyBytes(append(dst, 0x12), s)
	case jsonb.Number:
		s, _ := doc.NumberText()
		n, err := ParseNumeric(s)
		if err != nil {
			n = numericNaN
		}
		return appendKeyNumeric(append(dst, 0x13), &n)
	case jsonb.Bool:
		b, _ := doc.Bool()
		return append(dst, 0x14, boolByte(b))
	case jsonb.Array:
		dst = binary.BigEndian.AppendUint32(append(dst, 0x18), uint32(doc.Len()))
		return appendKeyJSONElems(dst, doc)
	case jsonb.Object:
		dst = binary.BigEndian.AppendUint32(append(dst, 0x1c), uint32(doc.Len()))
		for k, v := range doc.Pairs() {
			dst = appendKeyJSON(appendKeyBytes(dst, k), v, false)
		}
		return dst
	}
	return append(dst, 0x11)
}

func appendKeyJSONElems(dst []byte, doc jsonb.Doc) []byte {
	for _, v := range doc.Elements() {
		dst = appendKeyJSON(dst, v, false)
	}
	return dst
}

func boolByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}
