package types

import (
	"strings"
	"unicode/utf8"

	"github.com/sherddb/sherd/internal/pgerr"
)

// PostgreSQL adds the length word to the modifiers of varchar, char and numeric
const typmodHeader = 4

// VarcharTypmod returns the modifier of varchar(n) and char(n).
func VarcharTypmod(n int32) int32 { return n + typmodHeader }

// NumericTypmod returns the modifier of numeric(p,s).
func NumericTypmod(precision, scale int32) int32 {
	return precision<<16 | scale&0x7ff + typmodHeader
}

// NumericPrecision returns the precision and scale of a numeric modifier; ok is false if there is
// none.
func NumericPrecision(typmod int32) (precision, scale int32, ok bool) {
	if typmod < typmodHeader {
		return 0, 0, false
	}
	t := typmod - typmodHeader
	return t >> 16 & 0xffff, (t&0x7ff ^ 1024) - 1024, true
}

// ApplyTypmod converts d to its type's modifier. An explicit cast truncates a value that is too
// long; an assignment refuses it, except if only blanks are cut off. Arrays apply the modifier to
// each element. A modifier of -1 and null change nothing.
func ApplyTypmod(oid OID, typmod int32, d Datum, explicit bool) (Datum, error) {
	oid = BaseOf(oid)
	if typmod < 0 || d.K == KindNull {
		return d, nil
	}
	switch oid {
	case VarChar:
		return applyVarchar(typmod-typmodHeader, d, explicit)
	case BPChar:
		return applyBPChar(typmod-typmodHeader, d, explicit)
	case Numeric:
		return applyNumeric(typmod, d)
	case Time, TimeTZ:
		d.N = roundMicros(d.N, typmod)
		return d, nil
	case Timestamp, TimestampTZ:
		return applyTimestampTypmod(typmod, d)
	case Interval:
		return applyIntervalTypmod(typmod, d)
	case Bit, VarBit:
		return applyBitTypmod(oid, typmod, d, explicit)
	}
	if IsArray(oid) {
		return applyArrayTypmod(ElemOf(oid), typmod, d, explicit)
	}
	return d, nil
}

func applyArrayTypmod(elem OID, typmod int32, d Datum, explicit bool) (Datum, error) {
	a, err := ArrayOf(d)
	if err != nil || a.NDim == 0 {
		return d, err
	}
	vals := a.Elems()
	for i := range vals {
		if vals[i], err = ApplyTypmod(elem, typmod, vals[i], explicit); err != nil {
			return Null, err
		}
	}
	return NewArray(elem, a.Dims(), a.Lowers(), vals), nil
}

func applyVarchar(n int32, d Datum, explicit bool) (Datum, error) {
	cut, fits := runeCut(d.S, int(n))
	if fits {
		return d, nil
	}
	if !explicit && trimBlanks(d.S[cut:]) != "" {
		return Null, pgerr.New(pgerr.StringDataRightTruncation, "value too long for type character varying(%d)", n)
	}
	d.S = d.S[:cut]
	return d, nil
}

func applyBPChar(n int32, d Datum, explicit bool) (Datum, error) {
	cut, fits := runeCut(d.S, int(n))
	if !fits {
		if !explicit && trimBlanks(d.S[cut:]) != "" {
			return Null, pgerr.New(pgerr.StringDataRightTruncation, "value too long for type character(%d)", n)
		}
		d.S = d.S[:cut]
		return d, nil
	}
	if pad := int(n) - utf8.RuneCountInString(d.S); pad > 0 {
		d.S += strings.Repeat(" ", pad)
	}
	return d, nil
}

func applyNumeric(typmod int32, d Datum) (Datum, error) {
	precision, scale, ok := NumericPrecision(typmod)
	if !ok || d.IsNaN() {
		return d, nil
	}
	if NumericInfSign(d) != 0 {
		return Null, pgerr.New(pgerr.NumericValueOutOfRange, "numeric field overflow").
			WithDetail("A field with precision %d, scale %d cannot hold an infinite value.", precision, scale)
	}
	r, err := NumericRound(d, scale)
	if err != nil {
		return Null, err
	}
	if numericFits(&r, precision-scale) {
		return r, nil
	}
	limit := "1"
	if precision != scale {
		limit = "10^" + string(AppendInt(nil, int64(precision-scale)))
	}
	return Null, pgerr.New(pgerr.NumericValueOutOfRange, "numeric field overflow").
		WithDetail("A field with precision %d, scale %d must round to an absolute value less than %s.", precision,
			scale, limit)
}

// numericFits reports whether |d| < 10^digits.
func numericFits(d *Datum, digits int32) bool {
	if NumericSign(*d) == 0 {
		return true
	}
	weight, first := firstGroup(d)
	exp := int32(4*weight + digits64(uint64(first))) // decimal digits before the point
	return exp <= digits
}
