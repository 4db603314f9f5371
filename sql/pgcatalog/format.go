package pgcatalog

import (
	"strconv"
	"strings"
)

// FormatType returns a type's name as format_type(oid, typmod) does; typmod -1 means none
// (format_type(oid, NULL), format_type_be). For types that are not built in it returns "???".
func FormatType(oid uint32, typmod int32) string {
	if oid == 0 {
		return "-"
	}
	if elem := ElementOf(oid); elem != 0 {
		if t := TypeByOID(oid); t.Storage != 'p' { // int2vector and oidvector have their own names
			return FormatType(elem, typmod) + "[]"
		}
	}
	t := TypeByOID(oid)
	if t == nil {
		return "???"
	}
	if name, ok := standardName(oid, typmod); ok {
		return name
	}
	name := quoteIdent(t.Name)
	if t.Namespace != "pg_catalog" {
		name = quoteIdent(t.Namespace) + "." + name
	}
	if typmod >= 0 {
		name += "(" + strconv.Itoa(int(typmod)) + ")"
	}
	return name
}

// standardName returns the names that the SQL standard defines.
func standardName(oid uint32, typmod int32) (string, bool) {
	switch oid {
	case 16:
		return "boolean", true
	case 18:
		return `"char"`, true
	case 20:
		return "bigint", true
	case 21:
		return "smallint", true
	case 23:
		return "integer", true
	case 700:
		return "real", true
	case 701:
		return "double precision", true
	case 2276:
		return `"any"`, true
	case 1042:
		if typmod < 0 {
			return "character", true
		}
		return "character" + lengthMod(typmod-4), true
	case 1043:
		if typmod < 0 {
			return "character varying", true
		}
		return "character varying" + lengthMod(typmod-4), true
	case 1560:
		if typmod < 0 {
			return "bit", true
		}
		return "bit" + lengthMod(typmod), true
	case 1562:
		if typmod < 0 {
			return "bit varying", true
		}
		return "bit varying" + lengthMod(typmod), true
	case 1700:
		return "numeric" + numericMod(typmod), true
	case 1083:
		return "time" + secondsMod(typmod) + " without time zone", true
	case 1266:
		return "time" + secondsMod(typmod) + " with time zone", true
	case 1114:
		return "timestamp" + secondsMod(typmod) + " without time zone", true
	case 1184:
		return "timestamp" + secondsMod(typmod) + " with time zone", true
	case 1186:
		return "interval" + intervalMod(typmod), true
	}
	return "", false
}

func lengthMod(n int32) string { return "(" + strconv.Itoa(int(n)) + ")" }

func numericMod(typmod int32) string {
	if typmod < 4 {
		return ""
	}
	m := typmod - 4
	scale := (m&0x7ff ^ 1024) - 1024
	return "(" + strconv.Itoa(int(m>>16&0xffff)) + "," + strconv.Itoa(int(scale)) + ")"
}

func secondsMod(typmod int32) string {
	if typmod < 0 {
		return ""
	}
	return lengthMod(typmod)
}

// intervalFields has the names of field ranges in an interval's type modifier.
var intervalFields = map[int32]string{
	1 << 2: " year", 1 << 1: " month", 1 << 3: " day", 1 << 10: " hour", 1 << 11: " minute", 1 << 12: " second",
	1<<2 | 1<<1: " year to month", 1<<3 | 1<<10: " day to hour", 1<<3 | 1<<10 | 1<<11: " day to minute",
	1<<3 | 1<<10 | 1<<11 | 1<<12: " day to second", 1<<10 | 1<<11: " hour to minute",
	1<<10 | 1<<11 | 1<<12: " hour to second", 1<<11 | 1<<12: " minute to second", 0x7fff: "",
}

func intervalMod(typmod int32) string {
	if typmod < 0 {
		return ""
	}
	fields := intervalFields[typmod>>16&0x7fff]
	if precision := typmod & 0xffff; precision != 0xffff {
		return fields + lengthMod(precision)
	}
	return fields
}

// quoteIdent quotes a name if necessary; among the names of built-in objects, only "char" and "any"
// are keywords.
func quoteIdent(s string) string {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '_' || c >= 'a' && c <= 'z' || i > 0 && (c >= '0' && c <= '9' || c == '$') {
			continue
		}
		return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
	}
	return s
}
