package writebuf

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"slices"

	"github.com/sherddb/sherd/storage/codec"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/storage/scratch"
)

// spill is the part of a buffer that is in a file: operations in the order in which they were
// written, each after a head. In memory there are some 8 bytes for each key. Another file has the
// order of the keys, for scans and for the commit.
//
// The files have no names and do not outlive the process: a buffer ends with its leader's term.
type spill struct {
	f      *os.File
	size   int64
	index  spillIndex // from each key to the position of its last operation
	runs   []run
	orders orderFile
	mixed  bool // a key was written twice
	count  int  // of operations
	buf    []byte
}

// run is what was moved at once.
type run struct {
	start, end int64
	order      runOrder
}

// The head of a record: position of the key's previous operation plus one, 0 if none (8) · old (4)
// · bytes of the operation (4). Records begin at multiples of recordAlign, so that a position fits
// in 4 bytes.
const (
	recordHead  = 16
	recordAlign = 16

	// MaxBytes is the most that a buffer can hold in its file.
	MaxBytes = recordAlign << 32
)

// recordBytes returns the bytes in the file of an operation of n bytes.
func recordBytes(n int) int64 { return int64(recordHead+n+recordAlign-1) &^ (recordAlign - 1) }

const (
	spillBuffer = 256 << 10
	firstRead   = 512     // bytes read of a record before its length is known
	scanRead    = 4 << 10 // the same where the value is wanted too
)

// record is one operation in the file.
type record struct {
	at, end int64
	before  int64 // -1: none
	op      Op
	encoded []byte
}

// newSpill makes an empty one, in files that create makes.
func newSpill(create func() (*os.File, error)) (*spill, error) {
	f, err := create()
	if err != nil {
		return nil, err
	}
	orders, err := create()
	if err != nil {
		f.Close()
		return nil, err
	}
	return &spill{f: f, orders: orderFile{f: orders}}, nil
}

// append moves the operations of s that are in memory into the file.
func (d *spill) append(s *Buffer) error {
	w := bufio.NewWriterSize(io.NewOffsetWriter(d.f, d.size), spillBuffer)
	befores := make([]int64, len(s.ops))
	mixed := d.mixed
	var padding [recordAlign]byte
	for i := range s.ops {
		p := &s.ops[i]
		b := s.encoded(int32(i))
		before := int64(-1)
		if p.before >= 0 {
			before = d.size + int64(s.ops[p.before].at)
		} else if d.index.used > 0 {
			key := s.at(int32(i)).Key
			var err error
			if _, before, err = d.find(key); err != nil {
				return err
			}
		}
		befores[i] = before
		mixed = mixed || before >= 0
		var head [recordHead]byte
		binary.BigEndian.PutUint64(head[:], uint64(before+1))
		binary.BigEndian.PutUint32(head[8:], uint32(p.old))
		binary.BigEndian.PutUint32(head[12:], uint32(len(b)))
		if _, err := w.Write(head[:]); err != nil {
			return scratch.Failed(err)
		}
		if _, err := w.Write(b); err != nil {
			return scratch.Failed(err)
		}
		if _, err := w.Write(padding[:recordBytes(len(b))-recordHead-int64(len(b))]); err != nil {
			return scratch.Failed(err)
		}
	}
	if err := w.Flush(); err != nil {
		return scratch.Failed(err)
	}
	order, err := d.orders.add(s.keyOrder())
	if err != nil {
		return err
	}
	for i := range s.ops {
		hash, at := keyHash(s.at(int32(i)).Key), d.size+int64(s.ops[i].at)
		if befores[i] < 0 {
			d.index.add(hash, at)
		} else if slot, ok := d.index.has(hash, befores[i]); ok {
			d.index.set(slot, at)
		}
	}
	d.runs = append(d.runs, run{start: d.size, end: d.size + s.size, order: order})
	d.size += s.size
	d.count += len(s.ops)
	d.mixed = mixed
	return nil
}

// read reads the record at a position into buf, which may grow, beginning with first bytes; with
// keyOnly the value may be missing.
func (d *spill) read(at int64, buf []byte, first int64, keyOnly bool) (record, []byte, error) {
	n := min(first, d.size-at)
	buf = slices.Grow(buf[:0], int(n))[:n]
	if _, err := d.f.ReadAt(buf, at); err != nil {
		return record{}, buf, scratch.Failed(err)
	}
	rec, ok := parseRecord(at, buf, keyOnly)
	if ok {
		return rec, buf, nil
	}
	if n = rec.end - at; n <= recordHead || n > d.size-at {
		return record{}, buf, scratch.Damaged(at)
	}
	buf = slices.Grow(buf[:0], int(n))[:n]
	if _, err := d.f.ReadAt(buf, at); err != nil {
		return record{}, buf, scratch.Failed(err)
	}
	if rec, ok = parseRecord(at, buf, false); !ok {
		return record{}, buf, scratch.Damaged(at)
	}
	return rec, buf, nil
}

