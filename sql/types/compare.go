package types

import (
	"math/big"
	"math/bits"
	"strings"

	"github.com/sherddb/sherd/jsonb"
)

// Compare returns the btree order of two non-null values of a type: below 0, 0 or above 0. It also
// compares values of one family with different widths (int2 and int8, float4 and float8). For types
// without an order (except json and tid), the result is 0 only if the bytes are equal.
func Compare(oid OID, a, b Datum) int { return Comparer(oid)(a, b) }

// Equal reports whether the type's = operator is true for two non-null values.
func Equal(oid OID, a, b Datum) bool { return Comparer(oid)(a, b) == 0 }

// CompareNulls is Compare with null after all values.
func CompareNulls(oid OID, a, b Datum) int {
	switch {
	case a.K == KindNull && b.K == KindNull:
		return 0
	case a.K == KindNull:
		return 1
	case b.K == KindNull:
		return -1
	}
	return Compare(oid, a, b)
}

// Comparer returns the comparison function of a type, for use in loops. Its arguments must not be
// null.
func Comparer(oid OID) func(a, b Datum) int {
	oid = BaseOf(oid)
	switch oid {
	case BPChar:
		return compareBPChar
	case OidVector:
		return compareOidVector
	}
	return kindComparer(KindOf(oid))
}

// compareOidVector orders by length first. The lower bound does not count: a vector that was cast
// from an array may begin at 1.
func compareOidVector(x, y Datum) int {
	a, err := ArrayOf(x)
	b, err2 := ArrayOf(y)
	if err != nil || err2 != nil {
		return compareArray(x, y)
	}
	if a.Len() != b.Len() {
		return compareInt(int64(a.Len()), int64(b.Len()))
	}
	for i := range a.Len() {
		if n := compareN(a.At(i), b.At(i)); n != 0 {
			return n
		}
	}
	return 0
}

func kindComparer(k Kind) func(a, b Datum) int {
	switch k {
	case KindBool, KindInt, KindOid, KindDate, KindTime, KindTimestamp, KindTid:
		return compareN
	case KindText, KindBytes, KindUUID, KindJSONPath, KindEnum:
		return compareS
	case KindFloat4, KindFloat8:
		return compareFloats
	case KindNumeric:
		return CompareNumeric
	case KindTimeTZ:
		return compareTimeTZ
	case KindInterval:
		return CompareInterval
	case KindJSONB:
		return compareJSONB
	case KindArray:
		return compareArray
	case KindRecord:
		return compareRecord
	case KindBit:
		return compareBits
	}
	return compareAny
}

func compareN(a, b Datum) int {
	if a.N < b.N {
		return -1
	}
	if a.N > b.N {
		return 1
	}
	return 0
}

func compareS(a, b Datum) int { return strings.Compare(a.S, b.S) }

func compareBPChar(a, b Datum) int { return strings.Compare(trimBlanks(a.S), trimBlanks(b.S)) }

func compareFloats(a, b Datum) int { return compareFloat(a.Float(), b.Float()) }

func compareJSONB(a, b Datum) int { return jsonb.Compare(jsonb.Doc(a.S), jsonb.Doc(b.S)) }

// compareAny compares values of types whose OIDs the package does not know, by the kinds of the
// values.
func compareAny(a, b Datum) int {
	if a.K != b.K {
		return compareInt(int64(a.K), int64(b.K))
	}
	if a.K == KindVoid || a.K == KindNull {
		return 0
	}
	return kindComparer(a.K)(a, b)
}

// compareTimeTZ orders by instant, then by zone.
func compareTimeTZ(a, b Datum) int {
	if c := compareInt(a.N+int64(a.A)*usPerSecond, b.N+int64(b.A)*usPerSecond); c != 0 {
		return c
	}
	return compareInt(int64(a.A), int64(b.A))
}

func compareBits(a, b Datum) int {
	if c := strings.Compare(a.S, b.S); c != 0 {
		return c
	}
	return compareInt(int64(a.A), int64(b.A))
}

// CompareInterval compares intervals as PostgreSQL does: months of 30 days, days of 24 hours, in
// 128 bits.
func CompareInterval(a, b Datum) int {
	ah, al := intervalSpan(&a)
	bh, bl := intervalSpan(&b)
	if ah != bh {
		return compareInt(ah, bh)
	}
	if al < bl {
		return -1
	}
	if al > bl {
		return 1
	}
	return 0
}

// intervalSpan returns the total microseconds as a 128-bit number.
func intervalSpan(d *Datum) (hi int64, lo uint64) {
	days := int64(d.A)*30 + int64(d.days())
	h, l := bits.Mul64(absU(days), uint64(usPerDay))
	if days < 0 {
		l = -l
		h = ^h
		if l == 0 {
			h++
		}
	}
	ext := uint64(d.N >> 63)
	l, carry := bits.Add64(l, uint64(d.N), 0)
	h, _ = bits.Add64(h, ext, carry)
	return int64(h), l
}

// intervalOfSpan returns an interval of days and microseconds that equals a span.
func intervalOfSpan(hi int64, lo uint64) Datum {
	v := new(big.Int).Lsh(big.NewInt(hi), 64)
	v.Add(v, new(big.Int).SetUint64(lo))
	days, us := new(big.Int).QuoRem(v, big.NewInt(usPerDay), new(big.Int))
	months := new(big.Int)
	if !days.IsInt64() || int64(int32(days.Int64())) != days.Int64() {
		months, days = new(big.Int).QuoRem(days, big.NewInt(30), new(big.Int))
	}
	return NewInterval(int32(months.Int64()), int32(days.Int64()), us.Int64())
}
