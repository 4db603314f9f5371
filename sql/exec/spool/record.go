package spool

import (
	"encoding/binary"
	"unsafe"

	"github.com/sherddb/sherd/sql/types"
)

// Record decodes a record that this process has encoded. What it returns is part of the record.
type Record struct{ B []byte }

// Byte reads a byte.
func (r *Record) Byte() byte {
	x := r.B[0]
	r.B = r.B[1:]
	return x
}

// Varint reads a signed number.
func (r *Record) Varint() int64 {
	x, n := binary.Varint(r.B)
	r.B = r.B[n:]
	return x
}

// Uvarint reads an unsigned number.
func (r *Record) Uvarint() uint64 {
	x, n := binary.Uvarint(r.B)
	r.B = r.B[n:]
	return x
}

// Bytes reads bytes behind their length.
func (r *Record) Bytes() []byte {
	n := int(r.Uvarint())
	x := r.B[:n:n]
	r.B = r.B[n:]
	return x
}

// Text reads a text behind its length.
func (r *Record) Text() string {
	b := r.Bytes()
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// Row reads the values of AppendRow into row.
func (r *Record) Row(row types.Row) {
	for i := range row {
		k := types.Kind(r.Byte())
		a, n := r.Varint(), r.Varint()
		row[i] = types.Datum{K: k, A: int32(a), N: n, S: r.Text()}
	}
}
