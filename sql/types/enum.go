package types

import (
	"encoding/hex"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
)

// Enums are types of users. Their OIDs follow from their numbers in the catalog (package catalog has
// the same constants), so KindOf, ElemOf and ArrayTypeOf know them without the catalog.
//
// A value is its rank: bytes that are ordered as the values are. There is room between any two
// ranks, so a new value never changes the ranks of others. The texts of values are in the catalog:
// EnumIn and EnumOut of Env translate.
const (
	enumTypes   OID = 3 << 28
	arrayOfEnum OID = 1 << 27
)

// IsEnum reports whether a type is an enum.
func IsEnum(oid OID) bool { return oid&^(arrayOfEnum-1) == enumTypes }

// userType returns what follows from the OID of a type of a user.
func userType(oid OID) typeInfo {
	switch {
	case IsDomain(oid):
		if base := BaseOf(oid); base < tableLimit {
			return typeTable[base]
		}
	case IsEnum(oid):
		return typeInfo{kind: KindEnum, array: oid | arrayOfEnum}
	case IsEnum(oid &^ arrayOfEnum):
		return typeInfo{kind: KindArray, elem: oid &^ arrayOfEnum}
	case IsComposite(oid):
		return typeInfo{kind: KindRecord, array: oid ^ rowTypeBits}
	case oid>>28 == rowArrays>>28:
		return typeInfo{kind: KindArray, elem: oid ^ rowTypeBits}
	}
	return typeInfo{}
}

// Composite types have OIDs of the same kind: those of CREATE TYPE, and the row types of tables. Their
// values are records whose fields are those of the type, without names (record.go).
const (
	rowTypes    OID = 1 << 28
	rowArrays   OID = 2 << 28
	rowTypeBits     = rowTypes | rowArrays
)

// IsComposite reports whether a type is a composite type, but not record.
func IsComposite(oid OID) bool { return oid>>28 == rowTypes>>28 }

// RowTypeOf returns the OID of the composite type that has a number in the catalog, or of the row type
// of the table that has it.
func RowTypeOf(number OID) OID { return rowTypes | number }

// Domains are types of users too. The OID of a domain has the built-in type that it is based on, so
// values are those of that type; what restricts them is in the catalog.
const (
	domains    OID = 1 << 31
	domainBits     = 18 // of the domain's own number
)

// IsDomain reports whether a type is a domain of a user.
func IsDomain(oid OID) bool { return oid >= domains }

// DomainOID returns the OID of the domain over a built-in type, or over a domain, that has a number.
func DomainOID(base OID, number uint32) OID {
	return domains | BaseOf(base)<<domainBits | number&(1<<domainBits-1)
}

// BaseOf returns the built-in type that a domain is based on; other types are returned unchanged.
func BaseOf(oid OID) OID {
	if !IsDomain(oid) {
		return oid
	}
	return (oid &^ domains) >> domainBits
}

// NewEnum returns the value of an enum with a rank.
func NewEnum(rank string) Datum { return Datum{K: KindEnum, S: rank} }

// Enum is the definition of an enum.
type Enum struct {
	OID    OID
	Name   string // as messages have it
	Values []EnumValue
}

// EnumValue is a value of an enum with its text.
type EnumValue struct {
	Rank, Text string
	Unsafe     bool // the transaction has added the value, and has not committed
}

// CheckEnumValue returns an error if a value may not be used yet. name is that of the type.
func CheckEnumValue(v EnumValue, name string) error {
	if !v.Unsafe {
		return nil
	}
	return pgerr.New("55P04", `unsafe use of new value "%s" of enum type %s`, v.Text, name).
		WithHint("New enum values must be committed before they can be used.")
}

func parseEnum(oid OID, text string, env *Env) (Datum, error) {
	if env.EnumIn == nil {
		return Null, pgerr.New(pgerr.InternalError, "values of enum %d cannot be read without a catalog", oid)
	}
	rank, err := env.EnumIn(oid, text)
	if err != nil {
		return Null, err
	}
	return NewEnum(rank), nil
}

func appendEnum(dst []byte, oid OID, d Datum, env *Env) []byte {
	if env.EnumOut == nil {
		return hex.AppendEncode(dst, []byte(d.S))
	}
	return env.EnumOut(dst, oid, d.S)
}

// StoredEnv reads and prints values of enums as ranks in hexadecimal, as stored expressions have
// them, so that the values can be renamed.
var StoredEnv = &Env{
	EnumIn: func(_ OID, text string) (string, error) {
		rank, err := hex.DecodeString(text)
		if err != nil || len(rank) == 0 {
			return "", InvalidRank(text)
		}
		return string(rank), nil
	},
	EnumOut: func(dst []byte, _ OID, rank string) []byte { return hex.AppendEncode(dst, []byte(rank)) },
}

// StoredRows returns StoredEnv with the attributes of composite types. Rows that were stored before
// attributes were added end with nulls.
func StoredRows(attributes func(oid OID) ([]Attribute, error)) *Env {
	e := *StoredEnv
	e.Attributes, e.padRows = attributes, true
	return &e
}

// InvalidRank returns the error for a rank that no value of the enum has.
func InvalidRank(text string) error {
	return pgerr.New(pgerr.InvalidBinaryRepresentation, "invalid internal value for enum: %s", text)
}

// firstRank is in the middle of all ranks.
const firstRank = "\x80"

// RanksOf returns the ranks of n values of a new enum, in order, with room around each.
func RanksOf(n int) []string {
	width, places := 1, 256
	for places <= 2*n {
		width, places = width+1, places*256
	}
	out := make([]string, n)
	for i := range out {
		at := (i + 1) * (places / (n + 1))
		b := make([]byte, width)
		for k := width - 1; k >= 0; k-- {
			b[k] = byte(at)
			at >>= 8
		}
		out[i] = strings.TrimRight(string(b), "\x00")
	}
	return out
}

// RankBetween returns a rank between two ranks; "" stands for no bound. A rank never ends with a zero
// byte, so there is one between any two.
func RankBetween(lo, hi string) string {
	switch {
	case lo == "" && hi == "":
		return firstRank
	case hi == "":
		return rankAfter(lo)
	}
	var b []byte
	for i := 0; ; i++ {
		x, y := byte(0), hi[i]
		if i < len(lo) {
			x = lo[i]
		}
		switch {
		case x == y:
			b = append(b, x)
		case y-x > 1:
			return string(append(b, x+(y-x)/2))
		default: // neighbours: what follows x decides
			return string(append(b, x)) + rankAfter(lo[min(i+1, len(lo)):])
		}
	}
}

// rankAfter returns a rank above lo that is no longer if possible, because most values are added at
// the end.
func rankAfter(lo string) string {
	if lo == "" {
		return firstRank
	}
	for i := range len(lo) {
		if lo[i] < 0xff {
			return lo[:i] + string([]byte{lo[i] + 1})
		}
	}
	return lo + firstRank
}
