package spool

import (
	"encoding/binary"
	"sort"

	"github.com/sherddb/sherd/sql/types"
)

// Reader reads a run in order. More records may be added to the run meanwhile.
type Reader struct {
	run  *Run
	next int    // block
	buf  []byte // a block
	rest []byte // what is not read of it
}

// Reader returns a reader from the first record.
func (r *Run) Reader() *Reader { return &Reader{run: r} }

// Next returns the next record, which is valid until the next call; ok is false behind the last.
func (r *Reader) Next() (record []byte, ok bool, err error) {
	for len(r.rest) == 0 {
		if ok, err := r.block(r.next); err != nil || !ok {
			return nil, false, err
		}
	}
	n, k := binary.Uvarint(r.rest)
	end := k + int(n)
	record, r.rest = r.rest[k:end:end], r.rest[end:]
	return record, true, nil
}

// block reads a block, if there is one.
func (r *Reader) block(n int) (ok bool, err error) {
	if n == len(r.run.blocks) {
		if err := r.run.flush(); err != nil || n == len(r.run.blocks) {
			return false, err
		}
	}
	if r.buf, err = r.run.file.read(r.run.blocks[n], r.buf); err != nil {
		return false, err
	}
	r.rest, r.next = r.buf, n+1
	return true, nil
}

// Row reads the next record into row, if there is one. The texts are valid until the next call.
func (r *Reader) Row(row types.Row) (ok bool, err error) {
	b, ok, err := r.Next()
	if ok {
		rec := Record{b}
		rec.Row(row)
	}
	return ok, err
}

// SeekTo has the reader go on with record n, counted from 0, at most their number.
func (r *Reader) SeekTo(n int64) error {
	if err := r.run.flush(); err != nil {
		return err
	}
	blocks := r.run.blocks
	at := sort.Search(len(blocks), func(i int) bool { return blocks[i].first > n }) - 1
	if r.buf != nil && at == r.next-1 {
		r.rest = r.buf
	} else if ok, err := r.block(at); err != nil || !ok {
		return err
	}
	for n -= blocks[at].first; n > 0; n-- {
		if _, _, err := r.Next(); err != nil {
			return err
		}
	}
	return nil
}

// Close returns the reader's buffer.
func (r *Reader) Close() {
	if r.buf != nil {
		r.run.file.leave(r.buf)
	}
	r.buf, r.rest = nil, nil
}
