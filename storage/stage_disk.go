package storage

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/sherddb/sherd/internal/pgerr"
)

// spill is the part of a stage that is in a file: operations in the order in which they were staged, each behind a head. In
// memory there are some 10 bytes for each key, and 4 more for each operation once a scan has asked for their order.
//
// The file has no name and belongs to this process's life: a stage dies with its leader's term.
type spill struct {
	f     *os.File
	size  int64
	index keyIndex // from each key to the position of its last operation
	runs  []run
	mixed bool // a key was staged twice
	count int  // of operations
	buf   []byte
}

// run is what was moved at once.
type run struct {
	start, end int64
	order      []uint32 // the operations' places behind start, by key; nil until a scan asks
}

// The head of a record: position of the key's operation before plus one, 0 if none (8) · old (4) · bytes of the operation (4).
const recordHead = 16

const (
	spillBuffer = 256 << 10
	firstRead   = 512     // bytes read of a record before its length is known
	scanRead    = 4 << 10 // the same where the value is wanted too
)

// record is one operation in the file.
type record struct {
	at, end int64
	before  int64 // -1: none
	op      stagedOp
	encoded []byte
}

const stageFolder = "stage"

// stageFile makes a file for a stage. It loses its name at once, so that a crash leaves nothing.
func (t *Tx) stageFile() (*os.File, error) {
	if err := t.r.room(!t.puts.Load()); err != nil {
		return nil, err
	}
	dir := filepath.Join(t.r.cfg.Dir, stageFolder)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(dir, "")
	if err != nil {
		return nil, stageError(err)
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// stageError marks the errors of a stage's file.
func stageError(err error) error {
	if isDiskFull(err) {
		return fmt.Errorf("%w: %w", pgerr.New(pgerr.DiskFull, "could not keep the transaction's writes: no space left on device").
			WithHint("Free disk space, or split the transaction into smaller ones."), err)
	}
	return fmt.Errorf("%w: %w", pgerr.New(pgerr.IOError, "could not keep the transaction's writes"), err)
}

// append moves the operations of s that are in memory into the file.
func (d *spill) append(s *stage) error {
	w := bufio.NewWriterSize(io.NewOffsetWriter(d.f, d.size), spillBuffer)
	befores := make([]int64, len(s.ops))
	mixed := d.mixed
	for i := range s.ops {
		p := &s.ops[i]
		b := s.encoded(int32(i))
		before := int64(-1)
		if p.before >= 0 {
			before = d.size + int64(s.ops[p.before].at)
		} else if d.index.used > 0 {
			key := s.at(int32(i)).key
			var err error
			if _, before, err = d.find(tagOf(key), key); err != nil {
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
			return stageError(err)
		}
		if _, err := w.Write(b); err != nil {
			return stageError(err)
		}
	}
	if err := w.Flush(); err != nil {
		return stageError(err)
	}
	for i := range s.ops {
		tag, at := tagOf(s.at(int32(i)).key), d.size+int64(s.ops[i].at)
		d.index.makeRoom()
		slot, _ := d.index.slotOf(tag, befores[i]) // a free one where there is none before
		d.index.set(slot, tag, at)
	}
	d.runs = append(d.runs, run{start: d.size, end: d.size + s.size})
	d.size += s.size
	d.count += len(s.ops)
	d.mixed = mixed
	return nil
}

// read reads the record at a position into buf, which may grow, beginning with first bytes; with keyOnly the value may be
// missing.
func (d *spill) read(at int64, buf []byte, first int64, keyOnly bool) (record, []byte, error) {
	n := min(first, d.size-at)
	buf = slices.Grow(buf[:0], int(n))[:n]
	if _, err := d.f.ReadAt(buf, at); err != nil {
		return record{}, buf, stageError(err)
	}
	rec, ok := parseRecord(at, buf, keyOnly)
	if ok {
		return rec, buf, nil
	}
	if n = rec.end - at; n <= recordHead || n > d.size-at {
		return record{}, buf, damagedStage(at)
	}
	buf = slices.Grow(buf[:0], int(n))[:n]
	if _, err := d.f.ReadAt(buf, at); err != nil {
		return record{}, buf, stageError(err)
	}
	if rec, ok = parseRecord(at, buf, false); !ok {
		return record{}, buf, damagedStage(at)
	}
	return rec, buf, nil
}

func damagedStage(at int64) error {
	return pgerr.New(pgerr.DataCorrupted, "the file of a transaction's writes is damaged at %d", at)
}

// parseRecord gives the record at the start of b, false if b holds too little of it.
func parseRecord(at int64, b []byte, keyOnly bool) (rec record, ok bool) {
	if len(b) < recordHead {
		return rec, false
	}
	n := int64(binary.BigEndian.Uint32(b[12:]))
	rec = record{at: at, end: at + recordHead + n, before: int64(binary.BigEndian.Uint64(b)) - 1}
	rec.op.old = int32(binary.BigEndian.Uint32(b[8:]))
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
	r := reader{b: b[1:]}
	kind := opKind(b[0])
	rec.op.delete, rec.op.kept = kind == opDelete, kind == opPutKept
	rec.op.key = r.bytes()
	if !rec.op.delete && (whole || !keyOnly) {
		rec.op.value = r.bytes()
	}
	return rec, r.err == nil && (whole || keyOnly)
}

// find gives the position of the key's last operation, -1 if there is none, and its slot in the index.
func (d *spill) find(tag uint32, key []byte) (slot int, at int64, err error) {
	x := &d.index
	if len(x.slots) == 0 {
		return 0, -1, nil
	}
	for slot = x.home(tag); x.slots[slot] != 0; slot = x.next(slot) {
		got, at := splitSlot(x.slots[slot])
		if got != tag {
			continue
		}
		var rec record
		if rec, d.buf, err = d.read(at, d.buf, firstRead, true); err != nil {
			return 0, 0, err
		}
		if bytes.Equal(rec.op.key, key) {
			return slot, at, nil
		}
	}
	return slot, -1, nil
}

// get gives the key's operation that counts at mark, in memory of its own.
func (d *spill) get(tag uint32, key []byte, mark int64) (stagedOp, bool, error) {
	_, at, err := d.find(tag, key)
	if err == nil {
		at, err = d.below(at, mark)
	}
	if err != nil || at < 0 {
		return stagedOp{}, false, err
	}
	rec, _, err := d.read(at, nil, firstRead, false)
	return rec.op, err == nil, err
}

// below follows the operations of a key back to the one that counts at mark.
func (d *spill) below(at, mark int64) (int64, error) {
	var head [8]byte
	for at >= mark {
		if _, err := d.f.ReadAt(head[:], at); err != nil {
			return 0, stageError(err)
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
			return stageError(err)
		}
		n := recordHead + int(binary.BigEndian.Uint32(head[12:]))
		if int64(n) > to-at {
			return damagedStage(at)
		}
		buf = slices.Grow(buf[:0], n)[:n]
		if _, err := io.ReadFull(in, buf); err != nil {
			return stageError(err)
		}
		rec, ok := parseRecord(at, buf, false)
		if !ok {
			return damagedStage(at)
		}
		if err := fn(&rec); err != nil {
			return err
		}
		at += int64(n)
	}
	return nil
}

// last calls fn with the operation that counts for each key, in the order in which they were staged.
func (d *spill) last(fn func(op *stagedOp) error) error {
	return d.each(0, d.size, func(rec *record) error {
		if d.mixed {
			if _, ok := d.index.slotOf(tagOf(rec.op.key), rec.at); !ok {
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
		tag := tagOf(rec.op.key)
		slot, at, err := d.find(tag, rec.op.key)
		if err != nil || at < from {
			return err // an earlier one of the same key has put it right
		}
		if at, err = d.below(at, from); err != nil {
			return err
		}
		if at < 0 {
			d.index.remove(slot)
		} else {
			d.index.set(slot, tag, at)
		}
		return nil
	})
	if err != nil {
		return err
	}
	d.runs = slices.DeleteFunc(d.runs, func(r run) bool { return r.start >= from })
	if n := len(d.runs); n > 0 && d.runs[n-1].end > from {
		d.runs[n-1].end, d.runs[n-1].order = from, nil
	}
	d.size = from
	return nil
}

// sorted gives the order of a run's operations by key.
func (d *spill) sorted(r *run) ([]uint32, error) {
	if r.order != nil {
		return r.order, nil
	}
	b := make([]byte, r.end-r.start)
	if _, err := d.f.ReadAt(b, r.start); err != nil {
		return nil, stageError(err)
	}
	type entry struct {
		key []byte
		at  uint32
	}
	var entries []entry
	for at := int64(0); at < int64(len(b)); {
		rec, ok := parseRecord(at, b[at:], false)
		if !ok {
			return nil, damagedStage(r.start + at)
		}
		entries = append(entries, entry{rec.op.key, uint32(at)})
		at = rec.end
	}
	slices.SortFunc(entries, func(x, y entry) int {
		if c := bytes.Compare(x.key, y.key); c != 0 {
			return c
		}
		return cmp.Compare(x.at, y.at)
	})
	order := make([]uint32, len(entries))
	for i, e := range entries {
		order[i] = e.at
	}
	r.order = order
	return order, nil
}
