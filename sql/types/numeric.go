package types

import (
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
)

// A numeric is coefficient · 10^-A. The coefficient is N if it fits int64, and S is empty.
// Otherwise S is flat: a class byte and the magnitude, big endian without leading zero bytes. Each
// value has only one form: a coefficient that fits int64 is never in S.
const (
	flatPos    = 0
	flatNeg    = 1
	flatNaN    = 2
	flatPosInf = 3
	flatNegInf = 4
)

// Limits of numeric, as in PostgreSQL.
const (
	maxNumericScale     = 16383  // digits after the point
	maxNumericIntDigits = 131072 // digits before it
	maxDisplayScale     = 1000   // of division and the functions
	minSigDigits        = 16
	maxDeclaredScale    = 1000
)

// Special numeric values.
var (
	numericNaN    = Datum{K: KindNumeric, S: "\x02"}
	numericPosInf = Datum{K: KindNumeric, S: "\x03"}
	numericNegInf = Datum{K: KindNumeric, S: "\x04"}
)

// NewNumeric returns coefficient · 10^-scale.
func NewNumeric(coefficient int64, scale int32) Datum {
	return Datum{K: KindNumeric, A: scale, N: coefficient}
}

// NumericNaN returns not-a-number.
func NumericNaN() Datum { return numericNaN }

// NumericInf returns an infinity.
func NumericInf(negative bool) Datum {
	if negative {
		return numericNegInf
	}
	return numericPosInf
}

// IsNaN reports whether a numeric or float is NaN.
func (d Datum) IsNaN() bool {
	switch d.K {
	case KindNumeric:
		return d.S != "" && d.S[0] == flatNaN
	case KindFloat4, KindFloat8:
		f := d.Float()
		return f != f
	}
	return false
}

// special reports whether a numeric is NaN or infinite.
func (d *Datum) special() bool { return d.S != "" && d.S[0] >= flatNaN }

// NumericInfSign returns 1 for Infinity, -1 for -Infinity, 0 for other values.
func NumericInfSign(d Datum) int {
	if d.S != "" {
		switch d.S[0] {
		case flatPosInf:
			return 1
		case flatNegInf:
			return -1
		}
	}
	return 0
}

// coefficient returns the coefficient of a finite numeric.
func (d *Datum) coefficient(z *big.Int) *big.Int {
	if d.S == "" {
		return z.SetInt64(d.N)
	}
	z.SetBytes([]byte(d.S[1:]))
	if d.S[0] == flatNeg {
		z.Neg(z)
	}
	return z
}

func numericFlat(n int64) string {
	b := []byte{flatPos}
	u := uint64(n)
	if n < 0 {
		b[0], u = flatNeg, -u
	}
	return string(append(b, new(big.Int).SetUint64(u).Bytes()...))
}

// numericOf returns the canonical form of a coefficient and scale, within PostgreSQL's limits.
func numericOf(c *big.Int, scale int32) (Datum, error) {
	if c.IsInt64() && scale <= maxNumericScale {
		return Datum{K: KindNumeric, A: scale, N: c.Int64()}, nil
	}
	if scale > maxNumericScale || (c.BitLen() > 400_000 && decimalDigits(c)-int(scale) > maxNumericIntDigits) {
		return Null, numericOverflow()
	}
	return bigNumeric(c, scale), nil
}

func bigNumeric(c *big.Int, scale int32) Datum {
	if c.IsInt64() {
		return Datum{K: KindNumeric, A: scale, N: c.Int64()}
	}
	b := make([]byte, 1+(c.BitLen()+7)/8)
	if c.Sign() < 0 {
		b[0] = flatNeg
	}
	c.FillBytes(b[1:])
	return Datum{K: KindNumeric, A: scale, S: aliasString(b)}
}

// normalNumeric returns the canonical form of a stored flat value.
func normalNumeric(scale int32, flat string) Datum {
	d := Datum{K: KindNumeric, A: scale, S: flat}
	if d.special() {
		return Datum{K: KindNumeric, S: flat[:1]}
	}
	if len(flat) > 9 && flat[1] != 0 {
		return d
	}
	return bigNumeric(d.coefficient(new(big.Int)), scale)
}

