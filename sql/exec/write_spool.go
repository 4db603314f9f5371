package exec

import (
	"encoding/binary"
	"slices"

	"github.com/sherddb/sherd/sql/exec/spool"
)

// writeSpool is a spool of writes, each for the fragment of a bucket.
type writeSpool struct {
	spool.Spool
	buf []byte
}

func (s *writeSpool) keep(bucket uint32, w *Write) error {
	flags := byte(0)
	if w.Exclusive {
		flags = 1
	}
	b := append(s.buf[:0], byte(w.Kind), flags)
	b = binary.AppendVarint(b, int64(bucket))
	b = binary.AppendVarint(b, int64(w.Index))
	for _, x := range [][]byte{w.Key, w.Value, w.Row} {
		b = append(binary.AppendUvarint(b, uint64(len(x))), x...)
	}
	s.buf = b
	return s.Add(b)
}

// writes calls fn with the writes, in memory of their own.
func (s *writeSpool) writes(fn func(bucket uint32, w Write) error) error {
	return s.Each(func(b []byte) error {
		r := spool.Record{B: slices.Clone(b)}
		w := Write{Kind: WriteKind(r.Byte())}
		w.Exclusive = r.Byte() != 0
		bucket := uint32(r.Varint())
		w.Index = int(r.Varint())
		w.Key, w.Value, w.Row = r.Bytes(), r.Bytes(), r.Bytes()
		return fn(bucket, w)
	})
}
