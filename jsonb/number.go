package jsonb

import (
	"math"
	"strconv"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
)

const (
	maxIntegerDigits  = 131072 // of numeric, before the decimal point
	maxFractionDigits = 16383  // of numeric, after it
)

// OfInt64 makes a number.
func OfInt64(v int64) Doc {
	buf := make([]byte, 1, 21)
	buf[0] = tagNumber
	return FromBytes(strconv.AppendInt(buf, v, 10))
}

// OfFloat64 makes a number of the shortest decimal text that reads back as v, as casts from double
// precision do; a NaN or an infinity becomes the string of that name, as in to_jsonb.
func OfFloat64(v float64) Doc {
	switch {
	case math.IsNaN(v):
		return OfString("NaN")
	case math.IsInf(v, 1):
		return OfString("Infinity")
	case math.IsInf(v, -1):
		return OfString("-Infinity")
	}
	d, err := OfNumber(strconv.FormatFloat(v, 'e', -1, 64))
	if err != nil { // impossible: a float's exponent is far within numeric's
		return NullDoc
	}
	return d
}

// OfNumber makes a number of decimal text in JSON syntax, exponents allowed. It returns 22P02 or
// 22003 if the text is not such a number.
func OfNumber(text string) (Doc, error) {
	if !isNumber(text) {
		return "", pgerr.New(pgerr.InvalidTextRepresentation, "invalid input syntax for type %s: %q", "numeric", text)
	}
	s, err := canonicalNumber(text)
	if err != nil {
		return "", err
	}
	return Doc(string(rune(tagNumber)) + s), nil
}

// Int64 returns a number as an int64. ok is false if the value is not a number, not whole, or out
// of range.
func (d Doc) Int64() (v int64, ok bool) {
	s, ok := d.NumberText()
	if !ok {
		return 0, false
	}
	if dot := strings.IndexByte(s, '.'); dot >= 0 {
		if strings.Trim(s[dot+1:], "0") != "" {
			return 0, false
		}
		s = s[:dot]
	}
	v, err := strconv.ParseInt(s, 10, 64)
	return v, err == nil
}

// Float64 returns the double nearest to a number. ok is false for other kinds and beyond the range
// of doubles.
func (d Doc) Float64() (v float64, ok bool) {
	s, ok := d.NumberText()
	if !ok {
		return 0, false
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil
}

// scanNumber returns the length of the JSON number s begins with, 0 if it begins with none.
func scanNumber(s string) int {
	i := 0
	if i < len(s) && s[i] == '-' {
		i++
	}
	switch {
	case i < len(s) && s[i] == '0':
		i++
	case digits(s, i) > i:
		i = digits(s, i)
	default:
		return 0
	}
	if i < len(s) && s[i] == '.' {
		end := digits(s, i+1)
		if end == i+1 {
			return 0
		}
		i = end
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		j := i + 1
		if j < len(s) && (s[j] == '+' || s[j] == '-') {
			j++
		}
		end := digits(s, j)
		if end == j {
			return 0
		}
		i = end
	}
	return i
}

func digits(s string, i int) int {
	for i < len(s) && s[i]-'0' <= 9 {
		i++
	}
	return i
}

func numericOverflow() error {
	return pgerr.New(pgerr.NumericValueOutOfRange, "value overflows numeric format")
}

// canonicalNumber rewrites a JSON number as numeric prints it: no exponent, no minus before zero,
// scale kept. Most numbers are canonical already and are returned as they are.
func canonicalNumber(s string) (string, error) {
	if len(s) < 300 && strings.IndexByte(s, 'e') < 0 && strings.IndexByte(s, 'E') < 0 {
		if s[:min(2, len(s))] == "-0" && strings.Trim(s, "-0.") == "" {
			s = s[1:]
		}
		return s, nil
	}
	neg := s[0] == '-'
	s = strings.TrimPrefix(s, "-")
	exp := 0
	if e := strings.IndexAny(s, "eE"); e >= 0 {
		v, err := strconv.ParseInt(s[e+1:], 10, 32)
		if err != nil || v >= math.MaxInt32/2 || v <= -math.MaxInt32/2 {
			return "", numericOverflow()
		}
		s, exp = s[:e], int(v)
	}
	whole, frac, _ := strings.Cut(s, ".")
	scale := max(len(frac)-exp, 0)
	lit := strings.TrimLeft(whole+frac, "0")
	point := len(lit) - len(frac) + exp // digits before the decimal point
	if scale > maxFractionDigits || lit != "" && point > maxIntegerDigits {
		return "", numericOverflow()
	}
	if lit == "" {
		neg, point = false, 0
	}
	return placePoint(lit, point, scale, neg), nil
}

// placePoint writes digits with the decimal point after the first point of them (which may lie
// outside) and scale digits after it.
func placePoint(lit string, point, scale int, neg bool) string {
	var b strings.Builder
	b.Grow(max(point, 1) + scale + 2)
	if neg {
		b.WriteByte('-')
	}
	switch {
	case point <= 0:
		b.WriteByte('0')
	case point <= len(lit):
		b.WriteString(lit[:point])
	default:
		b.WriteString(lit)
		b.WriteString(strings.Repeat("0", point-len(lit)))
	}
	if scale == 0 {
		return b.String()
	}
	b.WriteByte('.')
	lead := 0
	if point < 0 {
		lead = min(-point, scale)
	}
	b.WriteString(strings.Repeat("0", lead))
	frac := lit[min(max(point, 0), len(lit)):]
	frac = frac[:min(len(frac), scale-lead)]
	b.WriteString(frac)
	b.WriteString(strings.Repeat("0", scale-lead-len(frac)))
	return b.String()
}

// compareNumbers orders two canonical numbers by value.
func compareNumbers(a, b string) int {
	an, bn := isNegative(a), isNegative(b)
	switch {
	case an && bn:
		return compareMagnitudes(b[1:], a[1:])
	case an:
		return -1
	case bn:
		return 1
	}
	return compareMagnitudes(a, b)
}

func isNegative(s string) bool { return len(s) > 0 && s[0] == '-' }

// compareMagnitudes orders two canonical numbers without sign.
func compareMagnitudes(a, b string) int {
	aw, af, _ := strings.Cut(a, ".")
	bw, bf, _ := strings.Cut(b, ".")
	if len(aw) != len(bw) {
		if len(aw) < len(bw) {
			return -1
		}
		return 1
	}
	if c := strings.Compare(aw, bw); c != 0 {
		return c
	}
	return strings.Compare(strings.TrimRight(af, "0"), strings.TrimRight(bf, "0"))
}

// plainNumber strips the scale: equal numbers have equal plain text.
func plainNumber(s string) string {
	if strings.IndexByte(s, '.') >= 0 {
		s = strings.TrimRight(s, "0")
		s = strings.TrimSuffix(s, ".")
	}
	return s
}