func numericOverflow() error {
	return pgerr.New(pgerr.NumericValueOutOfRange, "value overflows numeric format")
}

var pow10Table = [19]int64{1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
	1e17, 1e18}

var bigTen = big.NewInt(10)

func bigPow10(n int32) *big.Int {
	if n < int32(len(pow10Table)) {
		return big.NewInt(pow10Table[n])
	}
	return new(big.Int).Exp(bigTen, big.NewInt(int64(n)), nil)
}

// decimalDigits returns the number of decimal digits of |c|; 0 has none.
func decimalDigits(c *big.Int) int {
	if c.Sign() == 0 {
		return 0
	}
	n := c.BitLen()
	if n <= 64 {
		return digits64(new(big.Int).Abs(c).Uint64())
	}
	d := int(float64(n-1) * math.Log10(2))
	if new(big.Int).Abs(c).Cmp(bigPow10(int32(d))) >= 0 {
		for new(big.Int).Abs(c).Cmp(bigPow10(int32(d))) >= 0 {
			d++
		}
		return d
	}
	return d
}

func digits64(u uint64) int {
	if u == 0 {
		return 0
	}
	d := (bits.Len64(u) * 1233) >> 12
	if d >= len(pow10Table) {
		if u >= 1e19 {
			return 20
		}
		return 19
	}
	if u >= uint64(pow10Table[d]) {
		d++
	}
	return d
}

// mulPow10 returns n · 10^p; ok is false on overflow.
func mulPow10(n int64, p int32) (int64, bool) {
	if p >= int32(len(pow10Table)) {
		return 0, n == 0
	}
	return mulInt64(n, pow10Table[p])
}

func mulInt64(a, b int64) (int64, bool) {
	if a == 0 || b == 0 {
		return 0, true
	}
	c := a * b
	if (c < 0) == ((a < 0) != (b < 0)) && c/b == a && !(a == -1 && b == math.MinInt64) &&
		!(b == -1 && a == math.MinInt64) {
		return c, true
	}
	return 0, false
}

// AddInt adds; ok is false if the sum overflows.
func AddInt(a, b int64) (sum int64, ok bool) {
	sum = a + b
	return sum, (sum > a) == (b > 0)
}

// SubInt subtracts; ok is false if the difference overflows.
func SubInt(a, b int64) (diff int64, ok bool) {
	diff = a - b
	return diff, (diff < a) == (b > 0)
}

// ParseNumeric parses a numeric: digits with point and exponent, NaN, Infinity, blanks around.
func ParseNumeric(s string) (Datum, error) {
	t := trimSpace(s)
	if d, ok := fastNumeric(t); ok {
		return d, nil
	}
	if d, ok := numericWord(t); ok {
		return d, nil
	}
	neg := false
	if t != "" && (t[0] == '-' || t[0] == '+') {
		neg = t[0] == '-'
		t = t[1:]
	}
	digits, scale, rest, ok := scanDecimal(t)
	if !ok {
		return Null, badSyntax("numeric", s)
	}
	exp, err := numericExponent(rest, s)
	if err != nil {
		return Null, err
	}
	return buildNumeric(strings.TrimLeft(digits, "0"), int64(scale)-exp, neg)
}

// buildNumeric returns digits · 10^-scale; a negative scale appends zeros.
func buildNumeric(digits string, scale int64, neg bool) (Datum, error) {
	if scale > maxNumericScale {
		return Null, numericOverflow()
	}
	if scale < 0 {
		if digits == "" {
			return NewNumeric(0, 0), nil
		}
		if int64(len(digits))-scale > maxNumericIntDigits {
			return Null, numericOverflow()
		}
		digits += strings.Repeat("0", int(-scale))
		scale = 0
	}
	if digits == "" {
		return NewNumeric(0, int32(scale)), nil
	}
	if len(digits)-int(scale) > maxNumericIntDigits {
		return Null, numericOverflow()
	}
	if neg {
		digits = "-" + digits
	}
	if n, err := strconv.ParseInt(digits, 10, 64); err == nil {
		return NewNumeric(n, int32(scale)), nil
	}
	c, ok := new(big.Int).SetString(digits, 10)
	if !ok {
		return Null, badSyntax("numeric", digits)
	}
	return numericOf(c, int32(scale))
}

