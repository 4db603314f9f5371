package shardmap

import (
	"encoding/hex"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// This file converts typed values of a relational primary key to the text that is hashed for their
// bucket. The text is not the key's identity: it only has to be equal for equal values (B3), and
// frozen. Types whose text is what PostgreSQL prints (text, uuid, date, time, timestamp,
// timestamptz in UTC) need no function here. Examples of every type are frozen in
// testdata/keytext.json.

// BucketOfKey returns the bucket of a relational row from the texts of its key's columns in order.
// "$" means nothing here.
func BucketOfKey(parts ...string) Bucket {
	return HashBucket(KeyText(parts...))
}

// KeyText joins the texts of a key's columns with "/"; a single column stands as it is.
func KeyText(parts ...string) string { return strings.Join(parts, "/") }

// BoolText is the text of a boolean.
func BoolText(v bool) string { return strconv.FormatBool(v) }

// IntText is the text of an integer of any width.
func IntText(v int64) string { return strconv.FormatInt(v, 10) }

// Float8Text returns the shortest text that reads back as v, in PostgreSQL's notation; -0 is 0. It
// may differ from PostgreSQL's output, which has one digit more if the shortest text is at the very
// edge of the interval that rounds to v.
func Float8Text(v float64) string { return floatText(v, 64, 15) }

// Float4Text is Float8Text for a real.
func Float4Text(v float32) string { return floatText(float64(v), 32, 6) }

// floatText prints plain decimals for exponents from -4 to below maxPlain and d.ddde±xx outside, as
// PostgreSQL does.
func floatText(v float64, bits, maxPlain int) string {
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 1):
		return "Infinity"
	case math.IsInf(v, -1):
		return "-Infinity"
	case v == 0:
		return "0"
	}
	s := strconv.FormatFloat(v, 'e', -1, bits)
	exp, err := strconv.Atoi(s[strings.IndexByte(s, 'e')+1:])
	if err == nil && -4 <= exp && exp < maxPlain {
		return strconv.FormatFloat(v, 'f', -1, bits)
	}
	return s
}

// NumericText returns the text that PostgreSQL prints for a numeric (no exponent) without the parts
// in which equal numbers may differ: trailing zeros, a bare point, the sign of zero. NaN and the
// infinities stay.
func NumericText(s string) string {
	if strings.IndexByte(s, '.') >= 0 {
		s = strings.TrimRight(s, "0")
		s = strings.TrimSuffix(s, ".")
	}
	if s == "-0" || s == "" || s == "-" {
		return "0"
	}
	return s
}

// CharText is the text of a char(n): trailing blanks are padding and do not count.
func CharText(s string) string { return strings.TrimRight(s, " ") }

// ByteaText is the text of a bytea, in hex.
func ByteaText(v []byte) string { return `\x` + hex.EncodeToString(v) }

const (
	microsPerDay   = 24 * 60 * 60 * 1_000_000
	daysPerMonth   = 30 // as PostgreSQL compares intervals
	microsPerMonth = daysPerMonth * microsPerDay
)

// IntervalText is the total of an interval in microseconds, with days of 24 hours and months of 30
// days, as PostgreSQL compares them.
func IntervalText(months, days int32, micros int64) string {
	const safe = math.MaxInt64 / 4
	const safeMonths = safe / microsPerMonth
	inInt64 := -safe < micros && micros < safe && -safeMonths < int64(months) && int64(months) < safeMonths
	if inInt64 && -safeMonths < int64(days) && int64(days) < safeMonths {
		return IntText(int64(months)*microsPerMonth + int64(days)*microsPerDay + micros)
	}
	sum := new(big.Int).Mul(big.NewInt(int64(months)), big.NewInt(microsPerMonth))
	sum.Add(sum, new(big.Int).Mul(big.NewInt(int64(days)), big.NewInt(microsPerDay)))
	return sum.Add(sum, big.NewInt(micros)).String()
}

// TimetzText returns the text of a time with time zone. PostgreSQL treats values at the same
// instant in different zones as different, but the text only decides the bucket, so the instant is
// enough: microseconds since midnight UTC.
func TimetzText(micros int64, zoneSecondsWest int32) string {
	return IntText(micros + int64(zoneSecondsWest)*1_000_000)
}

// ArrayText joins the texts of an array's elements, nil for NULL, in storage order. Bounds and
// dimensions are left out (B3 allows it).
func ArrayText(elements []*string) string {
	return "{" + joinNullable(elements, "NULL") + "}"
}

// RowText joins the texts of a composite value's columns, nil for NULL.
func RowText(columns []*string) string {
	return "(" + joinNullable(columns, "") + ")"
}

func joinNullable(parts []*string, null string) string {
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = null
		if p != nil {
			texts[i] = *p
		}
	}
	return strings.Join(texts, ",")
}

// RangeText is the text of a range in its canonical form; nil bounds are infinite.
func RangeText(empty bool, lower, upper *string, lowerInc, upperInc bool) string {
	if empty {
		return "empty"
	}
	open, closing := "(", ")"
	if lowerInc && lower != nil {
		open = "["
	}
	if upperInc && upper != nil {
		closing = "]"
	}
	return open + joinNullable([]*string{lower, upper}, "") + closing
}

// JSONText takes a jsonb value's canonical text (PostgreSQL's output: keys sorted, one blank after
// ":" and ",") and writes its numbers as NumericText does, because 1.0 and 1.00 are equal in jsonb.
// Strings stay untouched.
func JSONText(s string) string {
	if strings.IndexByte(s, '.') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		j := i + 1
		switch c := s[i]; {
		case c == '"':
			j = jsonStringEnd(s, i)
			b.WriteString(s[i:j])
		case c == '-' || ('0' <= c && c <= '9'):
			for j < len(s) && (s[j] == '.' || ('0' <= s[j] && s[j] <= '9')) {
				j++
			}
			b.WriteString(NumericText(s[i:j]))
		default:
			b.WriteByte(c)
		}
		i = j
	}
	return b.String()
}

// jsonStringEnd returns the index after the string literal that begins at i.
func jsonStringEnd(s string, i int) int {
	for j := i + 1; j < len(s); j++ {
		switch s[j] {
		case '\\':
			j++
		case '"':
			return j + 1
		}
	}
	return len(s)
}
