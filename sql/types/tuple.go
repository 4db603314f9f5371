package types

import (
	"encoding/binary"
	"unsafe"

	"github.com/sherddb/sherd/internal/pgerr"
)

// A tuple is the body of rows, arrays and records: n values, each readable without the others.
//
//	flags(1): bits 0-1 width of an end offset (0: 1 byte, 1: 2, 2: 4),
//	          bit 2: a null bitmap follows
//	null bitmap ((n+7)/8), bit i set: value i is null
//	n end offsets, little endian, from the start of the data
//	data
//
// The types of the values and n are not stored in the tuple; the reader knows them.
const (
	tupleWidthMask = 3
	tupleHasNulls  = 4
)

// tuple is a parsed header.
type tuple struct {
	buf   string
	n     int
	width int
	nulls int // position of the bitmap; 0 without nulls
	ends  int
	data  int
}

var errTuple = pgerr.New(pgerr.DataCorrupted, "stored value is damaged")

// openTuple reads the header at pos of buf.
func openTuple(buf string, pos, n int) (t tuple, err error) {
	if !t.open(buf, pos, n) {
		return tuple{}, errTuple
	}
	return t, nil
}

func (t *tuple) open(buf string, pos, n int) bool {
	if pos >= len(buf) {
		return false
	}
	flags := buf[pos]
	if flags&tupleWidthMask == 3 || flags > 7 {
		return false
	}
	pos++
	nulls := 0
	if flags&tupleHasNulls != 0 {
		nulls = pos
		pos += (n + 7) / 8
	}
	width := 1 << (flags & tupleWidthMask)
	data := pos + n*width
	if data > len(buf) {
		return false
	}
	t.buf, t.n, t.width, t.nulls, t.ends, t.data = buf, n, width, nulls, pos, data
	return true
}

// monotone reports whether the offsets never decrease, so that values do not overlap. Check it
// before reading values recursively.
func (t *tuple) monotone() bool {
	last := 0
	for i := range t.n {
		e := t.end(i)
		if e < last {
			return false
		}
		last = e
	}
	return t.data+last <= len(t.buf)
}

func (t *tuple) end(i int) int {
	switch p := t.ends + i*t.width; t.width {
	case 1:
		return int(t.buf[p])
	case 2:
		return int(t.buf[p]) | int(t.buf[p+1])<<8
	default:
		return int(uint32(t.buf[p]) | uint32(t.buf[p+1])<<8 | uint32(t.buf[p+2])<<16 | uint32(t.buf[p+3])<<24)
	}
}

func (t *tuple) isNull(i int) bool {
	return t.nulls != 0 && t.buf[t.nulls+i>>3]&(1<<(i&7)) != 0
}

// value returns the bytes of value i, and whether they lie in the buffer.
func (t *tuple) value(i int) (string, bool) {
	from, to := t.data, t.data
	switch p := t.ends + i; {
	case t.width != 1:
		to += t.end(i)
		if i > 0 {
			from += t.end(i - 1)
		}
	case i > 0:
		to += int(t.buf[p])
		from += int(t.buf[p-1])
	default:
		to += int(t.buf[p])
	}
	if from > to || to > len(t.buf) {
		return "", false
	}
	return t.buf[from:to], true
}

// datum decodes value i of kind k.
func (t *tuple) datum(i int, k Kind) (Datum, error) {
	if t.isNull(i) {
		return Null, nil
	}
	s, ok := t.value(i)
	if !ok {
		return Null, errTuple
	}
	return decodeValue(k, s)
}

// size returns the number of bytes from pos to the end of the last value.
func (t *tuple) size() int {
	if t.n == 0 {
		return t.data
	}
	return t.data + t.end(t.n-1)
}

// appendTuple appends a tuple of the values, with the narrowest offsets that fit the data.
func appendTuple(dst []byte, vals []Datum) []byte {
	n := len(vals)
	hasNulls, size := false, 0
	for i := range vals {
		if vals[i].K == KindNull {
			hasNulls = true
			continue
		}
		size += valueSizeBound(&vals[i])
	}
	code := 0
	if size > 0xff {
		code = 1
	}
	if size > 0xffff {
		code = 2
	}
	flags := byte(code)
	nullBytes := 0
	if hasNulls {
		flags |= tupleHasNulls
		nullBytes = (n + 7) / 8
	}
	width := 1 << code
	dst = append(dst, flags)
	nulls := len(dst)
	ends := nulls + nullBytes
	data := ends + n*width
	dst = grow(dst, data-nulls+size)
	clear(dst[nulls:data])
	dst = dst[:data]
	for i := range vals {
		if vals[i].K == KindNull {
			dst[nulls+i>>3] |= 1 << (i & 7)
		} else {
			dst = appendValue(dst, &vals[i])
		}
		putEnd(dst[ends+i*width:], width, len(dst)-data)
	}
	return dst
}

func putEnd(b []byte, width, end int) {
	switch width {
	case 1:
		b[0] = byte(end)
	case 2:
		binary.LittleEndian.PutUint16(b, uint16(end))
	default:
		binary.LittleEndian.PutUint32(b, uint32(end))
	}
}

// grow ensures room for n more bytes, and returns dst with its capacity usable for them.
func grow(dst []byte, n int) []byte {
	if cap(dst)-len(dst) >= n {
		return dst[:len(dst)+n]
	}
	b := make([]byte, len(dst)+n, 2*cap(dst)+n)
	copy(b, dst)
	return b
}

// aliasString returns b as a string without copying. The caller must not change b while the string
// is in use.
func aliasString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
