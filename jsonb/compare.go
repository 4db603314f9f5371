package jsonb

import (
	"cmp"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// Compare orders two values as PostgreSQL's btree operators do: null < string < number < boolean <
// array < object; containers by their number of entries first. A scalar counts as an array of
// itself against an array, for compatibility with PostgreSQL, which therefore puts an empty array
// lowest.
func Compare(a, b Doc) int {
	ak, bk := a.Kind(), b.Kind()
	switch {
	case ak == Array && bk < Array:
		if c := cmp.Compare(a.Len(), 1); c != 0 {
			return c
		}
		return 1
	case bk == Array && ak < Array:
		return -Compare(b, a)
	}
	return compare(a, b, 0)
}

func compare(a, b Doc, depth int) int {
	k := a.Kind()
	if c := cmp.Compare(k, b.Kind()); c != 0 {
		return c
	}
	switch k {
	case String:
		return strings.Compare(string(a[1:]), string(b[1:]))
	case Number:
		an, _ := a.NumberText()
		bn, _ := b.NumberText()
		return compareNumbers(an, bn)
	case Bool:
		return cmp.Compare(a[0], b[0])
	case Array, Object:
		return compareContainers(a, b, depth)
	}
	return 0
}

func compareContainers(a, b Doc, depth int) int {
	ac, bc := a.cursor(), b.cursor()
	if ac.n != bc.n || depth >= MaxDepth {
		return cmp.Compare(ac.n, bc.n)
	}
	for {
		ak, av, aok := ac.next()
		bk, bv, bok := bc.next()
		if !aok || !bok {
			return 0
		}
		if c := strings.Compare(ak, bk); c != 0 {
			return c
		}
		if c := compare(av, bv, depth+1); c != 0 {
			return c
		}
	}
}

// Equal reports whether two values are equal; numbers compare by value, whatever their scale.
func Equal(a, b Doc) bool { return a == b || compare(a, b, 0) == 0 }

// Hash returns equal values equal hashes. It is stable: indexes and placement may keep it.
func (d Doc) Hash() uint64 {
	h := xxhash.New()
	hashInto(h, d, 0)
	return h.Sum64()
}

func hashInto(h *xxhash.Digest, d Doc, depth int) {
	k := d.Kind()
	text, _ := d.Scalar()
	if k == Number {
		text = plainNumber(text)
	}
	if k < Array || depth >= MaxDepth {
		hashText(h, byte(k), text)
		return
	}
	c := d.cursor()
	hashText(h, byte(k), "")
	for {
		key, val, ok := c.next()
		if !ok {
			break
		}
		hashText(h, 0xfe, key)
		hashInto(h, val, depth+1)
	}
	hashText(h, 0xff, "")
}

// hashText adds a tag and a text with its length, so that no two sequences of texts run together.
func hashText(h *xxhash.Digest, tag byte, text string) {
	n := len(text)
	head := [5]byte{tag, byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)}
	_, _ = h.Write(head[:])
	_, _ = h.WriteString(text)
}
