package keyspace

import (
	"bytes"
	"encoding/binary"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
)

const (
	// MaxKey is the largest encoded key.
	MaxKey = 8 << 10

	// Rows is the number of the index that a table's rows are.
	Rows = 0

	rowPrefixLen = 15
)

// RowPrefix returns the prefix of all rows of table in a generation of a bucket.
func RowPrefix(table, bucket, generation uint32) []byte {
	return AppendRowPrefix(make([]byte, 0, rowPrefixLen+16), table, bucket, generation)
}

// AppendRowPrefix appends RowPrefix to b.
func AppendRowPrefix(b []byte, table, bucket, generation uint32) []byte {
	b = binary.BigEndian.AppendUint32(b, table)
	b = binary.BigEndian.AppendUint32(b, Rows)
	b = append(b, byte(bucket>>16), byte(bucket>>8), byte(bucket))
	return binary.BigEndian.AppendUint32(b, generation)
}

// IndexPrefix returns the prefix of all entries of a local index; index 0 is the rows themselves.
func IndexPrefix(table, index uint32) []byte {
	b := binary.BigEndian.AppendUint32(make([]byte, 0, 64), table)
	return binary.BigEndian.AppendUint32(b, index)
}

// TableSpan returns the span of everything of table, indexes included.
func TableSpan(table uint32) txn.Span {
	return txn.Prefix(binary.BigEndian.AppendUint32(nil, table))
}

// BucketSpan returns the span of the rows of table in the buckets [from, to), of all generations.
func BucketSpan(table, from, to uint32) txn.Span {
	start := IndexPrefix(table, Rows)
	end := bytes.Clone(start)
	return txn.Span{
		Start: append(start, byte(from>>16), byte(from>>8), byte(from)),
		End:   append(end, byte(to>>16), byte(to>>8), byte(to)),
	}
}

// KeySpan returns the span of one key.
func KeySpan(key []byte) txn.Span {
	return txn.Span{Start: key, End: append(key[:len(key):len(key)], 0)}
}

// CommonPrefix returns the bytes with which every key of a span begins.
func CommonPrefix(s txn.Span) []byte {
	n := 0
	for n < len(s.Start) && n < len(s.End) && s.Start[n] == s.End[n] {
		n++
	}
	return s.Start[:n]
}

// TableOf returns the table of any key.
func TableOf(key []byte) uint32 { return binary.BigEndian.Uint32(key) }

// IndexOf returns the index of a key, 0 for a row.
func IndexOf(key []byte) uint32 { return binary.BigEndian.Uint32(key[4:]) }

// InIndex reports whether a key, or a bound that is long enough, is of an index.
func InIndex(x logentry.Index, key []byte) bool {
	return len(key) >= 8 && TableOf(key) == x.Table && IndexOf(key) == x.Index
}

// IndexOfSpan returns the index that a span lies in; ok is false if there is no such index.
func IndexOfSpan(s txn.Span) (x logentry.Index, ok bool) {
	if len(s.Start) < 8 {
		return x, false
	}
	x = logentry.Index{Table: TableOf(s.Start), Index: IndexOf(s.Start)}
	return x, InIndex(x, s.End) || bytes.Equal(s.End, txn.PrefixEnd(IndexPrefix(x.Table, x.Index)))
}

// IsRow reports whether key is a row's.
func IsRow(key []byte) bool {
	return len(key) >= rowPrefixLen && IndexOf(key) == Rows && !IsOwn(key)
}

// BucketOf returns the bucket of a row's key.
func BucketOf(key []byte) uint32 {
	return uint32(key[8])<<16 | uint32(key[9])<<8 | uint32(key[10])
}

// InBucket returns a copy of a row's key with another bucket in it.
func InBucket(key []byte, bucket uint32) []byte {
	out := bytes.Clone(key)
	out[8], out[9], out[10] = byte(bucket>>16), byte(bucket>>8), byte(bucket)
	return out
}

// PrimaryKeyOf returns the encoded primary key of a row's key; it shares key's memory.
func PrimaryKeyOf(key []byte) []byte { return key[rowPrefixLen:] }

// Check refuses a caller's key that is too long (54000) or malformed.
func Check(key []byte) error {
	if len(key) > MaxKey {
		return pgerr.New(pgerr.ProgramLimitExceeded, "key of %d bytes exceeds the maximum of %d", len(key), MaxKey).
			WithHint("Keys hold the primary key and the indexed columns.")
	}
	if len(key) < 8 || IsOwn(key) {
		return pgerr.New(pgerr.InternalError, "malformed storage key %x", key)
	}
	return nil
}
