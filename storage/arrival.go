package storage

import (
	"bytes"
	"encoding/binary"

	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
)

// Keys that callers pass and get have generation (arrival) 0, wherever their bucket has been.
// Stored keys have the bucket's generation: in rows at its fixed place; in keys of global indexes,
// if it is not 0, after the bucket, which is marked then. Write buffers, locks, read spans and the
// log have stored keys. So keys of an earlier generation of a bucket never collide with those of
// the present one.
const (
	arrivalAt    = 11 // in a stored key of a row, or of a global index with an arrival
	bucketAt     = 8
	arrivedMark  = 0x80 // in the first byte of the bucket of a global entry: an arrival follows
	arrivalBytes = 4
)

// isGlobal reports whether a key, in either form, is of a global index.
func (r *Replica) isGlobal(key []byte) bool {
	if len(key) < arrivalAt || IndexOf(key) == rowIndex || TableOf(key) == ownTable {
		return false
	}
	return r.global(logentry.Index{Table: TableOf(key), Index: IndexOf(key)})
}

// global reports whether an index is global.
func (r *Replica) global(x logentry.Index) bool {
	if r.cfg.Global != nil && r.cfg.Global(x.Table, x.Index) {
		return true
	}
	_, told := r.told.Load(x)
	return told
}

// Global registers an index as global, before any call that names its keys: the caller may know
// definitions that Config.Global does not, those of a transaction that has not committed, or of
// another node. Numbers of indexes are never reused, so it stays true.
func (r *Replica) Global(table, index uint32) {
	if x := (logentry.Index{Table: table, Index: index}); !r.global(x) {
		r.told.Store(x, struct{}{})
	}
}

// Global is Replica.Global.
func (t *Tx) Global(table, index uint32) { t.r.Global(table, index) }

// bucketIn returns the bucket of a caller's key; false for a local index entry, which has none.
func (r *Replica) bucketIn(key []byte) (uint32, bool) {
	if len(key) >= arrivalAt && (IndexOf(key) == rowIndex || r.isGlobal(key)) {
		return BucketOf(key) &^ (arrivedMark << 16), true
	}
	return 0, false
}

// placeOf returns bucket and generation of a stored key of a row or of a global index.
func placeOf(key []byte) (bucket, arrival uint32, ok bool) {
	if len(key) < arrivalAt {
		return 0, 0, false
	}
	bucket = BucketOf(key)
	marked := bucket&(arrivedMark<<16) != 0
	if IndexOf(key) != rowIndex && !marked {
		return bucket, 0, true
	}
	if len(key) < rowPrefixLen {
		return 0, 0, false
	}
	return bucket &^ (arrivedMark << 16), ArrivalOf(key), true
}

// stored returns the stored form of a caller's key of a bucket with a generation. It shares key's
// memory if both are the same.
func stored(key []byte, arrival uint32) []byte {
	if IndexOf(key) == rowIndex {
		if len(key) < rowPrefixLen || ArrivalOf(key) == arrival {
			return key
		}
		key = bytes.Clone(key)
		binary.BigEndian.PutUint32(key[arrivalAt:], arrival)
		return key
	}
	if arrival == 0 {
		return key
	}
	out := make([]byte, 0, len(key)+arrivalBytes)
	out = append(out, key[:arrivalAt]...)
	out[bucketAt] |= arrivedMark
	out = binary.BigEndian.AppendUint32(out, arrival)
	return append(out, key[arrivalAt:]...)
}

// appendGiven appends the caller's form of a stored key, of a row or a global index, to b.
func appendGiven(b, key []byte) []byte {
	if IndexOf(key) == rowIndex {
		at := len(b)
		b = append(b, key...)
		if len(key) >= rowPrefixLen {
			clear(b[at+arrivalAt : at+rowPrefixLen])
		}
		return b
	}
	if key[bucketAt]&arrivedMark == 0 {
		return append(b, key...)
	}
	at := len(b)
	b = append(b, key[:arrivalAt]...)
	b[at+bucketAt] &^= arrivedMark
	return append(b, key[arrivalAt+arrivalBytes:]...)
}

// given returns the caller's form of any stored key.
func (r *Replica) given(key []byte) []byte {
	if r.own.Load() == nil || !IsRow(key) && !r.isGlobal(key) {
		return key
	}
	return appendGiven(nil, key)
}

// storedSpan returns the span of an index's stored keys of some buckets. For rows, and if the
// generation is not 0, the span has keys of other generations too.
func storedSpan(x logentry.Index, r BucketRange, arrival uint32) txn.Span {
	s := txn.Span{Start: IndexPrefix(x.Table, x.Index), End: IndexPrefix(x.Table, x.Index)}
	mark := byte(0)
	if x.Index != rowIndex && arrival != 0 {
		mark = arrivedMark
	}
	add := func(b []byte, bucket uint32) []byte {
		return append(b, byte(bucket>>16)|mark, byte(bucket>>8), byte(bucket))
	}
	s.Start, s.End = add(s.Start, r.Lo), add(s.End, r.Hi)
	return s
}

// storedBound returns the stored form of a bound of a caller's span, which is a key or the
// beginning of one. If it ends before the generation, so does the result.
func storedBound(key []byte, arrival uint32) []byte {
	if len(key) < arrivalAt {
		return key
	}
	if IndexOf(key) == rowIndex {
		out := bytes.Clone(key)
		var a [arrivalBytes]byte
		binary.BigEndian.PutUint32(a[:], arrival)
		copy(out[arrivalAt:], a[:]) // if key is cut within the arrival, it is as if nothing of it were there
		if n := len(key); n > arrivalAt && n < rowPrefixLen {
			out = append(out[:arrivalAt], a[:]...)
		}
		return out
	}
	if len(key) == arrivalAt && arrival != 0 {
		out := bytes.Clone(key)
		out[bucketAt] |= arrivedMark
		return out
	}
	return stored(key, arrival)
}

// bucketBound returns the bucket of a bound of a span within one index: of a start, the first
// bucket that the span has keys of; of an end, the first that it has no keys of.
func bucketBound(bound []byte, end bool) uint32 {
	var b [3]byte
	n := 0
	if len(bound) > bucketAt {
		n = copy(b[:], bound[bucketAt:])
	}
	at := (uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2])) &^ (arrivedMark << 16)
	if end && n == 3 && len(bound) > arrivalAt {
		at++ // something of the bucket lies below the bound
	}
	return min(at, shardmap.BucketLimit)
}
