// Package codec appends and reads the fields of log entries, of operations and of the records that
// a replica keeps under its own keys. A number is an unsigned varint unless a type below says
// otherwise. Bytes and lists stand behind their length. Nothing here knows a format: a format is
// the order in which its owner calls these functions.
package codec

import (
	"encoding/binary"
	"errors"

	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/txn"
)

// ErrMalformed is the error of a Reader whose bytes are not what its caller asks for.
var ErrMalformed = errors.New("malformed encoding")

// AppendTimestamp appends a timestamp in eight bytes, so that encoded timestamps have the order of
// the timestamps.
func AppendTimestamp(b []byte, t txn.Timestamp) []byte {
	return binary.BigEndian.AppendUint64(b, uint64(t))
}

// AppendBytes appends x behind its length.
func AppendBytes(b, x []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(x))), x...)
}

// UvarintLen returns the number of bytes of an unsigned varint.
func UvarintLen(n int) int {
	k := 1
	for ; n >= 0x80; n >>= 7 {
		k++
	}
	return k
}

// AppendFragments appends a list of fragments.
func AppendFragments(b []byte, fs []txn.FragmentID) []byte {
	b = binary.AppendUvarint(b, uint64(len(fs)))
	for _, f := range fs {
		b = binary.AppendUvarint(b, uint64(f))
	}
	return b
}

// Bool is the byte of a truth value.
func Bool(x bool) byte {
	if x {
		return 1
	}
	return 0
}

// Reader takes fields off the front of B. After an error it returns zero values, so that a caller
// looks at Err once, at the end. Slices that it returns share the memory of B.
type Reader struct {
	B   []byte // what has not been read yet
	Err error
}

// End returns the error of the reader, or ErrMalformed if something is left.
func (r *Reader) End() error {
	if r.Err == nil && len(r.B) != 0 {
		return ErrMalformed
	}
	return r.Err
}

func (r *Reader) take(n int) []byte {
	if r.Err != nil || n < 0 || n > len(r.B) {
		r.fail()
		return nil
	}
	x := r.B[:n:n]
	r.B = r.B[n:]
	return x
}

func (r *Reader) fail() {
	if r.Err == nil {
		r.Err = ErrMalformed
	}
}

// Byte reads one byte.
func (r *Reader) Byte() byte {
	if x := r.take(1); x != nil {
		return x[0]
	}
	return 0
}

// Timestamp reads what AppendTimestamp has appended.
func (r *Reader) Timestamp() txn.Timestamp {
	if x := r.take(8); x != nil {
		return txn.Timestamp(binary.BigEndian.Uint64(x))
	}
	return 0
}

// ID reads the 16 bytes of a transaction's id.
func (r *Reader) ID() (id txn.ID) {
	copy(id[:], r.take(len(id)))
	return id
}

// Uvarint reads a number.
func (r *Reader) Uvarint() uint64 {
	x, n := binary.Uvarint(r.B)
	if r.Err != nil || n <= 0 {
		r.fail()
		return 0
	}
	r.B = r.B[n:]
	return x
}

// Varint reads a signed number, as binary.AppendVarint appends it.
func (r *Reader) Varint() int64 {
	x, n := binary.Varint(r.B)
	if r.Err != nil || n <= 0 {
		r.fail()
		return 0
	}
	r.B = r.B[n:]
	return x
}

// Int reads a number that counts, or names, something of this process's size.
func (r *Reader) Int() int {
	x := r.Uvarint()
	if x > 1<<32 {
		r.Err = ErrMalformed
		return 0
	}
	return int(x)
}

// Uint32 reads a number below 2³².
func (r *Reader) Uint32() uint32 {
	x := r.Uvarint()
	if x > 1<<32-1 {
		r.Err = ErrMalformed
		return 0
	}
	return uint32(x)
}

// Bucket reads a bucket, or the end of a range of buckets.
func (r *Reader) Bucket() uint32 {
	x := r.Uvarint()
	if x > shardmap.BucketLimit {
		r.Err = ErrMalformed
		return 0
	}
	return uint32(x)
}

// Bytes reads what AppendBytes has appended.
func (r *Reader) Bytes() []byte { return r.take(r.Int()) }

// Rest reads all that is left.
func (r *Reader) Rest() []byte { return r.take(len(r.B)) }

// Fragments reads what AppendFragments has appended.
func (r *Reader) Fragments() (fs []txn.FragmentID) {
	n := r.Int()
	for i := 0; i < n && r.Err == nil; i++ {
		fs = append(fs, txn.FragmentID(r.Int()))
	}
	return fs
}
