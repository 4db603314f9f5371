package codec

import (
	"encoding/binary"
	"errors"
	"reflect"
	"testing"

	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/txn"
)

func TestFields(t *testing.T) {
	fragments := []txn.FragmentID{1, 300}
	b := append([]byte{7}, Bool(true), Bool(false))
	b = AppendTimestamp(b, txn.MaxTimestamp)
	b = append(b, make([]byte, 16)...)
	b = AppendBytes(b, []byte("bytes"))
	b = AppendFragments(b, fragments)
	b = binary.AppendVarint(b, -5)
	b = binary.AppendUvarint(b, shardmap.BucketLimit)
	b = append(b, "rest"...)
	r := Reader{B: b}
	if x, y, z := r.Byte(), r.Byte(), r.Byte(); x != 7 || y != 1 || z != 0 {
		t.Error(x, y, z)
	}
	if x := r.Timestamp(); x != txn.MaxTimestamp {
		t.Error(x)
	}
	if x := r.ID(); x != (txn.ID{}) {
		t.Error(x)
	}
	if x := r.Bytes(); string(x) != "bytes" || cap(x) != len(x) {
		t.Errorf("%q with room for %d", x, cap(x))
	}
	if x := r.Fragments(); !reflect.DeepEqual(x, fragments) {
		t.Error(x)
	}
	if x := r.Varint(); x != -5 {
		t.Error(x)
	}
	if x := r.Bucket(); x != shardmap.BucketLimit {
		t.Error(x)
	}
	if x := r.Rest(); string(x) != "rest" || r.End() != nil {
		t.Errorf("%q, %v", x, r.End())
	}
}

func TestMalformed(t *testing.T) {
	of := func(x uint64) []byte { return binary.AppendUvarint(nil, x) }
	for name, x := range map[string]struct {
		b    []byte
		read func(r *Reader) any
		zero any
	}{
		"byte":      {nil, func(r *Reader) any { return r.Byte() }, byte(0)},
		"timestamp": {make([]byte, 7), func(r *Reader) any { return r.Timestamp() }, txn.Timestamp(0)},
		"id":        {make([]byte, 15), func(r *Reader) any { return r.ID() }, txn.ID{}},
		"uvarint":   {[]byte{0x80}, func(r *Reader) any { return r.Uvarint() }, uint64(0)},
		"varint":    {[]byte{0x80}, func(r *Reader) any { return r.Varint() }, int64(0)},
		"int":       {of(1<<32 + 1), func(r *Reader) any { return r.Int() }, 0},
		"uint32":    {of(1 << 32), func(r *Reader) any { return r.Uint32() }, uint32(0)},
		"bucket":    {of(shardmap.BucketLimit + 1), func(r *Reader) any { return r.Bucket() }, uint32(0)},
		"bytes":     {append(of(3), 1, 2), func(r *Reader) any { return r.Bytes() }, []byte(nil)},
	} {
		r := Reader{B: x.b}
		if got := x.read(&r); !reflect.DeepEqual(got, x.zero) || !errors.Is(r.End(), ErrMalformed) {
			t.Errorf("%s: %v, %v", name, got, r.End())
		}
		r.B = make([]byte, 32)
		if got := x.read(&r); !reflect.DeepEqual(got, x.zero) {
			t.Errorf("%s after an error: %v", name, got)
		}
	}
	if r := (&Reader{B: []byte{1}}); !errors.Is(r.End(), ErrMalformed) {
		t.Error("what is left is not noticed")
	}
}
