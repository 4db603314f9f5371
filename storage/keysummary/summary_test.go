package keysummary

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
)

// TestMemoryOfSummary bounds what a prepared large transaction holds of each key that it writes.
func TestMemoryOfSummary(t *testing.T) {
	const keys = 200_000
	var summary Summary
	var entry []byte
	for i := range keys {
		key := binary.BigEndian.AppendUint64(rowKey(i), uint64(i))
		entry = logentry.AppendOp(entry[:0], logentry.OpDelete, key, nil)
		if err := summary.Add(entry); err != nil {
			t.Fatal(err)
		}
	}
	summary.Seal()
	check := func(what string, bytes, most int) {
		t.Helper()
		if bytes > most*keys {
			t.Errorf("%s takes %.1f bytes of a key, more than %d", what, float64(bytes)/keys, most)
		}
	}
	bytes := 0
	for _, l := range summary.hashes.lists {
		bytes += 4 * cap(l)
	}
	check("the summary", bytes, 6)
	for i := range keys {
		key := binary.BigEndian.AppendUint64(rowKey(i), uint64(i))
		if !summary.Writes(key) {
			t.Fatalf("the summary misses key %d", i)
		}
	}
	wrong := 0
	for i := keys; i < 2*keys; i++ {
		if summary.Writes(binary.BigEndian.AppendUint64(rowKey(i), uint64(i))) {
			wrong++
		}
	}
	if wrong > 20 {
		t.Errorf("the summary takes %d of %d keys for its own", wrong, keys)
	}
}

func rowKey(n int) []byte {
	return fmt.Appendf(keyspace.RowPrefix(20000, uint32(n)%(1<<20), 1), "row-%06d", n)
}

// TestPieces: a piece is found by the keys between which its rows lie, with the earlier pieces that
// may have chunks of its first row.
func TestPieces(t *testing.T) {
	var s Summary
	piece := func(ops ...[]byte) {
		t.Helper()
		if err := s.Add(slices.Concat(ops...)); err != nil {
			t.Fatal(err)
		}
	}
	row := func(n int) []byte { return logentry.AppendOp(nil, logentry.OpPut, rowKey(n), []byte("v")) }
	chunk := func(n int) []byte {
		return logentry.AppendOp(nil, logentry.OpPut, keyspace.ChunkKey(rowKey(n), 0), []byte("v"))
	}
	find := func(from, to int, want string) {
		t.Helper()
		s.SealPieces()
		var got []string
		s.EachPiece(txn.Span{Start: rowKey(from), End: rowKey(to)}, func(n int, p *Piece) bool {
			got = append(got, fmt.Sprintf("%d from %d", n, p.First))
			return true
		})
		if fmt.Sprint(got) != want {
			t.Errorf("rows %d to %d are in %v, want %s", from, to-1, got, want)
		}
	}
	piece(row(1), row(2), chunk(3))
	piece(chunk(3))
	piece(chunk(3), row(3), row(4))
	find(2, 3, "[0 from 0]")
	find(3, 4, "[2 from 0]")
	find(1, 9, "[0 from 0 2 from 0]")
	find(5, 9, "[]")
	piece(row(0)) // out of order
	find(0, 3, "[0 from 0 3 from 3]")
	s.KeepPieces(1)
	if find(3, 9, "[]"); s.Pieces() != 1 {
		t.Errorf("%d pieces", s.Pieces())
	}
	if s.Seal(); !s.Touches(txn.Span{Start: rowKey(4)}) || s.Touches(txn.Span{Start: rowKey(5)}) {
		t.Error("the span of the table does not end with its last row")
	}
}
