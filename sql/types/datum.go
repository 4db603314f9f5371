package types

import (
	"math"
	"strings"
)

// Kind is the representation of a Datum's value. Several SQL types share a kind: text, varchar and
// name are KindText.
type Kind uint8

// Kinds, and the fields with the value.
const (
	KindNull    Kind = iota
	KindBool         // N: 0 or 1
	KindInt          // N: int2, int4, int8, "char" (one byte)
	KindOid          // N: oid, xid, cid and the reg* types
	KindFloat4       // N: float32 widened to float64 bits
	KindFloat8       // N: math.Float64bits
	KindNumeric      // A: scale, N: coefficient where it fits int64; else S (see numeric.go)
	KindText         // S: text, varchar, bpchar, name, unknown, cstring, json, xml, refcursor
	KindBytes        // S: bytea
	KindUUID         // S: 16 bytes
	// N: days since 2000-01-01; ±infinity as PostgreSQL (math.MaxInt32, math.MinInt32)
	KindDate
	KindTime   // N: microseconds since midnight
	KindTimeTZ // N: microseconds, A: zone in seconds west of UTC
	// N: microseconds since 2000-01-01 (timestamp, timestamptz in UTC); ±infinity MaxInt64,
	// MinInt64
	KindTimestamp
	KindInterval // N: microseconds, A: months, S: 4 bytes big-endian days ("" is 0)
	KindJSONB    // S: package jsonb's binary form
	KindJSONPath // S: text form of the path, normalised
	KindArray    // S: see array.go
	KindRecord   // S: see record.go
	KindBit      // A: bits, S: bytes (bit, varbit)
	KindTid      // N: block<<16 | offset
	KindVoid     // no value
	KindEnum     // S: rank, see enum.go
)

// lastKind is the kind with the greatest number.
const lastKind = KindEnum

// Datum is one SQL value in 32 bytes, without its type, which the plan knows. The zero Datum is
// null.
type Datum struct {
	K Kind
	A int32
	N int64
	S string
}

// Null is the null value of every type.
var Null = Datum{}

// IsNull reports whether d is null.
func (d Datum) IsNull() bool { return d.K == KindNull }

// NewBool returns a boolean.
func NewBool(b bool) Datum {
	if b {
		return Datum{K: KindBool, N: 1}
	}
	return Datum{K: KindBool}
}

// NewInt returns an int2, int4 or int8.
func NewInt(n int64) Datum { return Datum{K: KindInt, N: n} }

// NewOid returns an oid or a reg* value.
func NewOid(o uint32) Datum { return Datum{K: KindOid, N: int64(o)} }

// NewFloat8 returns a double precision value.
func NewFloat8(f float64) Datum { return Datum{K: KindFloat8, N: int64(math.Float64bits(f))} }

// NewFloat4 returns a real value.
func NewFloat4(f float32) Datum {
	return Datum{K: KindFloat4, N: int64(math.Float64bits(float64(f)))}
}

// NewText returns a value of any type of KindText.
func NewText(s string) Datum { return Datum{K: KindText, S: s} }

// NewBytes returns a bytea.
func NewBytes(s string) Datum { return Datum{K: KindBytes, S: s} }

// NewJSONB returns a Datum of a document in package jsonb's binary form.
func NewJSONB(s string) Datum { return Datum{K: KindJSONB, S: s} }

// Bool returns the boolean; false for null.
func (d Datum) Bool() bool { return d.N != 0 && d.K == KindBool }

// Int returns the integer of KindInt.
func (d Datum) Int() int64 { return d.N }

// Oid returns the value of KindOid.
func (d Datum) Oid() uint32 { return uint32(d.N) }

// Float returns the value of KindFloat4 and KindFloat8.
func (d Datum) Float() float64 { return math.Float64frombits(uint64(d.N)) }

// Str returns the text or bytes.
func (d Datum) Str() string { return d.S }

// Clone returns a Datum that does not alias storage.
func (d Datum) Clone() Datum {
	if d.S != "" {
		d.S = strings.Clone(d.S)
	}
	return d
}
