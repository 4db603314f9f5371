package raftlog

import (
	"encoding/binary"
	"errors"
	"hash/crc32"

	"github.com/hashicorp/raft"
)

type recordKind byte

const (
	kindAppend recordKind = iota + 1
	kindSuffix
	kindPrefix
	kindSet
	kindForget
)

const (
	recordHead = 8
	// directData is the size from which an entry's data is written from the caller's memory and not
	// copied.
	directData = 16 << 10
	maxRecord  = 1 << 30
)

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	errRecord  = errors.New("damaged record")
)

// edit is the change of a record to a group's index.
type edit struct {
	kind       recordKind
	group      uint64
	index      uint64
	off, size  uint32 // of the whole record, from the beginning of the frame
	key, value []byte
}

// batch is a sequence of encoded records. Large data is referenced, not copied.
type batch struct {
	parts [][]byte // in order; the last one ends at len(buf)
	buf   []byte
	cut   int // buf from here on is not in parts yet
	size  int
	crcs  []byte // of the records, in the order in which the frame's crc covers them
	edits []edit
}

func (b *batch) reset() {
	if cap(b.buf) > 1<<20 {
		b.buf = nil
	}
	clear(b.parts)
	clear(b.edits)
	b.parts, b.buf, b.cut, b.size, b.crcs, b.edits = b.parts[:0], b.buf[:0], 0, 0, b.crcs[:0], b.edits[:0]
}

// begin starts a record and returns where its body begins in buf.
func (b *batch) begin(kind recordKind, group uint64) int {
	b.buf = append(b.buf, 0, 0, 0, 0, 0, 0, 0, 0, byte(kind))
	body := len(b.buf) - 1
	b.buf = binary.AppendUvarint(b.buf, group)
	return body
}

// end closes the record begun at body; data follows what buf has of it.
func (b *batch) end(body int, data []byte, e edit) {
	n := len(b.buf) - body
	sum := crc32.Update(crc32.Checksum(b.buf[body:], castagnoli), castagnoli, data)
	binary.LittleEndian.PutUint32(b.buf[body-8:], uint32(n+len(data)))
	binary.LittleEndian.PutUint32(b.buf[body-4:], sum)
	if len(data) >= directData {
		b.parts = append(b.parts, b.buf[b.cut:len(b.buf):len(b.buf)], data)
		b.cut = len(b.buf)
	} else {
		b.buf = append(b.buf, data...)
	}
	b.crcs = binary.LittleEndian.AppendUint32(b.crcs, sum)
	e.off, e.size = uint32(b.size), uint32(recordHead+n+len(data))
	b.size += int(e.size)
	b.edits = append(b.edits, e)
}

// pieces returns the bytes to write.
func (b *batch) pieces(to [][]byte) [][]byte {
	// buf may have been reallocated since a part was cut from it; the old memory holds the same
	// bytes.
	to = append(to, b.parts...)
	if b.cut < len(b.buf) {
		to = append(to, b.buf[b.cut:])
	}
	return to
}

func (b *batch) append(group uint64, l *raft.Log) error {
	at, err := l.AppendedAt.MarshalBinary()
	if err != nil {
		return err
	}
	body := b.begin(kindAppend, group)
	b.buf = binary.AppendUvarint(b.buf, l.Index)
	b.buf = binary.AppendUvarint(b.buf, l.Term)
	b.buf = append(b.buf, byte(l.Type), byte(len(at)))
	b.buf = append(b.buf, at...)
	b.buf = binary.AppendUvarint(b.buf, uint64(len(l.Extensions)))
	b.buf = append(b.buf, l.Extensions...)
	b.end(body, l.Data, edit{kind: kindAppend, group: group, index: l.Index})
	return nil
}

// again adds an append record in the form read from a segment.
func (b *batch) again(group, index uint64, record []byte) {
	b.buf = append(b.buf, record...)
	b.crcs = append(b.crcs, record[4:8]...)
	b.edits = append(
		b.edits, edit{kind: kindAppend, group: group, index: index, off: uint32(b.size), size: uint32(len(record))},
	)
	b.size += len(record)
}

func (b *batch) delete(kind recordKind, group, index uint64) {
	body := b.begin(kind, group)
	b.buf = binary.AppendUvarint(b.buf, index)
	b.end(body, nil, edit{kind: kind, group: group, index: index})
}

func (b *batch) set(group uint64, key, value []byte) {
	body := b.begin(kindSet, group)
	b.buf = binary.AppendUvarint(b.buf, uint64(len(key)))
	b.buf = append(b.buf, key...)
	b.buf = append(b.buf, value...)
	b.end(body, nil, edit{kind: kindSet, group: group, key: key, value: value})
}

func (b *batch) forget(group uint64) {
	b.end(b.begin(kindForget, group), nil, edit{kind: kindForget, group: group})
}

// splitRecord returns the body of the record at the beginning of b, and the record's crc and size.
func splitRecord(b []byte) (body []byte, sum uint32, size int, err error) {
	if len(b) < recordHead {
		return nil, 0, 0, errRecord
	}
	n := binary.LittleEndian.Uint32(b)
	sum = binary.LittleEndian.Uint32(b[4:])
	if n == 0 || n > maxRecord || uint64(n) > uint64(len(b)-recordHead) {
		return nil, 0, 0, errRecord
	}
	body = b[recordHead : recordHead+int(n)]
	if crc32.Checksum(body, castagnoli) != sum {
		return nil, 0, 0, errRecord
	}
	return body, sum, recordHead + int(n), nil
}

// decodeEdit reads a record's body; of an append it reads only the index. The slices share body's
// memory.
func decodeEdit(body []byte) (e edit, err error) {
	r := reader{b: body}
	e.kind = recordKind(r.byte())
	e.group = r.uvarint()
	switch e.kind {
	case kindAppend, kindSuffix, kindPrefix:
		e.index = r.uvarint()
		r.bad = r.bad || e.kind != kindAppend && len(r.b) > 0
	case kindSet:
		e.key = r.take(r.uvarint())
		e.value = r.b
	case kindForget:
		r.bad = r.bad || len(r.b) > 0
	default:
		r.bad = true
	}
	if r.bad {
		return edit{}, errRecord
	}
	return e, nil
}

// decodeEntry reads the body of an append record into l. Data and Extensions share body's memory.
func decodeEntry(body []byte, l *raft.Log) error {
	r := reader{b: body}
	kind := recordKind(r.byte())
	r.uvarint() // the group
	out := raft.Log{Index: r.uvarint(), Term: r.uvarint(), Type: raft.LogType(r.byte())}
	at := r.take(uint64(r.byte()))
	out.Extensions = nonEmpty(r.take(r.uvarint()))
	out.Data = nonEmpty(r.b)
	if r.bad || kind != kindAppend || out.AppendedAt.UnmarshalBinary(at) != nil {
		return errRecord
	}
	*l = out
	return nil
}

func nonEmpty(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b[:len(b):len(b)]
}

// reader takes fields off b; bad is set once a field is missing.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		r.bad = true
		return 0
	}
	v := r.b[0]
	r.b = r.b[1:]
	return v
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad = true
		r.b = nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.bad = true
		return nil
	}
	v := r.b[:n]
	r.b = r.b[n:]
	return v
}