// parseRecord returns the record at the start of b, false if b has too little of it.
func parseRecord(at int64, b []byte, keyOnly bool) (rec record, ok bool) {
	if len(b) < recordHead {
		return rec, false
	}
	n := int64(binary.BigEndian.Uint32(b[12:]))
	rec = record{at: at, end: at + recordBytes(int(n)), before: int64(binary.BigEndian.Uint64(b)) - 1}
	rec.op.Old = int32(binary.BigEndian.Uint32(b[8:]))
	whole := int64(len(b)) >= recordHead+n
	if whole {
		rec.encoded = b[recordHead : recordHead+n]
		b = rec.encoded
	} else {
		b = b[recordHead:]
	}
	if len(b) == 0 {
		return rec, false
	}
	r := codec.Reader{B: b[1:]}
	kind := logentry.Op(b[0])
	rec.op.Delete, rec.op.Kept = kind == logentry.OpDelete, kind == logentry.OpPutKept
	rec.op.Key = r.Bytes()
	if !rec.op.Delete && (whole || !keyOnly) {
		rec.op.Value = r.Bytes()
	}
	return rec, r.Err == nil && (whole || keyOnly)
}

// find returns the position of the key's last operation, -1 if there is none, and its slot in the
// index.
func (d *spill) find(key []byte) (slot spillSlot, at int64, err error) {
	at = -1
	d.index.each(keyHash(key), func(s spillSlot, place int64) bool {
		var rec record
		if rec, d.buf, err = d.read(place, d.buf, firstRead, true); err != nil {
			return true
		}
		if !bytes.Equal(rec.op.Key, key) {
			return false
		}
		slot, at = s, place
		return true
	})
	return slot, at, err
}

// get returns the key's operation that counts at mark, in memory of its own.
func (d *spill) get(key []byte, mark int64) (Op, bool, error) {
	_, at, err := d.find(key)
	if err == nil {
		at, err = d.below(at, mark)
	}
	if err != nil || at < 0 {
		return Op{}, false, err
	}
	rec, _, err := d.read(at, nil, firstRead, false)
	return rec.op, err == nil, err
}

// below follows the operations of a key back to the one that counts at mark.
func (d *spill) below(at, mark int64) (int64, error) {
	var head [8]byte
	for at >= mark {
		if _, err := d.f.ReadAt(head[:], at); err != nil {
			return 0, scratch.Failed(err)
		}
		at = int64(binary.BigEndian.Uint64(head[:])) - 1
	}
	return at, nil
}

// each calls fn with the records in [from, to). They are valid only during the call.
func (d *spill) each(from, to int64, fn func(rec *record) error) error {
	in := bufio.NewReaderSize(io.NewSectionReader(d.f, from, to-from), spillBuffer)
	var buf []byte
	for at := from; at < to; {
		head, err := in.Peek(recordHead)
		if err != nil {
			return scratch.Failed(err)
		}
		n := recordBytes(int(binary.BigEndian.Uint32(head[12:])))
		if n > to-at {
			return scratch.Damaged(at)
		}
		buf = slices.Grow(buf[:0], int(n))[:n]
		if _, err := io.ReadFull(in, buf); err != nil {
			return scratch.Failed(err)
		}
		rec, ok := parseRecord(at, buf, false)
		if !ok {
			return scratch.Damaged(at)
		}
		if err := fn(&rec); err != nil {
			return err
		}
		at += n
	}
	return nil
}

// last calls fn with the operation that counts for each key, in the order in which they were
// written.
func (d *spill) last(fn func(op *Op) error) error {
	return d.each(0, d.size, func(rec *record) error {
		if d.mixed {
			if _, ok := d.index.has(keyHash(rec.op.Key), rec.at); !ok {
				return nil
			}
		}
		return fn(&rec.op)
	})
}

// cut drops the operations from a position on.
func (d *spill) cut(from int64) error {
	err := d.each(from, d.size, func(rec *record) error {
		d.count--
		slot, at, err := d.find(rec.op.Key)
		if err != nil || at < from {
			return err // an earlier one of the same key has put it right
		}
		if at, err = d.below(at, from); err != nil {
			return err
		}
		if at < 0 {
			d.index.remove(slot)
		} else {
			d.index.set(slot, at)
		}
		return nil
	})
	if err != nil {
		return err
	}
	d.runs = slices.DeleteFunc(d.runs, func(r run) bool { return r.start >= from })
	if n := len(d.runs); n > 0 && d.runs[n-1].end > from {
		r := &d.runs[n-1]
		if r.order, err = d.orders.below(r.order, from-r.start); err != nil {
			return err
		}
		r.end = from
	}
	d.size = from
	return nil
}

// close closes the files, which have no names any more.
func (d *spill) close() {
	d.f.Close()
	d.orders.f.Close()
}
