package keyfilter

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/FastFilter/xorfilter"
	"github.com/cespare/xxhash/v2"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/types"
)

// MaxKeys is how many keys a set may have. The filter of so many has 1.2 MB.
const MaxKeys = 1 << 20

// buildSize is about how many bytes are used for a key while a filter is built.
const buildSize = 40

// Set is keys that are added one by one. The zero value with Mem is empty.
type Set struct {
	Mem    *memory.Account
	hashes []uint64
	held   int64
}

// Full reports whether no more keys can be added.
func (s *Set) Full() bool { return len(s.hashes) >= MaxKeys }

// Add adds a key. The error is that of Mem if it has no room for it.
func (s *Set) Add(key []byte) error {
	if len(s.hashes) == cap(s.hashes) {
		more := max(len(s.hashes), 64)
		size := int64(more) * buildSize
		if err := s.Mem.Grow(size); err != nil {
			return err
		}
		s.held += size
		s.hashes = slices.Grow(s.hashes, more)
	}
	s.hashes = append(s.hashes, xxhash.Sum64(key))
	return nil
}

// Free forgets the keys.
func (s *Set) Free() {
	s.Mem.Release(s.held)
	s.held, s.hashes = 0, nil
}

// The bytes of a filter: its format, five numbers, a byte for each slot.
const (
	format     = 1
	headerSize = 1 + 8 + 4*4
)

// Filter returns the filter of the keys, null if there are none. The set must not be used
// afterwards.
func (s *Set) Filter() (types.Datum, error) {
	slices.Sort(s.hashes)
	hashes := slices.Compact(s.hashes)
	if len(hashes) == 0 {
		return types.Null, nil
	}
	f, err := xorfilter.NewBinaryFuse[uint8](hashes)
	if err != nil {
		return types.Null, pgerr.New(pgerr.InternalError, "the filter of %d keys: %v", len(hashes), err)
	}
	b := make([]byte, headerSize, headerSize+len(f.Fingerprints))
	b[0] = format
	binary.LittleEndian.PutUint64(b[1:], f.Seed)
	for i, n := range []uint32{f.SegmentLength, f.SegmentLengthMask, f.SegmentCount, f.SegmentCountLength} {
		binary.LittleEndian.PutUint32(b[9+4*i:], n)
	}
	b = append(b, f.Fingerprints...)
	return types.NewBytes(unsafe.String(unsafe.SliceData(b), len(b))), nil
}

// Filter is a filter that was parsed. The zero value has every key.
type Filter struct {
	fuse xorfilter.BinaryFuse[uint8]
	on   bool
}

// Parse returns the filter that d, a bytea, describes; null describes that of all keys. The filter
// aliases d. The error is XX001.
func Parse(d types.Datum) (f Filter, err error) {
	if d.IsNull() {
		return f, nil
	}
	b := unsafe.Slice(unsafe.StringData(d.S), len(d.S))
	if d.K != types.KindBytes || len(b) < headerSize || b[0] != format {
		return f, damaged()
	}
	number := func(i int) uint32 { return binary.LittleEndian.Uint32(b[9+4*i:]) }
	f.on, f.fuse = true, xorfilter.BinaryFuse[uint8]{
		Seed: binary.LittleEndian.Uint64(b[1:]), SegmentLength: number(0), SegmentLengthMask: number(1),
		SegmentCount: number(2), SegmentCountLength: number(3), Fingerprints: b[headerSize:],
	}
	if !sound(&f.fuse) {
		return Filter{}, damaged()
	}
	return f, nil
}

// sound reports whether the numbers of a filter agree, so that Contains stays in its slots.
func sound(f *xorfilter.BinaryFuse[uint8]) bool {
	length, count := uint64(f.SegmentLength), uint64(f.SegmentCount)
	return bits.OnesCount32(f.SegmentLength) == 1 && f.SegmentLengthMask == f.SegmentLength-1 && count > 0 &&
		uint64(f.SegmentCountLength) == length*count && uint64(len(f.Fingerprints)) == length*(count+2)
}

func damaged() error { return pgerr.New(pgerr.DataCorrupted, "a runtime filter is damaged") }

// Selects reports whether the filter leaves keys out.
func (f *Filter) Selects() bool { return f.on }

// Has reports whether a key may be in the set (KF1).
func (f *Filter) Has(key []byte) bool { return !f.on || f.fuse.Contains(xxhash.Sum64(key)) }
