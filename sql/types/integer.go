package types

import (
	"math"
	"strconv"

	"github.com/sherddb/sherd/internal/pgerr"
)

func appendUint(dst []byte, n uint64) []byte { return strconv.AppendUint(dst, n, 10) }

func intTypeName(oid OID) string {
	switch oid {
	case Int2:
		return "smallint"
	case Int4:
		return "integer"
	}
	return "bigint"
}

func intRange(oid OID) (lo, hi int64) {
	switch oid {
	case Int2:
		return math.MinInt16, math.MaxInt16
	case Int4:
		return math.MinInt32, math.MaxInt32
	}
	return math.MinInt64, math.MaxInt64
}

func parseIntDatum(oid OID, s string) (Datum, error) {
	n, err := ParseInt(oid, s)
	if err != nil {
		return Null, err
	}
	return NewInt(n), nil
}

// ParseInt parses an int2, int4 or int8: decimal digits with a sign, blanks around.
func ParseInt(oid OID, s string) (int64, error) {
	t := trimSpace(s)
	neg := false
	if t != "" && (t[0] == '-' || t[0] == '+') {
		neg = t[0] == '-'
		t = t[1:]
	}
	if t == "" {
		return 0, badSyntax(intTypeName(oid), s)
	}
	var n int64 // negative, because the negative range is larger by one
	over := false
	for i := 0; i < len(t); i++ {
		c := t[i]
		if !isDigit(c) {
			if over {
				break // PostgreSQL reports the overflow before it reads the rest
			}
			return 0, badSyntax(intTypeName(oid), s)
		}
		v := int64(c - '0')
		if over || n < math.MinInt64/10 || n*10 < math.MinInt64+v {
			over = true
			continue
		}
		n = n*10 - v
	}
	lo, hi := intRange(oid)
	if !over && !neg {
		over = n < -hi
		n = -n
	}
	if over || n < lo || n > hi {
		return 0, outOfRange(s, intTypeName(oid))
	}
	return n, nil
}

// CheckInt returns 22003 if n does not fit the integer type.
func CheckInt(oid OID, n int64) error {
	if lo, hi := intRange(oid); n < lo || n > hi {
		return IntRangeError(oid)
	}
	return nil
}

// IntRangeError returns PostgreSQL's error for an overflow of integer arithmetic.
func IntRangeError(oid OID) error {
	return pgerr.New(pgerr.NumericValueOutOfRange, "%s out of range", intTypeName(oid))
}

func appendIntOutput(dst []byte, oid OID, n int64) []byte {
	switch oid {
	case CharInternal:
		return appendChar(dst, byte(n))
	case Xid8:
		return appendUint(dst, uint64(n))
	case Money:
		return appendMoney(dst, n)
	}
	return AppendInt(dst, n)
}

const digitPairs = "" +
	"0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849" +
	"5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899"

// AppendInt appends a decimal integer.
func AppendInt(dst []byte, n int64) []byte {
	if n >= 0 && n < 100 {
		if n >= 10 {
			return append(dst, digitPairs[2*n], digitPairs[2*n+1])
		}
		return append(dst, byte('0'+n))
	}
	return strconv.AppendInt(dst, n, 10)
}

// parseChar returns the first byte, or that of \ooo in octal.
func parseChar(s string) Datum {
	octal := func(c byte) bool { return '0' <= c && c <= '7' }
	if len(s) == 4 && s[0] == '\\' && octal(s[1]) && octal(s[2]) && octal(s[3]) {
		return NewInt(int64((s[1]-'0')<<6 | (s[2]-'0')<<3 | (s[3] - '0')))
	}
	if s == "" {
		return NewInt(0)
	}
	return NewInt(int64(s[0]))
}

func appendChar(dst []byte, c byte) []byte {
	switch {
	case c == 0:
		return dst
	case c >= 0x80:
		return append(dst, '\\', '0'+c>>6, '0'+c>>3&7, '0'+c&7)
	}
	return append(dst, c)
}

