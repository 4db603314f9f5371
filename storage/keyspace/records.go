package keyspace

import (
	"encoding/binary"

	"github.com/sherddb/sherd/txn"
)

// Kind is a kind of the replica's own records. These lie behind all tables.
type Kind byte

// The kinds, and what follows the kind in their keys.
const (
	Checkpoint Kind = 'A' // nothing: S2's key "applied" with the state machine's small state
	Decision   Kind = 'D' // id(16): a decision of this coordinator fragment
	Statistics Kind = 'S' // table(4) · group(2, or 4 of assigned buckets): documents and bytes
	// group(2), or group(2) · table(4) · bucket in it(1): counts by bucket, of this replica
	BucketCounts Kind = 'B'
	Deletion     Kind = 'X' // stamp(8): keys being deleted in the background
	Outcomes     Kind = 'O' // stamp(8): ids and times of commits
	// stamp(8): ids of decisions that were forgotten then, whose records are to expire
	Forgotten Kind = 'F'
	Prepared  Kind = 'H' // id(16): a prepared transaction (PREPARE TRANSACTION)
	Chunk     Kind = 'C' // key · number(2): a chunk of a large row
	// id(16) · number(4): operations of a transaction that has been open for long
	Piece Kind = 'P'
	edge  Kind = '~' // nothing: it lies behind all others
)

// own takes the place of a table's number in the replica's own records. No table has it.
const own = 0xffffffff

// LowEdge lies below every key: no table has the number 0.
var LowEdge = make([]byte, 8)

// HighEdge lies above every key.
var HighEdge = Record(edge)

// End is where the replica's own records begin. No scan of tables goes beyond.
var End = []byte{0xff, 0xff, 0xff, 0xff}

// IsOwn reports whether a key is of the replica's own records.
func IsOwn(key []byte) bool { return TableOf(key) == own }

// KindOf returns the kind of one of the replica's own records.
func KindOf(key []byte) Kind { return Kind(key[4]) }

// Record returns the key of a record, or the prefix of a kind's keys.
func Record(kind Kind, rest ...byte) []byte {
	b := binary.BigEndian.AppendUint32(make([]byte, 0, 5+len(rest)), own)
	return append(append(b, byte(kind)), rest...)
}

// RestOf returns what follows the kind in the key of a record; it shares key's memory.
func RestOf(key []byte) []byte { return key[5:] }

// StampRecord returns the key of a record whose kind is keyed by stamps.
func StampRecord(kind Kind, stamp txn.Timestamp) []byte {
	return Record(kind, binary.BigEndian.AppendUint64(nil, uint64(stamp))...)
}

// IDRecord returns the key of a record whose kind is keyed by transactions.
func IDRecord(kind Kind, id txn.ID) []byte { return Record(kind, id[:]...) }

// PieceKey returns the key of piece n of the operations of a transaction.
func PieceKey(id txn.ID, n int) []byte {
	return Record(Piece, binary.BigEndian.AppendUint32(id[:], uint32(n))...)
}

// ChunkKey returns the key of chunk n of the large row at key.
func ChunkKey(key []byte, n int) []byte {
	b := binary.BigEndian.AppendUint32(make([]byte, 0, 7+len(key)), own)
	b = append(append(b, byte(Chunk)), key...)
	return binary.BigEndian.AppendUint16(b, uint16(n))
}

// ChunkSpan returns the span of the chunks of the rows in a span.
func ChunkSpan(s txn.Span) txn.Span {
	out := txn.Span{Start: Record(Chunk, s.Start...), End: Record(Chunk + 1)}
	if len(s.End) > 0 {
		out.End = Record(Chunk, s.End...)
	}
	return out
}

// HasRow reports whether the value at a key is a row, an entry of an index, or a part of a
// transaction's writes. Clients may write any amount of these.
func HasRow(key []byte) bool {
	return !IsOwn(key) || KindOf(key) == Chunk || KindOf(key) == Piece
}
