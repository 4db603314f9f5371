package install

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/keysummary"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
)

func rowKey(n int) []byte {
	return fmt.Appendf(keyspace.RowPrefix(20000, uint32(n)%(1<<20), 1), "row-%06d", n)
}

// TestPieceMap finds the pieces of keys and spans, in order or not, with chunks of large rows
// across them.
func TestPieceMap(t *testing.T) {
	var k keysummary.Summary
	add := func(ops ...string) {
		var b []byte
		for _, op := range ops {
			kind, name, _ := strings.Cut(op, " ")
			n := 0
			_, _ = fmt.Sscan(name, &n)
			switch kind {
			case "row":
				b = logentry.AppendOp(b, logentry.OpPut, rowKey(n), []byte("v"))
			case "head":
				b = logentry.AppendOp(b, logentry.OpPutHead, rowKey(n), []byte("v"))
			case "chunk":
				b = logentry.AppendOp(b, logentry.OpPut, keyspace.ChunkKey(rowKey(n), 0), []byte("v"))
			case "old":
				b = logentry.AppendOp(b, logentry.OpDelete, keyspace.ChunkKey(rowKey(n), 5), nil)
			case "lock":
				b = logentry.AppendOp(b, logentry.OpLock, rowKey(n), nil)
			}
		}
		if err := k.Add(b); err != nil {
			t.Fatal(err)
		}
	}
	add("row 1", "row 2", "chunk 3") // 0
	add("chunk 3")                   // 1
	add("chunk 3", "head 3", "row 4", "old 4")
	add("row 5", "chunk 6") // 3
	add("head 6", "row 7")  // 4
	add("lock 99")          // 5
	add("row 9")            // 6
	check := func(from, to int, want string) {
		t.Helper()
		x := NewRows(txn.ID{}, 0, &k, k.Pieces(), nil)
		k.SealPieces()
		if got := fmt.Sprint(x.Missing(func(fn func(txn.Span) bool) { fn(txn.Span{Start: rowKey(from), End: rowKey(to)}) })); got != want {
			t.Errorf("rows %d to %d are in %s, want %s", from, to-1, got, want)
		}
	}
	check(1, 2, "[0]")
	check(3, 4, "[0 1 2]")
	check(5, 6, "[3]")
	check(6, 7, "[3 4]")
	check(7, 8, "[3 4]")
	check(8, 9, "[]")
	check(9, 10, "[6]")
	check(2, 6, "[0 1 2 3]")
	check(99, 100, "[]")
	add("row 8", "row 0") // 7: out of order
	check(8, 9, "[7]")
	check(0, 1, "[7]")
	check(1, 2, "[0 7]")
	check(9, 10, "[6]")
	k.KeepPieces(4)
	add("head 6")
	check(6, 7, "[3 4]")
}
