package types

import (
	"encoding/binary"
	"math"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
)

// The order-preserving key form (V2, frozen by golden files): bytes.Compare of two keys agrees with
// Compare of the values, and equal values have equal keys. A key therefore does not contain
// differences between equal values (scale of a numeric, parts of an interval, padding of a char(n),
// -0); the row has the value itself. No key is a prefix of another.
//
// The first byte is 0x00 or 0xff for null, else a tag between. In descending columns, all bytes
// except null's are complemented.
//
//	0x10 0x11       false, true
//	0x20 … 0x30     integer: 0x28 + number of bytes, or 0x28 - number of bytes if negative,
//	                then the bytes, big endian
//	0x34            float8 bits, mapped to unsigned order, 8 bytes
//	0x38 … 0x3d     numeric: -Infinity, negative, 0, positive, Infinity, NaN (key_numeric.go)
//	0x40            bytes: 0x00 is 0x00 0xff, the end is 0x00 0x01
//	0x44            16 bytes (uuid)
//	0x48            16 bytes: 128-bit total of an interval, sign flipped
//	0x4c            timetz: integer of the instant, integer of the zone
//	0x50            bit string: bytes as 0x40, integer of the length
//	0x58            array, 0x5c record, 0x60 jsonb (key_nested.go)
const (
	keyNullFirst = 0x00
	keyNullLast  = 0xff
	keyFalse     = 0x10
	keyInt       = 0x28
	keyFloat     = 0x34
	keyNumeric   = 0x38
	keyBytes     = 0x40
	keyUUID      = 0x44
	keyInterval  = 0x48
	keyTimeTZ    = 0x4c
	keyBit       = 0x50
	keyArray     = 0x58
	keyRecord    = 0x5c
	keyJSONB     = 0x60

	keyEscape    = 0x00
	keyEscaped   = 0xff
	keyEndOfText = 0x01
)

// AppendKey appends the order-preserving form of d. Nulls are last in ascending and first in
// descending order, as is PostgreSQL's default.
func AppendKey(dst []byte, oid OID, d Datum, desc bool) []byte {
	return AppendKeyNulls(dst, oid, d, desc, desc)
}

// AppendKeyNulls is AppendKey with an explicit position of nulls.
func AppendKeyNulls(dst []byte, oid OID, d Datum, desc, nullsFirst bool) []byte {
	oid = BaseOf(oid)
	if d.K == KindNull {
		if nullsFirst {
			return append(dst, keyNullFirst)
		}
		return append(dst, keyNullLast)
	}
	start := len(dst)
	if oid == BPChar {
		dst = appendKeyBytes(append(dst, keyBytes), trimBlanks(d.S))
	} else {
		dst = appendKeyValue(dst, &d)
	}
	if desc {
		complement(dst[start:])
	}
	return dst
}

func complement(b []byte) {
	for i := range b {
		b[i] = ^b[i]
	}
}

// CanKey reports whether values of a type can be decoded from their key form.
func CanKey(oid OID) bool {
	oid = BaseOf(oid)
	switch KindOf(oid) {
	case KindNull, KindVoid:
		return false
	case KindText:
		return oid != JSON && oid != XML && oid != PgNodeTree && oid != PgNDistinct && oid != PgDependencies
	case KindBytes:
		return oid != PgMCVList
	case KindJSONPath:
		return false
	case KindArray:
		return CanKey(ElemOf(oid))
	}
	return true
}

func appendKeyValue(dst []byte, d *Datum) []byte {
	switch d.K {
	case KindInt, KindOid, KindDate, KindTime, KindTimestamp, KindTid:
		return appendKeyInt(dst, d.N)
	case KindText, KindBytes, KindJSONPath, KindEnum:
		return appendKeyBytes(append(dst, keyBytes), d.S)
	case KindBool:
		return append(dst, keyFalse+byte(d.N&1))
	case KindFloat4, KindFloat8:
		return binary.BigEndian.AppendUint64(append(dst, keyFloat), orderedFloat(d.Float()))
	case KindNumeric:
		return appendKeyNumeric(dst, d)
	case KindUUID:
		return append(append(dst, keyUUID), d.S...)
	case KindInterval:
		hi, lo := intervalSpan(d)
		dst = binary.BigEndian.AppendUint64(append(dst, keyInterval), uint64(hi)^1<<63)
		return binary.BigEndian.AppendUint64(dst, lo)
	case KindTimeTZ:
		dst = appendKeyInt(append(dst, keyTimeTZ), d.N+int64(d.A)*usPerSecond)
		return appendKeyInt(dst, int64(d.A))
	case KindBit:
		return appendKeyInt(appendKeyBytes(append(dst, keyBit), d.S), int64(d.A))
	}
	return appendKeyNested(dst, d)
}

func orderedFloat(f float64) uint64 {
	if f == 0 {
		f = 0
	}
	if f != f {
		f = math.NaN()
	}
	u := math.Float64bits(f)
	if u>>63 != 0 && f == f {
		return ^u
	}
	return u | 1<<63
}

