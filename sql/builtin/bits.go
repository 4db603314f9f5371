package builtin

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// bitStrings has the operators and functions of bit and bit varying. Bit 0 is the leftmost.
var bitStrings = map[string]Func{
	"bit_and": bitwiseOf("AND", func(x, y byte) byte { return x & y }),
	"bit_or":  bitwiseOf("OR", func(x, y byte) byte { return x | y }),
	"bitxor":  bitwiseOf("XOR", func(x, y byte) byte { return x ^ y }), "bitnot": bitNot, "bitcat": bitCat,
	"bitshiftleft": bitShift(1), "bitshiftright": bitShift(-1), "bitlength": bitLength, "bit_length(1560)": bitLength,
	"bitoctetlength": bitOctetLength, "bitgetbit": bitGet, "bitsetbit": bitSet, "bit_bit_count": bitCount,
	"bitsubstr": bitSubstr, "bitsubstr_no_len": bitSubstr, "bitposition": bitPosition,
	"bittoint4":   bitToInt(32, "integer"),
	"bittoint8":   bitToInt(64, "bigint"),
	"bitfromint4": bitFromInt(32),
	"bitfromint8": bitFromInt(64),
}

// bitsOf returns the bits as bytes of 0 and 1.
func bitsOf(d types.Datum) []byte {
	out := make([]byte, d.A)
	for i := range out {
		out[i] = d.S[i/8] >> (7 - i%8) & 1
	}
	return out
}

// packBits returns a bit string from bytes of 0 and 1.
func packBits(bits []byte) types.Datum {
	b := make([]byte, (len(bits)+7)/8)
	for i, bit := range bits {
		b[i/8] |= bit << (7 - i%8)
	}
	return types.NewBits(int32(len(bits)), string(b))
}

func bitwiseOf(name string, f func(x, y byte) byte) Func {
	return func(_ *Ctx, a []types.Datum) (types.Datum, error) {
		if a[0].A != a[1].A {
			return types.Null, pgerr.New("22026", "cannot %s bit strings of different sizes", name)
		}
		b := make([]byte, len(a[0].S))
		for i := range b {
			b[i] = f(a[0].S[i], a[1].S[i])
		}
		return types.NewBits(a[0].A, string(b)), nil
	}
}

func bitNot(_ *Ctx, a []types.Datum) (types.Datum, error) {
	bits := bitsOf(a[0])
	for i := range bits {
		bits[i] ^= 1
	}
	return packBits(bits), nil
}

func bitCat(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return packBits(append(bitsOf(a[0]), bitsOf(a[1])...)), nil
}

func bitShift(sign int64) Func {
	return func(_ *Ctx, a []types.Datum) (types.Datum, error) {
		bits := bitsOf(a[0])
		out := make([]byte, len(bits))
		by := sign * max(min(a[1].N, int64(len(bits))), -int64(len(bits)))
		for i := range out {
			if from := int64(i) + by; from >= 0 && from < int64(len(bits)) {
				out[i] = bits[from]
			}
		}
		return packBits(out), nil
	}
}

func bitLength(_ *Ctx, a []types.Datum) (types.Datum, error) { return types.NewInt(int64(a[0].A)), nil }

func bitOctetLength(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewInt(int64(len(a[0].S))), nil
}

func bitCount(_ *Ctx, a []types.Datum) (types.Datum, error) { return types.NewInt(onesIn(a[0].S)), nil }

func bitIndex(a []types.Datum) error {
	if n := a[1].N; n < 0 || n >= int64(a[0].A) {
		return pgerr.New(pgerr.ArraySubscriptError, "bit index %d out of valid range (0..%d)", n, a[0].A-1)
	}
	return nil
}

func bitGet(_ *Ctx, a []types.Datum) (types.Datum, error) {
	if err := bitIndex(a); err != nil {
		return types.Null, err
	}
	return types.NewInt(int64(bitsOf(a[0])[a[1].N])), nil
}

func bitSet(_ *Ctx, a []types.Datum) (types.Datum, error) {
	if err := bitIndex(a); err != nil {
		return types.Null, err
	}
	if a[2].N != 0 && a[2].N != 1 {
		return types.Null, pgerr.New(pgerr.InvalidParameterValue, "new bit must be 0 or 1")
	}
	bits := bitsOf(a[0])
	bits[a[1].N] = byte(a[2].N)
	return packBits(bits), nil
}

func bitSubstr(_ *Ctx, a []types.Datum) (types.Datum, error) {
	from, to, err := bounds(a[1:])
	if err != nil {
		return types.Null, err
	}
	bits := bitsOf(a[0])
	size := int64(len(bits))
	return packBits(bits[min(from, size):min(max(to, from), size)]), nil
}

func bitPosition(_ *Ctx, a []types.Datum) (types.Datum, error) {
	in, of := string(bitsOf(a[0])), string(bitsOf(a[1]))
	if in == "" {
		return types.NewInt(0), nil
	}
	for i := 0; i+len(of) <= len(in); i++ {
		if in[i:i+len(of)] == of {
			return types.NewInt(int64(i) + 1), nil
		}
	}
	return types.NewInt(0), nil
}

func bitToInt(width int, name string) Func {
	return func(_ *Ctx, a []types.Datum) (types.Datum, error) {
		if int(a[0].A) > width {
			return types.Null, pgerr.New(pgerr.NumericValueOutOfRange, "%s out of range", name)
		}
		n := int64(0)
		for _, bit := range bitsOf(a[0]) {
			n = n<<1 | int64(bit)
		}
		if width == 32 {
			n = int64(int32(n))
		}
		return types.NewInt(n), nil
	}
}

// bitFromInt returns the cast that takes the rightmost bits, extended on the left with the sign.
func bitFromInt(width int) Func {
	return func(_ *Ctx, a []types.Datum) (types.Datum, error) {
		size := a[1].N
		if size <= 0 || size > 1<<26 {
			size = 1
		}
		bits := make([]byte, size)
		for i := range bits {
			shift := min(len(bits)-1-i, width-1)
			bits[i] = byte(a[0].N >> shift & 1)
		}
		return packBits(bits), nil
	}
}
