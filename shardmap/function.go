package shardmap

import (
	"strconv"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
)

// number returns the number that f's function makes of a value's text. For numeric and ticks it is
// already a bucket; for day, hour and month it counts units since 0001-01-01 00:00 UTC. Errors are
// 22P02, 22007 and 22008.
func (f Field) number(text string) (int64, error) {
	if f.Func == NumericFunc {
		return numericMod(text)
	}
	t, err := parseInstant(text)
	if err != nil {
		return 0, err
	}
	return f.unitOf(t), nil
}

// unitOf returns the number that f's function makes of an instant.
func (f Field) unitOf(t instant) int64 {
	switch f.Func {
	case TicksFunc:
		return floorMod(floorMod(t.seconds, BucketCount)*ticksPerSecond+t.ticks, BucketCount)
	case DayFunc:
		return floorDiv(t.seconds, secondsPerDay)
	case HourFunc:
		return floorDiv(t.seconds, secondsPerHour)
	case MonthFunc:
		return t.month
	}
	panic("shardmap: field has no function of time")
}

// isBucket reports whether number is a bucket itself, rather than a number to hash.
func (fn Func) isBucket() bool { return fn == NumericFunc || fn == TicksFunc }

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// floorMod is the Euclidean remainder for b > 0.
func floorMod(a, b int64) int64 { return a - floorDiv(a, b)*b }

// maxNumericExponent bounds what numericMod reads, as PostgreSQL bounds numeric.
const maxNumericExponent = 131072

// numericMod reads a decimal number as PostgreSQL's numeric input does, truncates it towards zero
// and returns the Euclidean remainder mod BucketCount. No big numbers are needed: the remainder is
// folded digit by digit.
func numericMod(text string) (int64, error) {
	s := strings.Trim(text, " \t\n\r\f\v")
	neg := strings.HasPrefix(s, "-")
	if neg || strings.HasPrefix(s, "+") {
		s = s[1:]
	}
	mantissa, exp, err := splitExponent(s, text)
	if err != nil {
		return 0, err
	}
	whole, frac, _ := strings.Cut(mantissa, ".")
	if (whole != "" && !allDigits(whole)) || (frac != "" && !allDigits(frac)) || whole+frac == "" {
		return 0, notNumeric(text)
	}
	m := foldDigits(whole+frac, len(whole)+exp)
	if neg {
		m = (BucketCount - m) % BucketCount
	}
	return m, nil
}

// splitExponent cuts the exponent off s; text is for the error.
func splitExponent(s, text string) (mantissa string, exp int, err error) {
	i := strings.IndexAny(s, "eE")
	if i < 0 {
		return s, 0, nil
	}
	digits := strings.TrimLeft(s[i+1:], "+-")
	if len(s)-i-1-len(digits) > 1 || !allDigits(digits) {
		return "", 0, notNumeric(text)
	}
	exp, err = strconv.Atoi(s[i+1:])
	if err != nil || exp > maxNumericExponent || exp < -maxNumericExponent {
		return "", 0, pgerr.New(pgerr.NumericValueOutOfRange, "value overflows numeric format")
	}
	return s[:i], exp, nil
}

// foldDigits returns, mod BucketCount, the number that the first n digits make; missing digits are
// zeros.
func foldDigits(digits string, n int) int64 {
	m := int64(0)
	for i := 0; i < n; i++ {
		d := int64(0)
		if i < len(digits) {
			d = int64(digits[i] - '0')
		} else if m == 0 {
			return 0 // further zeros change nothing
		}
		m = (m*10 + d) % BucketCount
	}
	return m
}

func notNumeric(text string) error {
	return pgerr.New(pgerr.InvalidTextRepresentation, "invalid input syntax for type numeric: %s", quoteID(text))
}
