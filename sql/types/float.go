package types

import (
	"math"
	"strconv"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
)

func floatTypeName(bits int) string {
	if bits == 32 {
		return "real"
	}
	return "double precision"
}

func parseFloatDatum(oid OID, s string) (Datum, error) {
	bits := 64
	if oid == Float4 {
		bits = 32
	}
	f, err := ParseFloat(s, bits)
	if err != nil {
		return Null, err
	}
	if bits == 32 {
		return NewFloat4(float32(f)), nil
	}
	return NewFloat8(f), nil
}

// ParseFloat parses a float4 (bits 32) or float8 (64) as PostgreSQL does: decimal or C hexadecimal,
// NaN, Infinity, inf, with blanks around.
func ParseFloat(s string, bits int) (float64, error) {
	t := trimSpace(s)
	if !plausibleFloat(t) {
		return 0, badSyntax(floatTypeName(bits), s)
	}
	switch t[len(t)-1] {
	case 'p', 'P': // strconv would accept more than C does here
		return 0, badSyntax(floatTypeName(bits), s)
	}
	hex := strings.ContainsAny(t, "xX")
	if hex && !strings.ContainsAny(t, "pP") {
		t += "p0"
	}
	f, err := strconv.ParseFloat(t, bits)
	if err != nil {
		if ne, ok := err.(*strconv.NumError); ok && ne.Err == strconv.ErrRange {
			return 0, floatTextRange(t, bits)
		}
		return 0, badSyntax(floatTypeName(bits), s)
	}
	if f == 0 && mantissaNonZero(t) {
		return 0, floatTextRange(t, bits)
	}
	return f, nil
}

func floatTextRange(t string, bits int) error {
	return pgerr.New(pgerr.NumericValueOutOfRange, "\"%s\" is out of range for type %s", t, floatTypeName(bits))
}

// plausibleFloat refuses texts that strconv accepts and C does not: those with underscores. Forms
// with "in" are left to strconv.
func plausibleFloat(t string) bool {
	return t != "" && strings.IndexByte(t, '_') < 0
}

func mantissaNonZero(t string) bool {
	if strings.ContainsAny(t, "xX") {
		return false
	}
	for i := 0; i < len(t); i++ {
		switch c := t[i]; {
		case c == 'e' || c == 'E':
			return false
		case '1' <= c && c <= '9':
			return true
		}
	}
	return false
}

// appendFloat appends the shortest decimal that reads back as f, in PostgreSQL's notation. If
// extra_float_digits ≤ 0, it appends %g with fewer digits.
func appendFloat(dst []byte, f float64, bits int, env *Env) []byte {
	switch {
	case f != f:
		return append(dst, "NaN"...)
	case f > math.MaxFloat64:
		return append(dst, "Infinity"...)
	case f < -math.MaxFloat64:
		return append(dst, "-Infinity"...)
	case f == 0:
		if math.Signbit(f) {
			dst = append(dst, '-')
		}
		return append(dst, '0')
	}
	if env != nil && env.LowFloatDigits {
		return appendFloatG(dst, f, bits, env.ExtraFloatDigits)
	}
	if n := int64(f); float64(n) == f && -1e6 < f && f < 1e6 {
		return AppendInt(dst, n)
	}
	plain := 15
	if bits == 32 {
		plain = 6
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'e', -1, bits)
	if exp := exponentOf(dst[start:]); -4 <= exp && exp < plain {
		return strconv.AppendFloat(dst[:start], f, 'f', -1, bits)
	}
	return dst
}

// exponentOf parses the exponent of strconv's 'e' format.
func exponentOf(b []byte) int {
	i := len(b) - 1
	for b[i] != 'e' {
		i--
	}
	n := 0
	for _, c := range b[i+2:] {
		n = n*10 + int(c-'0')
	}
	if b[i+1] == '-' {
		return -n
	}
	return n
}

// appendFloatG is C's %.*g.
func appendFloatG(dst []byte, f float64, bits, extra int) []byte {
	digits := 15 + extra
	if bits == 32 {
		digits = 6 + extra
	}
	digits = max(digits, 1)
	s := strconv.FormatFloat(f, 'e', digits-1, 64)
	cut := strings.IndexByte(s, 'e')
	exp, _ := strconv.Atoi(s[cut+1:])
	mantissa := s[:cut]
	if exp < -4 || exp >= digits {
		return append(append(dst, trimFraction(mantissa)...), s[cut:]...)
	}
	return append(dst, trimFraction(strconv.FormatFloat(f, 'f', max(digits-1-exp, 0), 64))...)
}

func trimFraction(s string) string {
	if strings.IndexByte(s, '.') < 0 {
		return s
	}
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// compareFloat compares in btree order: NaN equals NaN and is above all, -0 equals 0.
func compareFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	case a == b:
		return 0
	case a != a && b != b:
		return 0
	case a != a:
		return 1
	}
	return -1
}
