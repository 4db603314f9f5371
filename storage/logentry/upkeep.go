package logentry

import (
	"encoding/binary"

	"github.com/sherddb/sherd/storage/codec"
	"github.com/sherddb/sherd/txn"
)

// ReadLease extends the read lease: leaders of this term and of later ones serve reads up to it
// (T4). One that extends nothing is written to learn what comes before it in the log.
type ReadLease struct{ Until txn.Timestamp }

func (e *ReadLease) Kind() Kind { return KindReadLease }

func (e *ReadLease) Encode() []byte {
	return codec.AppendTimestamp(begin(KindReadLease, nil, 0), e.Until)
}

func (e *ReadLease) decode(r codec.Reader) error {
	e.Until = r.Timestamp()
	return r.End()
}

// Watermark raises the timestamp below which reads are refused, so that older versions can be
// discarded.
type Watermark struct {
	At   txn.Timestamp
	Tidy bool // the list of bucket ranges is made shorter; needs cluster version ShortLists
}

func (e *Watermark) Kind() Kind { return KindWatermark }

func (e *Watermark) Encode() []byte {
	b := codec.AppendTimestamp(begin(KindWatermark, nil, 0), e.At)
	if e.Tidy {
		b = append(b, 1)
	}
	return b
}

func (e *Watermark) decode(r codec.Reader) error {
	e.At = r.Timestamp()
	if r.Err == nil && len(r.B) > 0 {
		if e.Tidy = r.Byte() == 1; !e.Tidy {
			return codec.ErrMalformed
		}
	}
	return r.End()
}

// DropSpan deletes all keys of a span at the entry's stamp: those of a table that was dropped or
// truncated.
type DropSpan struct{ Span txn.Span }

func (e *DropSpan) Kind() Kind { return KindDropSpan }

func (e *DropSpan) Encode() []byte {
	b := codec.AppendBytes(begin(KindDropSpan, nil, 0), e.Span.Start)
	return codec.AppendBytes(b, e.Span.End)
}

func (e *DropSpan) decode(r codec.Reader) error {
	e.Span = txn.Span{Start: r.Bytes(), End: r.Bytes()}
	return r.End()
}

// Sweep deletes entries of local indexes whose buckets have moved away. It has no effect if buckets
// have come by a later move.
type Sweep struct {
	At   txn.Timestamp // the version of the deletions, below the watermark
	Move uint64        // the newest move by which buckets have come, when the keys were gathered
	Keys [][]byte
}

func (e *Sweep) Kind() Kind { return KindSweep }

func (e *Sweep) Encode() []byte {
	b := codec.AppendTimestamp(begin(KindSweep, nil, 0), e.At)
	b = binary.AppendUvarint(b, e.Move)
	b = binary.AppendUvarint(b, uint64(len(e.Keys)))
	for _, k := range e.Keys {
		b = codec.AppendBytes(b, k)
	}
	return b
}

func (e *Sweep) decode(r codec.Reader) error {
	e.At, e.Move = r.Timestamp(), r.Uvarint()
	n := r.Int()
	for i := 0; i < n && r.Err == nil; i++ {
		e.Keys = append(e.Keys, r.Bytes())
	}
	return r.End()
}
