package types

import (
	"time"
)

// DateFormat is the first word of DateStyle.
type DateFormat uint8

// Formats of DateStyle.
const (
	DateISO DateFormat = iota
	DateSQL
	DatePostgres
	DateGerman
)

// DateOrder is the second word of DateStyle.
type DateOrder uint8

// Field orders of DateStyle.
const (
	OrderMDY DateOrder = iota
	OrderDMY
	OrderYMD
)

// IntervalFormat is IntervalStyle.
type IntervalFormat uint8

// Formats of IntervalStyle.
const (
	IntervalPostgres IntervalFormat = iota
	IntervalPostgresVerbose
	IntervalSQL
	IntervalISO
)

// Env has what text forms and date arithmetic depend on besides the value: the session's settings
// and the statement's time. An Env is immutable. A nil *Env and the zero Env mean UTC, ISO MDY and
// PostgreSQL's defaults.
type Env struct {
	Zone             *time.Location // nil is UTC
	ZoneName         string         // as SHOW TimeZone prints it; "" is UTC
	DateFormat       DateFormat
	DateOrder        DateOrder
	IntervalFormat   IntervalFormat
	ExtraFloatDigits int   // 0 is PostgreSQL's default, 1
	LowFloatDigits   bool  // extra_float_digits is ExtraFloatDigits ≤ 0 instead of the default
	ByteaEscape      bool  // bytea_output = escape
	Now              int64 // now(), microseconds since 2000-01-01 UTC

	// RegIn resolves the text of a reg* value that is not a number; if it is nil, names are
	// refused.
	RegIn func(oid OID, text string) (uint32, error)
	// RegOut appends the name of an object; if it is nil, OIDs are printed.
	RegOut func(dst []byte, oid OID, value uint32) []byte

	// EnumIn returns the rank of the value of an enum with a text; if it is nil, texts are refused.
	EnumIn func(oid OID, text string) (rank string, err error)
	// EnumOut appends the text of the value of an enum with a rank; if it is nil, ranks are printed.
	EnumOut func(dst []byte, oid OID, rank string) []byte
	// EnumValues returns the values of an enum in order.
	EnumValues func(oid OID) ([]EnumValue, error)
	// Attributes returns the attributes of a composite type; if it is nil, texts are refused.
	Attributes func(oid OID) ([]Attribute, error)
	padRows    bool // accept rows with too few fields
	// TypeOut returns the SQL name of a type of a user; if it is nil, types have the names of stored
	// expressions.
	TypeOut func(oid OID) string
	// FunctionOut returns the SQL name of a function of a user, with its schema if that is needed; if it is
	// nil, functions have the names of stored expressions.
	FunctionOut func(oid OID) string
	// Uncommitted has the enums that the transaction has changed, for tasks on other nodes.
	Uncommitted []Enum
	// UncommittedRows has the composite types and row types of tables that the transaction has changed, for
	// the same tasks.
	UncommittedRows []Composite
}

var defaultEnv = &Env{}

func (e *Env) orDefault() *Env {
	if e == nil {
		return defaultEnv
	}
	return e
}

func (e *Env) location() *time.Location {
	if e == nil || e.Zone == nil {
		return time.UTC
	}
	return e.Zone
}
