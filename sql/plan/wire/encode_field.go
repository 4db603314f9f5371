package wire

import (
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// The functions here write fields for the generated code: number, tag and value, nothing for a zero
// value. Those whose names begin with encode write a value without its tag, or return its number.

// number writes a field that is a number.
func number[T comparable](e *encoder, n protowire.Number, v T, of func(*encoder, T) uint64) {
	if zero := *new(T); v != zero {
		e.varint(of(e, v))
		e.varint(protowire.EncodeTag(n, protowire.VarintType))
	}
}

// packed writes a list of numbers.
func packed[T any](e *encoder, n protowire.Number, list []T, of func(*encoder, T) uint64) {
	if len(list) == 0 {
		return
	}
	back := e.written()
	for _, v := range slices.Backward(list) {
		e.varint(of(e, v))
	}
	e.length(n, back)
}

// message writes a field that has a length, even if it is empty.
func message[T any](e *encoder, n protowire.Number, v T, put func(*encoder, T)) {
	back := e.written()
	put(e, v)
	e.length(n, back)
}

// optional writes a text, a value, or what is not nil.
func optional[T comparable](e *encoder, n protowire.Number, v T, put func(*encoder, T)) {
	if zero := *new(T); v != zero {
		message(e, n, v, put)
	}
}

// nonzero writes a struct unless all its fields are zero.
func nonzero[T any](e *encoder, n protowire.Number, v *T, put func(*encoder, *T)) {
	back := e.written()
	if put(e, v); e.written() > back {
		e.length(n, back)
	}
}

// bytes writes bytes.
func bytes(e *encoder, n protowire.Number, v []byte) {
	if len(v) > 0 {
		message(e, n, v, encodeBytes)
	}
}

// list writes a list, in which nil is an empty message.
func list[T any](e *encoder, n protowire.Number, list []T, put func(*encoder, T)) {
	for _, v := range slices.Backward(list) {
		message(e, n, v, put)
	}
}

// elements writes a list in which nothing may be nil.
func elements[T comparable](e *encoder, n protowire.Number, list []T, put func(*encoder, T), name string) {
	for _, v := range slices.Backward(list) {
		if zero := *new(T); v == zero {
			e.fail(fmt.Errorf("plan: one of %s is missing", name))
			return
		}
		message(e, n, v, put)
	}
}

// structs writes a list of structs.
func structs[T any](e *encoder, n protowire.Number, list []T, put func(*encoder, *T)) {
	for i := len(list) - 1; i >= 0; i-- {
		message(e, n, &list[i], put)
	}
}

func encodeBool(_ *encoder, v bool) uint64 {
	if v {
		return 1
	}
	return 0
}

func encodeSigned[T ~int | ~int32 | ~int64](_ *encoder, v T) uint64 {
	return protowire.EncodeZigZag(int64(v))
}

func encodeUnsigned[T ~uint8 | ~uint16 | ~uint32 | ~uint64](_ *encoder, v T) uint64 { return uint64(v) }

func encodeTableRef(e *encoder, t *catalog.Table) uint64 { return position(&e.tables, t) }

func encodeIndexRef(e *encoder, x *catalog.Index) uint64 { return position(&e.indexes, x) }

func encodeProc(e *encoder, p *query.Proc) uint64 {
	if p == nil {
		e.fail(errors.New("plan: a function is missing"))
		return 0
	}
	return uint64(p.OID)
}

func encodeText(e *encoder, s string) {
	e.room(len(s))
	copy(e.buf[e.at:], s)
}

func encodeBytes(e *encoder, b []byte) {
	e.room(len(b))
	copy(e.buf[e.at:], b)
}

func encodeDatum(e *encoder, d types.Datum) { encodeBytes(e, types.AppendDatum(nil, d)) }
