package types

import (
	"encoding/binary"
	"math/big"
	"math/bits"
	"strconv"
)

func leadingZeros(u uint64) int { return bits.LeadingZeros64(u) }

// A finite numeric other than 0 is 0.d1d2d3… · 10^e. The tag is followed by e + 2^23 (3 bytes) and
// by pairs of digits d1d2 + 1 as bytes, without trailing zeros, ended by 0x00. If it is negative,
// all bytes after the tag are complemented.
const (
	keyNumNegInf = keyNumeric + iota
	keyNumNeg
	keyNumZero
	keyNumPos
	keyNumInf
	keyNumNaN
)

const keyExponentBias = 1 << 23

func appendKeyNumeric(dst []byte, d *Datum) []byte {
	if d.special() {
		switch d.S[0] {
		case flatNegInf:
			return append(dst, keyNumNegInf)
		case flatPosInf:
			return append(dst, keyNumInf)
		}
		return append(dst, keyNumNaN)
	}
	sign := NumericSign(*d)
	if sign == 0 {
		return append(dst, keyNumZero)
	}
	var buf [24]byte
	var digits []byte
	if d.S == "" {
		digits = strconv.AppendUint(buf[:0], absU(d.N), 10)
	} else {
		digits = new(big.Int).SetBytes([]byte(d.S[1:])).Append(nil, 10)
	}
	exp := len(digits) - int(d.A)
	for digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
	}
	if sign > 0 {
		dst = append(dst, keyNumPos)
	} else {
		dst = append(dst, keyNumNeg)
	}
	start := len(dst)
	e := uint32(exp + keyExponentBias)
	dst = append(dst, byte(e>>16), byte(e>>8), byte(e))
	for i := 0; i < len(digits); i += 2 {
		pair := (digits[i] - '0') * 10
		if i+1 < len(digits) {
			pair += digits[i+1] - '0'
		}
		dst = append(dst, pair+1)
	}
	dst = append(dst, 0)
	if sign < 0 {
		complement(dst[start:])
	}
	return dst
}

func (r *keyReader) numeric() Datum {
	tag := r.next()
	switch tag {
	case keyNumNegInf:
		return numericNegInf
	case keyNumInf:
		return numericPosInf
	case keyNumNaN:
		return numericNaN
	case keyNumZero:
		return NewNumeric(0, 0)
	case keyNumNeg:
		r.flip = ^r.flip
		defer func() { r.flip = ^r.flip }()
	case keyNumPos:
	default:
		r.bad = true
		return Null
	}
	var e [4]byte
	e[1], e[2], e[3] = r.next(), r.next(), r.next()
	exp := int(binary.BigEndian.Uint32(e[:])) - keyExponentBias
	var digits []byte
	for !r.bad {
		c := r.next()
		if c == 0 {
			break
		}
		if c > 100 {
			r.bad = true
		}
		digits = append(digits, '0'+(c-1)/10, '0'+(c-1)%10)
	}
	for len(digits) > 0 && digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
	}
	if r.bad || len(digits) == 0 {
		r.bad = true
		return Null
	}
	d, err := buildNumeric(string(digits), int64(len(digits)-exp), tag == keyNumNeg)
	if err != nil {
		r.bad = true
	}
	return d
}
