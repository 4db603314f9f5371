package types

import (
	"github.com/sherddb/sherd/internal/pgerr"
)

const maxBits = 1 << 26 * 10

// NewBits returns a bit string of n bits from bytes, the first bit highest; bits beyond n must be
// zero.
func NewBits(n int32, bytes string) Datum { return Datum{K: KindBit, A: n, S: bytes} }

// parseBit parses 0s and 1s, in the form B'…' or X'…'. Without a modifier, bit is as long as the
// text.
func parseBit(s string, oid OID, typmod int32) (Datum, error) {
	t, hexForm := s, false
	if t != "" && (t[0] == 'b' || t[0] == 'B') {
		t = t[1:]
	} else if t != "" && (t[0] == 'x' || t[0] == 'X') {
		t, hexForm = t[1:], true
	}
	var out []byte
	var n int32
	if hexForm {
		n = int32(4 * len(t))
		out = make([]byte, (len(t)+1)/2)
		for i := 0; i < len(t); i++ {
			v, ok := hexDigit(t[i])
			if !ok {
				return Null, badBitDigit(t[i:], "hexadecimal")
			}
			out[i/2] |= v << (4 * (1 - i%2))
		}
	} else {
		n = int32(len(t))
		out = make([]byte, (len(t)+7)/8)
		for i := 0; i < len(t); i++ {
			switch t[i] {
			case '1':
				out[i/8] |= 0x80 >> (i % 8)
			case '0':
			default:
				return Null, badBitDigit(t[i:], "binary")
			}
		}
	}
	return NewBits(n, aliasString(out)), nil
}

func badBitDigit(s, what string) error {
	_, n := firstRune(s)
	return pgerr.New(pgerr.InvalidTextRepresentation, "\"%s\" is not a valid %s digit", s[:n], what)
}

func appendBits(dst []byte, d Datum) []byte {
	for i := 0; i < int(d.A); i++ {
		dst = append(dst, '0'+d.S[i/8]>>(7-i%8)&1)
	}
	return dst
}

// applyBitTypmod applies the modifier n: bit(n) has exactly n bits, varbit(n) at most n. An
// explicit cast pads with zeros and truncates.
func applyBitTypmod(oid OID, n int32, d Datum, explicit bool) (Datum, error) {
	if oid == Bit && d.A != n && !explicit {
		return Null, pgerr.New("22026", "bit string length %d does not match type bit(%d)", d.A, n)
	}
	if d.A > n {
		if !explicit {
			return Null, pgerr.New(pgerr.StringDataRightTruncation, "bit string too long for type bit varying(%d)", n)
		}
		b := []byte(d.S[:(n+7)/8])
		if n%8 != 0 {
			b[len(b)-1] &= 0xff << (8 - n%8)
		}
		return NewBits(n, string(b)), nil
	}
	if oid == Bit && d.A < n {
		b := make([]byte, (n+7)/8)
		copy(b, d.S)
		return NewBits(n, string(b)), nil
	}
	return d, nil
}
