package logentry

import (
	"encoding/binary"

	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/storage/codec"
	"github.com/sherddb/sherd/txn"
)

// Step is what the entries of a move begin with. Such an entry counts for all of its ranges or for
// none.
type Step struct {
	Move   uint64 // numbers of moves rise; entries of older moves have no effect
	Ranges []shardmap.Interval
}

// OfMove returns the step, for code that handles several kinds.
func (s *Step) OfMove() *Step { return s }

// MoveEntry is an entry with a Step.
type MoveEntry interface {
	Entry
	OfMove() *Step
}

// Index names an index, or the rows (0), of a table, by storage ids.
type Index struct{ Table, Index uint32 }

// RangesInOrder reports whether ranges are in order, apart and not empty, and there is one at
// least.
func RangesInOrder(ranges []shardmap.Interval) bool {
	at := uint32(0)
	for _, r := range ranges {
		if r.Empty() || r.Lo < at || r.Hi > shardmap.BucketLimit {
			return false
		}
		at = r.Hi
	}
	return len(ranges) > 0
}

func (s *Step) begin(kind Kind, stats []byte) []byte {
	b := binary.AppendUvarint(begin(kind, stats, 0), s.Move)
	b = binary.AppendUvarint(b, uint64(len(s.Ranges)))
	for _, r := range s.Ranges {
		b = binary.AppendUvarint(b, uint64(r.Lo))
		b = binary.AppendUvarint(b, uint64(r.Hi))
	}
	return b
}

func (s *Step) read(r *codec.Reader) {
	s.Move = r.Uvarint()
	n := r.Int()
	for i := 0; i < n && r.Err == nil; i++ {
		s.Ranges = append(s.Ranges, shardmap.Interval{Lo: r.Bucket(), Hi: r.Bucket()})
	}
	if r.Err == nil && !RangesInOrder(s.Ranges) {
		r.Err = codec.ErrMalformed
	}
}

// AppendIndexes appends a list of indexes.
func AppendIndexes(b []byte, list []Index) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, x := range list {
		b = binary.AppendUvarint(b, uint64(x.Table))
		b = binary.AppendUvarint(b, uint64(x.Index))
	}
	return b
}

// ReadIndexes reads what AppendIndexes has appended.
func ReadIndexes(r *codec.Reader) (list []Index) {
	n := r.Int()
	for i := 0; i < n && r.Err == nil; i++ {
		list = append(list, Index{Table: r.Uint32(), Index: r.Uint32()})
	}
	return list
}

// Fence lets the source serve nothing newer than the entry's stamp from the ranges.
type Fence struct{ Step }

func (e *Fence) Kind() Kind { return KindFence }

func (e *Fence) Encode() []byte { return e.begin(KindFence, nil) }

func (e *Fence) decode(r codec.Reader) error {
	e.read(&r)
	return r.End()
}

// Unfence lifts a fence, and bars one of the same move that comes later.
type Unfence struct{ Step }

func (e *Unfence) Kind() Kind { return KindUnfence }

func (e *Unfence) Encode() []byte { return e.begin(KindUnfence, nil) }

func (e *Unfence) decode(r codec.Reader) error {
	e.read(&r)
	return r.End()
}

// BeginIngest starts a new bucket generation of the ranges at the target, into which rows are
// ingested.
type BeginIngest struct {
	Step
	Since   txn.Timestamp // the watermark of the source, or below
	Globals []Index       // global indexes, which may have entries of an undone move in the ranges
	// 0: one above all that the fragment has had. Needs cluster version ShortLists.
	Generation uint32
}

func (e *BeginIngest) Kind() Kind { return KindBeginIngest }

func (e *BeginIngest) Encode() []byte {
	b := codec.AppendTimestamp(e.begin(KindBeginIngest, nil), e.Since)
	b = AppendIndexes(b, e.Globals)
	if e.Generation != 0 {
		b = binary.AppendUvarint(b, uint64(e.Generation))
	}
	return b
}

func (e *BeginIngest) decode(r codec.Reader) error {
	e.read(&r)
	e.Since = r.Timestamp()
	e.Globals = ReadIndexes(&r)
	if r.Err == nil && len(r.B) > 0 {
		if e.Generation = r.Uint32(); e.Generation == 0 {
			return codec.ErrMalformed
		}
	}
	return r.End()
}

// Ingest writes versions as they are at the source. Its operations are those of a write set, each
// behind its version.
type Ingest struct {
	Move uint64
	// number of Ingest entries of the move before this one: it has no effect after another number
	Before  uint64
	Deletes bool // a deletion is among the operations
	Stats   []byte
	Writes  []byte
}

func (e *Ingest) Kind() Kind { return KindIngest }

func (e *Ingest) Encode() []byte {
	b := binary.AppendUvarint(begin(KindIngest, e.Stats, len(e.Writes)), e.Move)
	b = binary.AppendUvarint(b, e.Before)
	b = append(b, codec.Bool(e.Deletes))
	return append(codec.AppendBytes(b, e.Stats), e.Writes...)
}

func (e *Ingest) decode(r codec.Reader) error {
	e.Move = r.Uvarint()
	e.Before = r.Uvarint()
	e.Deletes = r.Byte() != 0
	e.Stats = r.Bytes()
	e.Writes = r.Rest()
	return r.End()
}

// Own makes the target the owner of the ranges.
type Own struct {
	Step
	// reads below it are refused: the source may have discarded what they would see
	Since txn.Timestamp
}

func (e *Own) Kind() Kind { return KindOwn }

func (e *Own) Encode() []byte { return codec.AppendTimestamp(e.begin(KindOwn, nil), e.Since) }

func (e *Own) decode(r codec.Reader) error {
	e.read(&r)
	e.Since = r.Timestamp()
	return r.End()
}

// MovedAway ends the ownership of the source.
type MovedAway struct {
	Step
	Stats []byte // what the source has in the ranges
}

func (e *MovedAway) Kind() Kind { return KindMovedAway }

func (e *MovedAway) Encode() []byte {
	return codec.AppendBytes(e.begin(KindMovedAway, e.Stats), e.Stats)
}

func (e *MovedAway) decode(r codec.Reader) error {
	e.read(&r)
	e.Stats = r.Bytes()
	return r.End()
}

// Clean deletes at the source what it has of ranges that have moved away.
type Clean struct {
	Step
	Globals []Index // global indexes, which have entries in the ranges
}

func (e *Clean) Kind() Kind { return KindClean }

func (e *Clean) Encode() []byte { return AppendIndexes(e.begin(KindClean, nil), e.Globals) }

func (e *Clean) decode(r codec.Reader) error {
	e.read(&r)
	e.Globals = ReadIndexes(&r)
	return r.End()
}

// Abandon undoes a BeginIngest at the target, and bars one of the same move that comes later.
type Abandon struct {
	Step
	Globals []Index // global indexes, which may have entries in the ranges
}

func (e *Abandon) Kind() Kind { return KindAbandon }

func (e *Abandon) Encode() []byte { return AppendIndexes(e.begin(KindAbandon, nil), e.Globals) }

func (e *Abandon) decode(r codec.Reader) error {
	e.read(&r)
	e.Globals = ReadIndexes(&r)
	return r.End()
}
