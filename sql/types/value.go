package types

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// The bytes of a value inside a tuple. The tuple has the length. Integers are little endian two's
// complement without redundant high bytes, so 0 takes no byte.
//
//	int, oid, date, time, timestamp, tid, bool   integer
//	float8, float4                               IEEE, 8 and 4 bytes, little endian
//	text, bytea, uuid, jsonb, jsonpath, array, record, enum   S
//	numeric        scale(1) coefficient as integer; scale(1) 0xff: scale(2) and S
//	timetz         zone(4) integer
//	interval       months(4) days(4) integer of microseconds
//	bit            bits(4) S
const (
	numericBig   = 0xff // the scale does not fit one byte, or S holds the coefficient
	numericScale = 0xfe // greatest scale in one byte
)

func intSize(n int64) int {
	if n < 0 {
		n = ^n
	}
	if n == 0 {
		return 1
	}
	return bits.Len64(uint64(n))/8 + 1
}

func appendInt(dst []byte, n int64) []byte {
	if n == 0 {
		return dst
	}
	for i := intSize(n); i > 0; i-- {
		dst = append(dst, byte(n))
		n >>= 8
	}
	return dst
}

func decodeInt(s string) (int64, bool) {
	switch len(s) {
	case 0:
		return 0, true
	case 1:
		return int64(int8(s[0])), true
	}
	if len(s) > 8 {
		return 0, false
	}
	n := int64(int8(s[len(s)-1]))
	for i := len(s) - 2; i >= 0; i-- {
		n = n<<8 | int64(s[i])
	}
	return n, true
}

// valueSizeBound returns an upper bound of the bytes that appendValue needs.
func valueSizeBound(d *Datum) int {
	switch d.K {
	case KindText, KindBytes, KindUUID, KindJSONB, KindJSONPath, KindArray, KindRecord, KindEnum:
		return len(d.S)
	case KindNumeric:
		return max(9, 3+len(d.S))
	case KindBit:
		return 4 + len(d.S)
	case KindTimeTZ:
		return 12
	case KindInterval:
		return 16
	case KindFloat4:
		return 4
	}
	return 8
}

func appendValue(dst []byte, d *Datum) []byte {
	switch d.K {
	case KindText, KindBytes, KindUUID, KindJSONB, KindJSONPath, KindArray, KindRecord, KindEnum:
		return append(dst, d.S...)
	case KindBool, KindInt, KindOid, KindDate, KindTime, KindTimestamp, KindTid:
		return appendInt(dst, d.N)
	case KindFloat8:
		return binary.LittleEndian.AppendUint64(dst, uint64(d.N))
	case KindFloat4:
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(d.Float())))
	case KindNumeric:
		if d.S == "" && d.A <= numericScale {
			return appendInt(append(dst, byte(d.A)), d.N)
		}
		dst = binary.LittleEndian.AppendUint16(append(dst, numericBig), uint16(d.A))
		if d.S == "" {
			return append(dst, numericFlat(d.N)...)
		}
		return append(dst, d.S...)
	case KindTimeTZ:
		return appendInt(binary.LittleEndian.AppendUint32(dst, uint32(d.A)), d.N)
	case KindInterval:
		dst = binary.LittleEndian.AppendUint32(dst, uint32(d.A))
		return appendInt(binary.LittleEndian.AppendUint32(dst, uint32(d.days())), d.N)
	case KindBit:
		return append(binary.LittleEndian.AppendUint32(dst, uint32(d.A)), d.S...)
	}
	return dst
}

// decodeValue decodes a Datum of kind k that appendValue wrote; its S aliases s.
func decodeValue(k Kind, s string) (Datum, error) {
	switch k {
	case KindText, KindBytes, KindJSONB, KindJSONPath, KindArray, KindRecord, KindEnum:
		return Datum{K: k, S: s}, nil
	case KindInt, KindTimestamp, KindDate, KindTime, KindOid, KindTid, KindBool:
		n, ok := decodeInt(s)
		if !ok {
			return Null, errTuple
		}
		return Datum{K: k, N: n}, nil
	case KindFloat8:
		if len(s) != 8 {
			return Null, errTuple
		}
		return Datum{K: k, N: int64(le64(s))}, nil
	case KindFloat4:
		if len(s) != 4 {
			return Null, errTuple
		}
		return NewFloat4(math.Float32frombits(le32(s))), nil
	case KindNumeric:
		return decodeNumericValue(s)
	case KindUUID:
		if len(s) != 16 {
			return Null, errTuple
		}
		return Datum{K: k, S: s}, nil
	case KindVoid:
		return Datum{K: k}, nil
	}
	return decodeWide(k, s)
}

func decodeWide(k Kind, s string) (Datum, error) {
	switch {
	case k == KindTimeTZ && len(s) >= 4:
		if n, ok := decodeInt(s[4:]); ok {
			return Datum{K: k, A: int32(le32(s)), N: n}, nil
		}
	case k == KindInterval && len(s) >= 8:
		if n, ok := decodeInt(s[8:]); ok {
			return NewInterval(int32(le32(s)), int32(le32(s[4:])), n), nil
		}
	case k == KindBit && len(s) >= 4:
		d := Datum{K: k, A: int32(le32(s)), S: s[4:]}
		if d.A >= 0 && (int(d.A)+7)/8 == len(d.S) {
			return d, nil
		}
	}
	return Null, errTuple
}

func decodeNumericValue(s string) (Datum, error) {
	if len(s) == 0 {
		return Null, errTuple
	}
	if s[0] != numericBig {
		n, ok := decodeInt(s[1:])
		if !ok {
			return Null, errTuple
		}
		return Datum{K: KindNumeric, A: int32(s[0]), N: n}, nil
	}
	if len(s) < 4 || s[3] > flatNegInf {
		return Null, errTuple
	}
	return normalNumeric(int32(uint16(s[1])|uint16(s[2])<<8), s[3:]), nil
}

func le32(s string) uint32 {
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}

func le64(s string) uint64 { return uint64(le32(s)) | uint64(le32(s[4:]))<<32 }
