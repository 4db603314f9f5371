package storage

import (
	"bytes"
	"encoding/binary"

	"github.com/sherddb/sherd/txn"
)

// Spans are encoded as their number, and for each: the length of what its start has in common with the one before · the rest · its end: 0 for
// what follows the start at once, 1 for none, 2 · bytes.
func appendSpans(b []byte, spans []txn.Span) []byte {
	b = binary.AppendUvarint(b, uint64(len(spans)))
	var before []byte
	for _, x := range spans {
		n := common(before, x.Start)
		b = binary.AppendUvarint(b, uint64(n))
		b = putBytes(b, x.Start[n:])
		switch {
		case len(x.End) == 0:
			b = append(b, 1)
		case len(x.End) == len(x.Start)+1 && x.End[len(x.Start)] == 0 && bytes.HasPrefix(x.End, x.Start):
			b = append(b, 0)
		default:
			b = putBytes(append(b, 2), x.End)
		}
		before = x.Start
	}
	return b
}

func (r *reader) spans() (out []txn.Span) {
	n := r.int()
	var before []byte
	for i := 0; i < n && r.err == nil; i++ {
		k, rest := r.int(), r.bytes()
		if r.err != nil || k > len(before) {
			r.err = errEntry
			return nil
		}
		start := append(before[:k:k], rest...)
		x := txn.Span{Start: start}
		switch r.byte() {
		case 0:
			x.End = append(start[:len(start):len(start)], 0)
		case 1:
		case 2:
			x.End = bytes.Clone(r.bytes())
		default:
			r.err = errEntry
		}
		out, before = append(out, x), start
	}
	return out
}

// common gives the length of what a and b begin with.
func common(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
