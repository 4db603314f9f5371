package types

import (
	"math/bits"
	"strconv"

	"github.com/sherddb/sherd/internal/pgerr"
)

const maxCharLength = 10485760

// TypmodIn returns the type modifier for the numbers written after a type's name: varchar(10),
// numeric(5,2), timestamp(3), bit(4). Use IntervalTypmodIn for interval.
func TypmodIn(oid OID, args []int32) (int32, error) {
	if elem := ElemOf(oid); elem != 0 && IsArray(oid) {
		oid = elem
	}
	switch oid {
	case VarChar, BPChar:
		return charTypmod(oid, args)
	case Numeric:
		return numericTypmodIn(args)
	case Time, TimeTZ, Timestamp, TimestampTZ:
		return precisionTypmod(oid, args)
	case Bit, VarBit:
		return bitTypmod(oid, args)
	}
	return -1, pgerr.New(pgerr.SyntaxError, "type modifier is not allowed for type \"%s\"", TypeName(oid))
}

func charTypmod(oid OID, args []int32) (int32, error) {
	name := "varchar"
	if oid == BPChar {
		name = "char"
	}
	switch {
	case len(args) != 1:
		return -1, invalidTypmod()
	case args[0] < 1:
		return -1, pgerr.New(pgerr.InvalidParameterValue, "length for type %s must be at least 1", name)
	case args[0] > maxCharLength:
		return -1, pgerr.New(pgerr.InvalidParameterValue, "length for type %s cannot exceed %d", name, maxCharLength)
	}
	return VarcharTypmod(args[0]), nil
}

func invalidTypmod() error { return pgerr.New(pgerr.InvalidParameterValue, "invalid type modifier") }

func numericTypmodIn(args []int32) (int32, error) {
	if len(args) < 1 || len(args) > 2 {
		return -1, pgerr.New(pgerr.InvalidParameterValue, "invalid NUMERIC type modifier")
	}
	if args[0] < 1 || args[0] > maxDeclaredScale {
		return -1, pgerr.New(pgerr.InvalidParameterValue, "NUMERIC precision %d must be between 1 and %d", args[0],
			maxDeclaredScale)
	}
	scale := int32(0)
	if len(args) == 2 {
		scale = args[1]
	}
	if scale < -maxDeclaredScale || scale > maxDeclaredScale {
		return -1, pgerr.New(pgerr.InvalidParameterValue, "NUMERIC scale %d must be between %d and %d", scale,
			-maxDeclaredScale, maxDeclaredScale)
	}
	return NumericTypmod(args[0], scale), nil
}

// precisionTypmod returns the modifier for a precision of seconds; above 6 it is reduced to 6
// (PostgreSQL also warns).
func precisionTypmod(oid OID, args []int32) (int32, error) {
	if len(args) != 1 {
		return -1, invalidTypmod()
	}
	if args[0] < 0 {
		name, zone := "TIMESTAMP", ""
		if oid == Time || oid == TimeTZ {
			name = "TIME"
		}
		if oid == TimeTZ || oid == TimestampTZ {
			zone = " WITH TIME ZONE"
		}
		return -1, pgerr.New(pgerr.InvalidParameterValue, "%s(%d)%s precision must not be negative", name, args[0],
			zone)
	}
	return min(args[0], 6), nil
}

func bitTypmod(oid OID, args []int32) (int32, error) {
	name := "bit"
	if oid == VarBit {
		name = "varbit"
	}
	const most = 10485760 * 8
	switch {
	case len(args) != 1:
		return -1, invalidTypmod()
	case args[0] < 1:
		return -1, pgerr.New(pgerr.InvalidParameterValue, "length for type %s must be at least 1", name)
	case args[0] > most:
		return -1, pgerr.New(pgerr.InvalidParameterValue, "length for type %s cannot exceed %d", name, most)
	}
	return args[0], nil
}

// IntervalTypmodIn returns the modifier for the grammar's numbers: the mask of fields and, if
// present, the precision.
func IntervalTypmodIn(args []int32) (int32, error) {
	if len(args) < 1 || len(args) > 2 {
		return -1, pgerr.New(pgerr.InvalidParameterValue, "invalid INTERVAL type modifier")
	}
	if len(args) == 1 {
		if args[0] == ivFullRange {
			return -1, nil
		}
		return IntervalTypmod(args[0], ivFullPrecision), nil
	}
	if args[1] < 0 {
		return -1, pgerr.New(pgerr.InvalidParameterValue, "INTERVAL(%d) precision must not be negative", args[1])
	}
	return IntervalTypmod(args[0], min(args[1], 6)), nil
}

// TypmodOut returns the text after the type's name: "(10)", "(5,2)", " year to month"; "" for none.
func TypmodOut(oid OID, typmod int32) string {
	if elem := ElemOf(oid); elem != 0 && IsArray(oid) {
		oid = elem
	}
	if typmod < 0 {
		return ""
	}
	one := func(n int32) string { return "(" + strconv.Itoa(int(n)) + ")" }
	switch oid {
	case VarChar, BPChar:
		if typmod > typmodHeader {
			return one(typmod - typmodHeader)
		}
	case Numeric:
		if p, s, ok := NumericPrecision(typmod); ok {
			return "(" + strconv.Itoa(int(p)) + "," + strconv.Itoa(int(s)) + ")"
		}
	case Time, TimeTZ, Timestamp, TimestampTZ, Bit, VarBit:
		return one(typmod)
	case Interval:
		return intervalTypmodOut(typmod)
	}
	return ""
}

// FormatType returns the SQL name of a built-in type with its modifier in place: timestamp(3)
// without time zone.
func FormatType(oid OID, typmod int32) string {
	suffix := ""
	if IsArray(oid) {
		oid, suffix = ElemOf(oid), "[]"
	}
	mod := TypmodOut(oid, typmod)
	switch {
	case mod == "":
		if oid == BPChar {
			return "bpchar" + suffix
		}
	case oid == Time:
		return "time" + mod + " without time zone" + suffix
	case oid == TimeTZ:
		return "time" + mod + " with time zone" + suffix
	case oid == Timestamp:
		return "timestamp" + mod + " without time zone" + suffix
	case oid == TimestampTZ:
		return "timestamp" + mod + " with time zone" + suffix
	}
	return TypeName(oid) + mod + suffix
}

// intervalTypmodOut returns the span of fields from the greatest to the smallest.
func intervalTypmodOut(typmod int32) string {
	fields, precision := typmod>>16&0x7fff, typmod&0xffff
	s := ""
	if fields != ivFullRange {
		order := []struct {
			bit  int32
			name string
		}{{ivYear, "year"}, {ivMonth, "month"}, {ivDay, "day"}, {ivHour, "hour"}, {ivMinute, "minute"},
			{ivSecond, "second"}}
		last := ""
		for _, o := range order {
			if fields&o.bit != 0 {
				if s == "" {
					s = " " + o.name
				}
				last = o.name
			}
		}
		if bits.OnesCount32(uint32(fields)) > 1 {
			s += " to " + last
		}
	}
	if precision != ivFullPrecision {
		s += "(" + strconv.Itoa(int(precision)) + ")"
	}
	return s
}
