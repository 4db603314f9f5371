package keyspace

import (
	"bytes"
	"encoding/binary"

	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
)

// The generation of a bucket lies in stored keys of rows at its fixed place. In keys of global
// indexes, if it is not 0, it comes after the bucket, which is marked then.
const (
	bucketAt        = 8
	generationAt    = 11 // in a stored key of a row, or of a global index with a generation
	generationBytes = 4
	// in the first byte of the bucket of a global entry: a generation follows
	mark = 0x80
)

// MayHaveBucket reports whether a key or a bound is long enough to have a bucket.
func MayHaveBucket(key []byte) bool { return len(key) >= generationAt }

// BeyondBucket reports whether a bound has more than a bucket.
func BeyondBucket(bound []byte) bool { return len(bound) > generationAt }

// BucketIn returns the bucket of a key of a row or of a global index, in either form.
func BucketIn(key []byte) uint32 { return BucketOf(key) &^ (mark << 16) }

// Place returns bucket and generation of a stored key of a row or of a global index.
func Place(key []byte) (bucket, generation uint32, ok bool) {
	if len(key) < generationAt {
		return 0, 0, false
	}
	bucket = BucketOf(key)
	marked := bucket&(mark<<16) != 0
	if IndexOf(key) != Rows && !marked {
		return bucket, 0, true
	}
	if len(key) < rowPrefixLen {
		return 0, 0, false
	}
	return bucket &^ (mark << 16), generationOf(key), true
}

// generationOf returns the generation at its place in a stored key that has one.
func generationOf(key []byte) uint32 { return binary.BigEndian.Uint32(key[generationAt:]) }

// Stored returns the stored form of a caller's key of a bucket with a generation. It shares key's
// memory if both are the same.
func Stored(key []byte, generation uint32) []byte {
	if IndexOf(key) == Rows {
		if len(key) < rowPrefixLen || generationOf(key) == generation {
			return key
		}
		key = bytes.Clone(key)
		binary.BigEndian.PutUint32(key[generationAt:], generation)
		return key
	}
	if generation == 0 {
		return key
	}
	out := make([]byte, 0, len(key)+generationBytes)
	out = append(out, key[:generationAt]...)
	out[bucketAt] |= mark
	out = binary.BigEndian.AppendUint32(out, generation)
	return append(out, key[generationAt:]...)
}

// AppendGiven appends the caller's form of a stored key, of a row or a global index, to b.
func AppendGiven(b, key []byte) []byte {
	if IndexOf(key) == Rows {
		at := len(b)
		b = append(b, key...)
		if len(key) >= rowPrefixLen {
			clear(b[at+generationAt : at+rowPrefixLen])
		}
		return b
	}
	if key[bucketAt]&mark == 0 {
		return append(b, key...)
	}
	at := len(b)
	b = append(b, key[:generationAt]...)
	b[at+bucketAt] &^= mark
	return append(b, key[generationAt+generationBytes:]...)
}

// StoredSpan returns the span of an index's stored keys of some buckets. For rows, and if the
// generation is not 0, the span has keys of other generations too.
func StoredSpan(x logentry.Index, r shardmap.Interval, generation uint32) txn.Span {
	s := txn.Span{Start: IndexPrefix(x.Table, x.Index), End: IndexPrefix(x.Table, x.Index)}
	marked := byte(0)
	if x.Index != Rows && generation != 0 {
		marked = mark
	}
	add := func(b []byte, bucket uint32) []byte {
		return append(b, byte(bucket>>16)|marked, byte(bucket>>8), byte(bucket))
	}
	s.Start, s.End = add(s.Start, r.Lo), add(s.End, r.Hi)
	return s
}

// StoredBound returns the stored form of a bound of a caller's span, which is a key or the
// beginning of one. If it ends before the generation, so does the result.
func StoredBound(key []byte, generation uint32) []byte {
	if len(key) < generationAt {
		return key
	}
	if IndexOf(key) == Rows {
		out := bytes.Clone(key)
		var a [generationBytes]byte
		binary.BigEndian.PutUint32(a[:], generation)
		copy(out[generationAt:], a[:]) // a key cut within the generation counts as one without it
		if n := len(key); n > generationAt && n < rowPrefixLen {
			out = append(out[:generationAt], a[:]...)
		}
		return out
	}
	if len(key) == generationAt && generation != 0 {
		out := bytes.Clone(key)
		out[bucketAt] |= mark
		return out
	}
	return Stored(key, generation)
}

// BucketOfBound returns the bucket of a bound of a span within one index: of a start, the first
// bucket that the span has keys of; of an end, the first that it has no keys of.
func BucketOfBound(bound []byte, end bool) uint32 {
	var b [3]byte
	n := 0
	if len(bound) > bucketAt {
		n = copy(b[:], bound[bucketAt:])
	}
	at := (uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2])) &^ (mark << 16)
	if end && n == 3 && len(bound) > generationAt {
		at++ // something of the bucket lies below the bound
	}
	return min(at, shardmap.BucketLimit)
}
