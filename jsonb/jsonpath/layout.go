package jsonpath

import (
	"strings"
	"unsafe"

	"github.com/sherddb/sherd/jsonb"
)

// layout has the positions of a document's objects in PostgreSQL's binary jsonb, because the ids of
// .keyvalue() are those positions.
type layout struct {
	doc jsonb.Doc
	at  map[int64]int64 // position in doc of each object to its position in PostgreSQL's form
}

// position returns the position of part in PostgreSQL's form of whole; 0 for whole itself and if
// part is elsewhere.
func (l *layout) position(whole, part jsonb.Doc) int64 {
	from := address(whole)
	at := address(part) - from
	if address(part) <= from || at >= uintptr(len(whole)) {
		return 0
	}
	if l.at == nil || address(l.doc) != from || len(l.doc) != len(whole) {
		*l = layout{doc: whole, at: map[int64]int64{}}
		l.walk(whole, 0, 0)
	}
	return l.at[int64(at)]
}

func address(d jsonb.Doc) uintptr { return uintptr(unsafe.Pointer(unsafe.StringData(string(d)))) }

func align(pos int64) int64 { return (pos + 3) &^ 3 }

// walk records the objects in d, which PostgreSQL would write at pos, and returns the position
// after it.
func (l *layout) walk(d jsonb.Doc, pos int64, depth int) int64 {
	switch d.Kind() {
	case jsonb.String:
		s, _ := d.Str()
		return pos + int64(len(s))
	case jsonb.Number:
		s, _ := d.NumberText()
		return align(pos) + numericSize(s)
	case jsonb.Array, jsonb.Object:
	default:
		return pos
	}
	pos = align(pos)
	l.at[int64(address(d)-address(l.doc))] = pos
	entries := int64(d.Len())
	for k := range d.Pairs() {
		entries++
		pos += int64(len(k))
	}
	pos += 4 + 4*entries
	if depth >= jsonb.MaxDepth {
		return pos
	}
	for _, v := range d.Pairs() {
		pos = l.walk(v, pos, depth+1)
	}
	for _, v := range d.Elements() {
		pos = l.walk(v, pos, depth+1)
	}
	return pos
}

// numericSize returns the size of a numeric in PostgreSQL: a length word, a header that is short
// for common scales, and the digits in base 10000 without zero digits at either end.
func numericSize(s string) int64 {
	whole, frac, _ := strings.Cut(strings.TrimPrefix(s, "-"), ".")
	scale := len(frac)
	whole = strings.Repeat("0", (4-len(whole)%4)%4) + whole
	frac += strings.Repeat("0", (4-len(frac)%4)%4)
	all := whole + frac
	weight := len(whole)/4 - 1
	for len(all) >= 4 && all[:4] == "0000" {
		all, weight = all[4:], weight-1
	}
	for len(all) >= 4 && all[len(all)-4:] == "0000" {
		all = all[:len(all)-4]
	}
	if all == "" {
		weight = 0
	}
	header := int64(2)
	if scale > 63 || weight > 63 || weight < -64 {
		header = 4
	}
	return 4 + header + int64(len(all)/4)*2
}