func floatOfOrdered(u uint64) float64 {
	if u>>63 != 0 {
		return math.Float64frombits(u &^ (1 << 63))
	}
	return math.Float64frombits(^u)
}

func appendKeyInt(dst []byte, n int64) []byte {
	if n >= 0 {
		size := (64 - leadingZeros(uint64(n)) + 7) / 8
		dst = append(dst, byte(keyInt+size))
		for i := size - 1; i >= 0; i-- {
			dst = append(dst, byte(n>>(8*i)))
		}
		return dst
	}
	size := max((64-leadingZeros(uint64(^n))+7)/8, 1)
	dst = append(dst, byte(keyInt-size))
	for i := size - 1; i >= 0; i-- {
		dst = append(dst, byte(n>>(8*i)))
	}
	return dst
}

func appendKeyBytes(dst []byte, s string) []byte {
	for {
		i := strings.IndexByte(s, 0)
		if i < 0 {
			break
		}
		dst = append(append(dst, s[:i]...), keyEscape, keyEscaped)
		s = s[i+1:]
	}
	return append(append(dst, s...), keyEscape, keyEndOfText)
}

var errKey = pgerr.New(pgerr.DataCorrupted, "stored key is damaged")

// DecodeKey decodes one value from a key that AppendKey wrote with the same type and order, and
// returns the rest. The value equals the encoded one and does not alias b.
func DecodeKey(oid OID, b []byte, desc bool) (Datum, []byte, error) {
	oid = BaseOf(oid)
	if len(b) == 0 {
		return Null, nil, errKey
	}
	if b[0] == keyNullFirst || b[0] == keyNullLast {
		return Null, b[1:], nil
	}
	r := keyReader{b: b}
	if desc {
		r.flip = 0xff
	}
	d := r.value(KindOf(oid), oid, 0)
	if r.bad {
		return Null, nil, errKey
	}
	return d, b[r.pos:], nil
}

// keyReader reads a key from front to back. Once bad is set, it stays set.
type keyReader struct {
	b    []byte
	pos  int
	flip byte
	bad  bool
}

func (r *keyReader) next() byte {
	if r.pos >= len(r.b) {
		r.bad = true
		return 0
	}
	c := r.b[r.pos] ^ r.flip
	r.pos++
	return c
}

func (r *keyReader) expect(tag byte) {
	if r.next() != tag {
		r.bad = true
	}
}

func (r *keyReader) uint64() uint64 {
	var n uint64
	for range 8 {
		n = n<<8 | uint64(r.next())
	}
	return n
}

func (r *keyReader) integer() int64 {
	size := int(r.next()) - keyInt
	var n int64
	if size < 0 {
		size, n = -size, -1
	}
	if size > 8 {
		r.bad = true
		return 0
	}
	for range size {
		n = n<<8 | int64(r.next())
	}
	return n
}

func (r *keyReader) text() string {
	var out []byte
	for !r.bad {
		c := r.next()
		if c == keyEscape {
			switch r.next() {
			case keyEndOfText:
				return aliasString(out)
			case keyEscaped:
			default:
				r.bad = true
			}
		}
		out = append(out, c)
	}
	return ""
}

func (r *keyReader) value(k Kind, oid OID, depth int) Datum {
	switch k {
	case KindBool:
		c := r.next()
		r.bad = r.bad || c&^1 != keyFalse
		return NewBool(c&1 != 0)
	case KindInt, KindOid, KindDate, KindTime, KindTimestamp, KindTid:
		return Datum{K: k, N: r.integer()}
	case KindFloat4, KindFloat8:
		r.expect(keyFloat)
		return Datum{K: k, N: int64(math.Float64bits(floatOfOrdered(r.uint64())))}
	case KindText, KindBytes, KindJSONPath, KindEnum:
		r.expect(keyBytes)
		return Datum{K: k, S: r.text()}
	case KindNumeric:
		return r.numeric()
	case KindUUID:
		r.expect(keyUUID)
		if r.bad || len(r.b)-r.pos < 16 {
			r.bad = true
			return Null
		}
		u := append([]byte(nil), r.b[r.pos:r.pos+16]...)
		if r.flip != 0 {
			complement(u)
		}
		r.pos += 16
		return Datum{K: k, S: aliasString(u)}
	case KindInterval:
		r.expect(keyInterval)
		hi := int64(r.uint64() ^ 1<<63)
		return intervalOfSpan(hi, r.uint64())
	case KindTimeTZ:
		r.expect(keyTimeTZ)
		at, zone := r.integer(), r.integer()
		return Datum{K: k, A: int32(zone), N: at - zone*usPerSecond}
	case KindBit:
		r.expect(keyBit)
		d := Datum{K: k, S: r.text()}
		d.A = int32(r.integer())
		r.bad = r.bad || d.A < 0 || (int(d.A)+7)/8 != len(d.S)
		return d
	}
	return r.nested(k, oid, depth)
}
