package wire

import (
	"encoding/binary"
	"unsafe"

	"github.com/sherddb/sherd/internal/pgerr"
)

func errDamaged(what string) error {
	return pgerr.New(pgerr.ProtocolViolation, "a message of another node cannot be read: %s", what)
}

func appendUint(dst []byte, n uint64) []byte { return binary.AppendUvarint(dst, n) }

func appendInt(dst []byte, n int64) []byte { return binary.AppendVarint(dst, n) }

func appendText(dst []byte, s string) []byte { return append(appendUint(dst, uint64(len(s))), s...) }

// appendBlob distinguishes nil from empty.
func appendBlob(dst, b []byte) []byte {
	if b == nil {
		return append(dst, 0)
	}
	return append(appendUint(dst, uint64(len(b))+1), b...)
}

func appendBool(dst []byte, b bool) []byte {
	if b {
		return append(dst, 1)
	}
	return append(dst, 0)
}

// reader decodes a message. It keeps the first error; all later reads return zero values.
type reader struct {
	s    string
	what string // the message that is read, for the error
	bad  bool
}

func newReader(b []byte, what string) *reader { return &reader{s: alias(b), what: what} }

func alias(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func aliasBytes(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

func (r *reader) fail() {
	r.bad, r.s = true, ""
}

// end returns the error of the reads. It is an error if data is left.
func (r *reader) end() error {
	if r.bad || r.s != "" {
		return errDamaged(r.what)
	}
	return nil
}

func (r *reader) byte() byte {
	if r.s == "" {
		r.fail()
		return 0
	}
	b := r.s[0]
	r.s = r.s[1:]
	return b
}

func (r *reader) bool() bool {
	b := r.byte()
	if b > 1 {
		r.fail()
	}
	return b == 1
}

// uint reads a uvarint.
func (r *reader) uint() uint64 {
	var n uint64
	for i := 0; i < len(r.s) && i < binary.MaxVarintLen64; i++ {
		b := r.s[i]
		if i == binary.MaxVarintLen64-1 && b > 1 {
			break
		}
		n |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			r.s = r.s[i+1:]
			return n
		}
	}
	r.fail()
	return 0
}

func (r *reader) int() int64 {
	u := r.uint()
	n := int64(u >> 1)
	if u&1 != 0 {
		n = ^n
	}
	return n
}

// upTo reads a uvarint that must not be above limit.
func (r *reader) upTo(limit uint64) uint64 {
	n := r.uint()
	if n > limit {
		r.fail()
		return 0
	}
	return n
}

// count reads a number of items that have at least one byte each.
func (r *reader) count() int { return int(r.upTo(uint64(len(r.s)))) }

// take returns the next n bytes.
func (r *reader) take(n int) string {
	if uint(n) > uint(len(r.s)) {
		r.fail()
		return ""
	}
	s := r.s[:n]
	r.s = r.s[n:]
	return s
}

func (r *reader) text() string { return r.take(int(r.upTo(uint64(len(r.s))))) }

func (r *reader) blob() []byte {
	n := r.uint()
	if n == 0 {
		return nil
	}
	if n-1 > uint64(len(r.s)) {
		r.fail()
		return nil
	}
	if n == 1 {
		return []byte{}
	}
	return aliasBytes(r.take(int(n - 1)))
}
