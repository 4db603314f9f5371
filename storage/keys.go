package storage

import (
	"bytes"
	"encoding/binary"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
)

// The layout of keys (all numbers big-endian, so that bytes order as numbers):
//
//	table(4) · 0(4)     · bucket(3) · arrival(4) · primary key    rows
//	table(4) · index(4) · columns [· primary key]                 local indexes; unique entries end with their columns
//	table(4) · index(4) · bucket(3) · columns [· primary key]     global indexes, in the fragment of the value's bucket
//	0xffffffff · kind(1) · …                                      the replica's own records and the chunks of large rows
const (
	// MaxKey is the largest encoded key.
	MaxKey = 8 << 10

	rowPrefixLen = 15
	rowIndex     = 0
	ownTable     = 0xffffffff // never a table's id
)

// RowPrefix gives the prefix of all rows of table in bucket that came with arrival.
func RowPrefix(table, bucket, arrival uint32) []byte {
	return AppendRowPrefix(make([]byte, 0, rowPrefixLen+16), table, bucket, arrival)
}

// AppendRowPrefix appends RowPrefix to b.
func AppendRowPrefix(b []byte, table, bucket, arrival uint32) []byte {
	b = binary.BigEndian.AppendUint32(b, table)
	b = binary.BigEndian.AppendUint32(b, rowIndex)
	b = append(b, byte(bucket>>16), byte(bucket>>8), byte(bucket))
	return binary.BigEndian.AppendUint32(b, arrival)
}

// IndexPrefix gives the prefix of all entries of a local index; index 0 is the rows themselves.
func IndexPrefix(table, index uint32) []byte {
	b := binary.BigEndian.AppendUint32(make([]byte, 0, 64), table)
	return binary.BigEndian.AppendUint32(b, index)
}

// TableSpan gives the span of everything of table, indexes included.
func TableSpan(table uint32) txn.Span {
	return txn.Prefix(binary.BigEndian.AppendUint32(nil, table))
}

// BucketSpan gives the span of the rows of table in the buckets [from, to), all arrivals.
func BucketSpan(table, from, to uint32) txn.Span {
	start := IndexPrefix(table, rowIndex)
	end := bytes.Clone(start)
	return txn.Span{
		Start: append(start, byte(from>>16), byte(from>>8), byte(from)),
		End:   append(end, byte(to>>16), byte(to>>8), byte(to)),
	}
}

// TableOf gives the table of any key, IndexOf its index (0 for a row).
func TableOf(key []byte) uint32 { return binary.BigEndian.Uint32(key) }

// IndexOf gives the index of a key, 0 for a row.
func IndexOf(key []byte) uint32 { return binary.BigEndian.Uint32(key[4:]) }

// IsRow tells whether key is a row's.
func IsRow(key []byte) bool {
	return len(key) >= rowPrefixLen && IndexOf(key) == rowIndex && TableOf(key) != ownTable
}

// BucketOf gives the bucket of a row's key.
func BucketOf(key []byte) uint32 {
	return uint32(key[8])<<16 | uint32(key[9])<<8 | uint32(key[10])
}

// ArrivalOf gives the arrival number of a row's key.
func ArrivalOf(key []byte) uint32 { return binary.BigEndian.Uint32(key[11:]) }

// InBucket gives a row's key with another bucket in it; the row's own is left as it is.
func InBucket(key []byte, bucket uint32) []byte {
	out := bytes.Clone(key)
	out[8], out[9], out[10] = byte(bucket>>16), byte(bucket>>8), byte(bucket)
	return out
}

// PrimaryKeyOf gives the encoded primary key of a row's key; it shares key's memory.
func PrimaryKeyOf(key []byte) []byte { return key[rowPrefixLen:] }

// The kinds of the replica's own records.
const (
	ownApplied  = 'A' // the checkpoint: S2's key "applied" with the state machine's small state
	ownDecision = 'D' // · id(16): a decision of this anchor
	ownStats    = 'S' // · table(4) · group(2, or 4 of assigned buckets): documents and bytes
	ownExact    = 'B' // · group(2), or · group(2) · table(4) · bucket in it(1): counts by bucket, of this replica
	ownDrop     = 'X' // · stamp(8): a span being deleted
	ownOutcomes = 'O' // · stamp(8): ids and times of commits
	ownForgot   = 'F' // · stamp(8): ids of decisions that were forgotten then, whose records are to expire
	ownHold     = 'H' // · id(16): a held transaction
	ownChunk    = 'C' // · key · number(2): a piece of a large row
	ownPiece    = 'P' // · id(16) · number(4): operations of a transaction that has been open for long
	ownEdge     = '~' // nothing: behind all others, see Pace
)

// lowEdge is below every key, as ownEdge's is above; table 0 is none.
var lowEdge = make([]byte, 8)

// ownSpace is where the replica's own keys begin; no scan goes beyond.
var ownSpace = []byte{0xff, 0xff, 0xff, 0xff}

func ownKey(kind byte, rest ...byte) []byte {
	b := binary.BigEndian.AppendUint32(make([]byte, 0, 5+len(rest)), ownTable)
	return append(append(b, kind), rest...)
}

func chunkKey(key []byte, n int) []byte {
	b := binary.BigEndian.AppendUint32(make([]byte, 0, 7+len(key)), ownTable)
	b = append(append(b, ownChunk), key...)
	return binary.BigEndian.AppendUint16(b, uint16(n))
}

func checkKey(key []byte) error {
	if len(key) > MaxKey {
		return pgerr.New(pgerr.ProgramLimitExceeded, "key of %d bytes exceeds the maximum of %d", len(key), MaxKey).
			WithHint("Keys hold the primary key and the indexed columns.")
	}
	if len(key) < 8 || TableOf(key) == ownTable {
		return pgerr.New(pgerr.InternalError, "malformed storage key %x", key)
	}
	return nil
}
