package storage

import (
	"fmt"
	"testing"

	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
)

// TestWrittenAgain writes versions of a key that a batch has already, as when a bucket comes, goes and comes back: what came last counts, however
// large the batch is. Of all replicas alike.
func TestWrittenAgain(t *testing.T) {
	for _, others := range []int{0, bulkKeys} {
		r := openTest(t, t.TempDir())
		b := kvBatch{db: r.db, again: true}
		for stay := range 3 {
			for version := range txn.Timestamp(3) {
				if err := b.add(logentry.OpPut, []byte("\x00\x00\x40\x00key"), fmt.Append(nil, "stay ", stay), 1+version); err != nil {
					t.Fatal(err)
				}
			}
			for n := range others {
				if err := b.add(logentry.OpPut, fmt.Appendf(nil, "\x00\x00\x40\x01%d", n), nil, 1); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := b.flush(); err != nil {
			t.Fatal(err)
		}
		for version := range txn.Timestamp(3) {
			x := r.db.NewTransactionAt(uint64(1+version), false)
			got, _, err := getAt(x, []byte("\x00\x00\x40\x00key"))
			x.Discard()
			if err != nil || string(got) != "stay 2" {
				t.Errorf("with %d others, version %d: %q, %v", others, 1+version, got, err)
			}
		}
	}
}
