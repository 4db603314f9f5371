package storage

import (
	"context"
	"encoding/binary"
	"slices"
	"time"

	"github.com/sherddb/sherd/storage/codec"
	"github.com/sherddb/sherd/storage/engine"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/storage/ownership"
	"github.com/sherddb/sherd/txn"
)

// What a move leaves at the source, or an undone copy leaves at the target, is deleted as a dropped
// table is: in the background, at the stamp of an entry, so that older snapshots still see it. It
// is named by buckets and their generation; a bucket that comes back has another generation. Keys
// of local index entries contain no bucket, so these entries stay: readers see the generation in
// their values.

// leftRange is what was left of some buckets.
type leftRange struct {
	BucketRange
	generation uint32
}

// holdsStored reports whether a stored key, of a row or a global index, is in the range.
func (l leftRange) holdsStored(key []byte) bool {
	b, a, ok := keyspace.Place(key)
	return ok && b >= l.Lo && b < l.Hi && a == l.generation
}

// cleanLeft begins to delete what is left of pieces. undone is set if undone moves have left it.
func (m *machine) cleanLeft(undone bool, globals []logentry.Index, now []ownership.Piece) error {
	var left []leftRange
	for _, p := range now {
		if p.Left {
			left = append(left, leftRange{p.BucketRange, p.Generation})
		}
	}
	if len(left) == 0 {
		return nil
	}
	stamp := m.s.stamp
	if undone {
		m.r.Moves.undone.add(stamp, left)
	}
	job := dropJob{stamp: stamp, left: left, globals: slices.Clone(globals)}
	if err := m.kvs.Set(keyspace.StampRecord(keyspace.Deletion, stamp), job.encode(), stamp); err != nil {
		return err
	}
	m.effects.drops = append(m.effects.drops, job)
	return nil
}

// The formats of the records of deletions: of a span, of what moves have left.
const (
	dropOfSpan = 1
	dropOfLeft = 2
)

func (j *dropJob) encode() []byte {
	if j.left == nil {
		return codec.AppendBytes(codec.AppendBytes([]byte{dropOfSpan}, j.span.Start), j.span.End)
	}
	b := binary.AppendUvarint([]byte{dropOfLeft}, uint64(len(j.left)))
	for _, l := range j.left {
		b = binary.AppendUvarint(b, uint64(l.Lo))
		b = binary.AppendUvarint(b, uint64(l.Hi))
		b = binary.AppendUvarint(b, uint64(l.generation))
	}
	return logentry.AppendIndexes(b, j.globals)
}

func decodeDrop(rest, v []byte) (j dropJob, err error) {
	r := codec.Reader{B: v}
	if len(rest) != 8 {
		return j, damaged("malformed deletion %x", rest)
	}
	j.stamp = txn.Timestamp(binary.BigEndian.Uint64(rest))
	switch r.Byte() {
	case dropOfSpan:
		j.span = txn.Span{Start: r.Bytes(), End: r.Bytes()}
	case dropOfLeft:
		n := r.Int()
		for i := 0; i < n && r.Err == nil; i++ {
			j.left = append(j.left, leftRange{BucketRange{Lo: r.Bucket(), Hi: r.Bucket()}, r.Uint32()})
		}
		j.globals = logentry.ReadIndexes(&r)
		if n := len(j.left); n == 0 {
			r.Err = codec.ErrMalformed
		}
	default:
		r.Err = codec.ErrMalformed
	}
	if r.Err != nil || len(r.B) != 0 {
		return j, damaged("malformed deletion %x", rest)
	}
	return j, nil
}

// leftSpan is where keys of a leftRange may be, among others.
type leftSpan struct {
	txn.Span
	of    leftRange
	chunk bool // keys of chunks
}

func (s *leftSpan) wanted(key []byte) bool {
	if s.chunk {
		key = keyspace.RestOf(key)
	}
	return s.of.holdsStored(key)
}

// leftSpans returns the spans of a job as of a time, for the tables that are found there.
func leftSpans(db *engine.Engine, j *dropJob, at txn.Timestamp) (out []leftSpan, err error) {
	t := db.At(at)
	defer t.Close()
	err = t.EachIndex(func(x logentry.Index) error {
		if x.Index != keyspace.Rows {
			return nil
		}
		for _, l := range j.left {
			rows := keyspace.BucketSpan(x.Table, l.Lo, l.Hi)
			out = append(out, leftSpan{Span: rows, of: l})
			out = append(out, leftSpan{Span: keyspace.ChunkSpan(rows), of: l, chunk: true})
		}
		return nil
	})
	for _, g := range j.globals {
		for _, l := range j.left {
			out = append(out, leftSpan{Span: keyspace.StoredSpan(g, l.BucketRange, l.generation), of: l})
		}
	}
	return out, err
}

// runLeft is run for what moves have left.
func (d *dropper) runLeft(job dropJob) error {
	err := d.r.rows.waitResolved(context.Background(), nil, job.stamp, txn.ID{},
		func(p *preparedTxn) bool { return p.installing })
	if err != nil {
		return nil // closing: the record stays
	}
	spans, err := leftSpans(d.r.db, &job, job.stamp)
	if err != nil {
		return err
	}
	for i := range spans {
		s := &spans[i]
		for more := true; more; {
			if d.r.stopper.IsStopped() {
				return nil
			}
			start := time.Now()
			if s.Start, more, err = d.batch(s.Span, job.stamp, s.wanted); err != nil {
				return err
			}
			if more {
				d.rest(time.Since(start))
			}
		}
	}
	return d.finish(job)
}
