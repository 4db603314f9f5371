// Package keysummary describes which keys a large write set may have, in a few bytes for each key:
// for each table and index the span in which they lie, hashes of the keys unless there are too many,
// and for each piece of the write set the keys between which its rows lie.
//
// A summary never misses a key, so a reader may only wait longer than it must. It knows the encoded
// operations of a write set and no transactions.
package keysummary

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"slices"

	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
)

// Summary describes one write set. The zero value is that of an empty one. Only one goroutine adds
// to it; after Seal any number may ask.
type Summary struct {
	spans  map[uint64]txn.Span // by table and index, both ends included
	hashes hashSet
	tooBig bool // no hashes
	pieces pieceMap
}

const maxHashes = 1 << 20

var summarySeed = maphash.MakeSeed()

// Add takes the keys of one more piece of encoded operations, which were checked before.
func (k *Summary) Add(writes []byte) error {
	if k.spans == nil {
		k.spans = map[uint64]txn.Span{}
	}
	if err := k.AddPiece(writes); err != nil {
		return err
	}
	return logentry.EachOp(writes, func(op logentry.Op, key, _ []byte) error {
		if !op.Writes() || keyspace.IsOwn(key) {
			// a reader does not wait for locks; a chunk's row has a key too
			return nil
		}
		of := binary.BigEndian.Uint64(key)
		s, ok := k.spans[of]
		switch {
		case !ok:
			s = txn.Span{Start: bytes.Clone(key), End: bytes.Clone(key)}
		case bytes.Compare(key, s.Start) < 0:
			s.Start = append(s.Start[:0:0], key...)
		case bytes.Compare(key, s.End) > 0:
			s.End = append(s.End[:0:0], key...)
		}
		k.spans[of] = s
		if k.tooBig = k.tooBig || k.hashes.n == maxHashes; k.tooBig {
			k.hashes = hashSet{}
		} else {
			k.hashes.add(maphash.Bytes(summarySeed, key))
		}
		return nil
	})
}

// Seal makes the summary ready for questions, from any number of goroutines.
func (k *Summary) Seal() { k.hashes.sort() }

// Touches reports whether the write set may have keys in a span.
func (k *Summary) Touches(sp txn.Span) bool {
	for _, s := range k.spans {
		if bytes.Compare(sp.Start, s.End) <= 0 && (len(sp.End) == 0 || bytes.Compare(sp.End, s.Start) > 0) {
			return true
		}
	}
	return false
}

// Writes reports whether the write set may have key.
func (k *Summary) Writes(key []byte) bool {
	if !k.tooBig {
		return k.hashes.has(maphash.Bytes(summarySeed, key))
	}
	s, ok := k.spans[binary.BigEndian.Uint64(key)]
	return ok && bytes.Compare(key, s.Start) >= 0 && bytes.Compare(key, s.End) <= 0
}

// hashSet is a set of 40 bits of each hash in about 5 bytes: lists of 32 bits, chosen by the 8 bits
// before. Among a million keys, a key that was not added is taken for one of them about once in a
// million times.
type hashSet struct {
	lists  [][]uint32 // none, or hashLists; ascending once sorted
	n      int
	sorted bool
}

const hashLists = 1 << 8

func splitHash(hash uint64) (list int, rest uint32) { return int(hash >> 56), uint32(hash >> 24) }

func (h *hashSet) add(hash uint64) {
	if h.lists == nil {
		h.lists = make([][]uint32, hashLists)
	}
	i, rest := splitHash(hash)
	h.lists[i] = append(h.lists[i], rest)
	h.n++
	h.sorted = false
}

func (h *hashSet) sort() {
	if h.sorted {
		return
	}
	for _, l := range h.lists {
		slices.Sort(l)
	}
	h.sorted = true
}

// has reports whether a hash may have been added. The set must be sorted.
func (h *hashSet) has(hash uint64) bool {
	if h.n == 0 {
		return false
	}
	i, rest := splitHash(hash)
	_, ok := slices.BinarySearch(h.lists[i], rest)
	return ok
}

// TouchesRanges reports whether the write set may have something of some buckets.
func (k *Summary) TouchesRanges(global *keyspace.Globals, ranges []shardmap.Interval) bool {
	for _, s := range k.spans {
		if global.SpanTouches(s, ranges) {
			return true
		}
	}
	return false
}
