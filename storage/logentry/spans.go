package logentry

import (
	"bytes"
	"encoding/binary"

	"github.com/sherddb/sherd/storage/codec"
	"github.com/sherddb/sherd/txn"
)

// AppendSpans appends spans that are in order: their number, and for each
//
//	how many bytes its start shares with the one before · the rest of its start · its end
//
// where the end is 0 for a span of one key, 1 for a span without an end, or 2 · bytes.
func AppendSpans(b []byte, spans []txn.Span) []byte {
	b = binary.AppendUvarint(b, uint64(len(spans)))
	var before []byte
	for _, x := range spans {
		n := common(before, x.Start)
		b = binary.AppendUvarint(b, uint64(n))
		b = codec.AppendBytes(b, x.Start[n:])
		switch {
		case len(x.End) == 0:
			b = append(b, 1)
		case len(x.End) == len(x.Start)+1 && x.End[len(x.Start)] == 0 && bytes.HasPrefix(x.End, x.Start):
			b = append(b, 0)
		default:
			b = codec.AppendBytes(append(b, 2), x.End)
		}
		before = x.Start
	}
	return b
}

func readSpans(r *codec.Reader) (out []txn.Span) {
	n := r.Int()
	var before []byte
	for i := 0; i < n && r.Err == nil; i++ {
		k, rest := r.Int(), r.Bytes()
		if r.Err != nil || k > len(before) {
			r.Err = codec.ErrMalformed
			return nil
		}
		start := append(before[:k:k], rest...)
		x := txn.Span{Start: start}
		switch r.Byte() {
		case 0:
			x.End = append(start[:len(start):len(start)], 0)
		case 1:
		case 2:
			x.End = bytes.Clone(r.Bytes())
		default:
			r.Err = codec.ErrMalformed
		}
		out, before = append(out, x), start
	}
	return out
}

// common returns how many bytes a and b begin with that are the same.
func common(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