// fastNumeric parses up to 18 digits with an optional point.
func fastNumeric(t string) (Datum, bool) {
	if t == "" || len(t) > 19 {
		return Null, false
	}
	i, neg := 0, t[0] == '-'
	if neg {
		i = 1
	}
	n, point, digits := int64(0), -1, 0
	for ; i < len(t); i++ {
		c := t[i]
		if isDigit(c) {
			n = n*10 + int64(c-'0')
			digits++
			continue
		}
		if c != '.' || point >= 0 || digits == 0 {
			return Null, false
		}
		point = i
	}
	if digits == 0 || digits > 18 {
		return Null, false
	}
	if neg {
		n = -n
	}
	scale := int32(0)
	if point >= 0 {
		scale = int32(len(t) - 1 - point)
	}
	return NewNumeric(n, scale), true
}

func numericWord(t string) (Datum, bool) {
	switch strings.ToLower(t) {
	case "nan":
		return numericNaN, true
	case "infinity", "+infinity", "inf", "+inf":
		return numericPosInf, true
	case "-infinity", "-inf":
		return numericNegInf, true
	}
	return Null, false
}

// scanDecimal splits digits and a point off the front of t.
func scanDecimal(t string) (digits string, scale int, rest string, ok bool) {
	i := 0
	for i < len(t) && isDigit(t[i]) {
		i++
	}
	digits = t[:i]
	if i < len(t) && t[i] == '.' {
		j := i + 1
		for j < len(t) && isDigit(t[j]) {
			j++
		}
		digits += t[i+1 : j]
		scale = j - i - 1
		i = j
	}
	return digits, scale, t[i:], digits != ""
}

func numericExponent(rest, whole string) (int64, error) {
	if rest == "" {
		return 0, nil
	}
	if rest[0]|0x20 != 'e' {
		return 0, badSyntax("numeric", whole)
	}
	t := rest[1:]
	body := t
	if body != "" && (body[0] == '-' || body[0] == '+') {
		body = body[1:]
	}
	if !allDigits(body) {
		return 0, badSyntax("numeric", whole)
	}
	n, err := strconv.ParseInt(t, 10, 64)
	if err != nil || n >= math.MaxInt32/2 || n <= -math.MaxInt32/2 {
		return 0, numericOverflow()
	}
	return n, nil
}

// AppendNumeric appends the decimal text of a numeric, with all digits of its scale.
func AppendNumeric(dst []byte, d Datum) []byte {
	if d.S != "" {
		return appendBigNumeric(dst, d)
	}
	if d.A == 0 {
		return AppendInt(dst, d.N)
	}
	u := uint64(d.N)
	if d.N < 0 {
		dst = append(dst, '-')
		u = -u
	}
	var buf [24]byte
	return appendPoint(dst, strconv.AppendUint(buf[:0], u, 10), int(d.A))
}

func appendPoint(dst, digits []byte, scale int) []byte {
	if scale == 0 {
		return append(dst, digits...)
	}
	cut := len(digits) - scale
	if cut > 0 {
		dst = append(dst, digits[:cut]...)
		dst = append(dst, '.')
		return append(dst, digits[cut:]...)
	}
	dst = append(dst, '0', '.')
	for ; cut < 0; cut++ {
		dst = append(dst, '0')
	}
	return append(dst, digits...)
}

func appendBigNumeric(dst []byte, d Datum) []byte {
	switch d.S[0] {
	case flatNaN:
		return append(dst, "NaN"...)
	case flatPosInf:
		return append(dst, "Infinity"...)
	case flatNegInf:
		return append(dst, "-Infinity"...)
	case flatNeg:
		dst = append(dst, '-')
	}
	c := new(big.Int).SetBytes([]byte(d.S[1:]))
	return appendPoint(dst, c.Append(nil, 10), int(d.A))
}