func parseOidDatum(oid OID, s string) (Datum, error) {
	n, err := parseOid(oid, s)
	if err != nil {
		return Null, err
	}
	return NewOid(n), nil
}

// parseOid parses an unsigned number like C's strtoul, which also accepts negative 32-bit numbers.
func parseOid(oid OID, s string) (uint32, error) {
	name := TypeName(oid)
	if KindOf(oid) == KindOid && oid != Xid && oid != Cid {
		name = "oid"
	}
	t := trimSpace(s)
	neg := false
	u := t
	if u != "" && (u[0] == '-' || u[0] == '+') {
		neg = u[0] == '-'
		u = u[1:]
	}
	base := 10
	if oid == Xid || oid == Cid {
		if len(u) > 2 && u[0] == '0' && u[1]|0x20 == 'x' {
			base, u = 16, u[2:]
		} else if len(u) > 1 && u[0] == '0' {
			base = 8
		}
	}
	n, err := strconv.ParseUint(u, base, 64)
	if err != nil {
		if ne, ok := err.(*strconv.NumError); ok && ne.Err == strconv.ErrRange {
			return 0, outOfRange(s, name)
		}
		return 0, badSyntax(name, s)
	}
	if neg {
		n = -n
	}
	if oid == Xid || oid == Cid {
		return uint32(n), nil
	}
	if n != uint64(uint32(n)) && int64(n) != int64(int32(n)) {
		return 0, outOfRange(s, name)
	}
	return uint32(n), nil
}

func parseXid8(s string) (Datum, error) {
	n, err := strconv.ParseUint(trimSpace(s), 0, 64)
	if err != nil {
		return Null, badSyntax("xid8", s)
	}
	return NewInt(int64(n)), nil
}

// parseReg parses numbers and "-", and asks the environment for names.
func parseReg(oid OID, s string, env *Env) (Datum, error) {
	if s == "-" {
		return NewOid(0), nil
	}
	if s != "" && isDigit(s[0]) && allDigits(s) {
		return parseOidDatum(Oid, s)
	}
	if env.RegIn == nil {
		return Null, pgerr.Unsupported("names of type %s cannot be resolved here", TypeName(oid)).
			WithHint("Use the number of the object.")
	}
	n, err := env.RegIn(oid, s)
	if err != nil {
		return Null, err
	}
	return NewOid(n), nil
}

func allDigits(s string) bool {
	for i := 0; i < len(s); i++ {
		if !isDigit(s[i]) {
			return false
		}
	}
	return s != ""
}

func appendOidOutput(dst []byte, oid OID, n uint32, env *Env) []byte {
	if oid == Oid || oid == Xid || oid == Cid || oid == 0 {
		return appendUint(dst, uint64(n))
	}
	if env != nil && env.RegOut != nil {
		return env.RegOut(dst, oid, n)
	}
	if n == 0 {
		return append(dst, '-')
	}
	return appendUint(dst, uint64(n))
}

// parseTid parses (block,offset).
func parseTid(s string) (Datum, error) {
	bad := badSyntax("tid", s)
	t := trimSpace(s)
	if len(t) < 5 || t[0] != '(' || t[len(t)-1] != ')' {
		return Null, bad
	}
	t = t[1 : len(t)-1]
	for i := 0; i < len(t); i++ {
		if t[i] != ',' {
			continue
		}
		block, err1 := strconv.ParseUint(trimSpace(t[:i]), 10, 32)
		off, err2 := strconv.ParseUint(trimSpace(t[i+1:]), 10, 16)
		if err1 != nil || err2 != nil {
			return Null, bad
		}
		return Datum{K: KindTid, N: int64(block<<16 | off)}, nil
	}
	return Null, bad
}

func appendTid(dst []byte, n int64) []byte {
	dst = appendUint(append(dst, '('), uint64(n)>>16)
	return append(appendUint(append(dst, ','), uint64(n)&0xffff), ')')
}
