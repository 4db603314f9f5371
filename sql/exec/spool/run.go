package spool

import (
	"encoding/binary"
	"math"

	"github.com/sherddb/sherd/sql/types"
)

// Run is records in order, in blocks of a file. No record spans two blocks.
type Run struct {
	file   *File
	size   int // of a block, unless a record is larger
	blocks []block
	buf    []byte // the block that is not written yet
	count  int64
	stored int64  // of them, records in blocks
	record []byte // scratch space
}

// NewRun returns an empty run, which writes blocks of size bytes.
func (f *File) NewRun(size int) *Run { return &Run{file: f, size: size} }

// Add appends a copy of a record.
func (r *Run) Add(record []byte) error {
	need := binary.MaxVarintLen32 + len(record)
	if need > math.MaxInt32 {
		return errTooLarge(len(record))
	}
	if len(r.buf) > 0 && len(r.buf)+need > r.size {
		if err := r.flush(); err != nil {
			return err
		}
	}
	if cap(r.buf) < len(r.buf)+need {
		r.buf = r.file.buffer(r.buf, max(r.size, need))
	}
	r.buf = binary.AppendUvarint(r.buf, uint64(len(record)))
	r.buf = append(r.buf, record...)
	r.count++
	return nil
}

// AddRow appends a copy of a row.
func (r *Run) AddRow(row types.Row) error {
	r.record = AppendRow(r.record[:0], row)
	return r.Add(r.record)
}

// flush writes the records that are only in memory.
func (r *Run) flush() error {
	if len(r.buf) == 0 {
		return nil
	}
	b, err := r.file.write(r.buf, r.stored)
	if err != nil {
		return err
	}
	r.blocks, r.stored = append(r.blocks, b), r.count
	if r.buf = r.buf[:0]; cap(r.buf) > 2*r.size {
		r.file.leave(r.buf)
		r.buf = nil
	}
	return nil
}

// End writes the run to its end. It may be called again.
func (r *Run) End() error {
	if err := r.flush(); err != nil {
		return err
	}
	if r.buf != nil {
		r.file.leave(r.buf)
	}
	r.buf, r.record = nil, nil
	return nil
}

// Len returns the number of records.
func (r *Run) Len() int64 { return r.count }

// Size returns the number of bytes in the file.
func (r *Run) Size() (n int64) {
	for i := range r.blocks {
		n += int64(r.blocks[i].size)
	}
	return n
}
