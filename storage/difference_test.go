package storage

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

// TestDifferenceOfManyTables: a read of what has changed walks over the rows of its ranges once,
// however many tables there are. Writes wait for the last such read.
func TestDifferenceOfManyTables(t *testing.T) {
	oneClient(t)
	const tables = 200
	m := openMover(t)
	a, ctx := m.c.rs[0], testContext(t)
	for table := range uint32(tables) {
		tx := a.Tx(txn.NewID())
		for row := range 50 {
			key := append(keyspace.RowPrefix(movedTable+table, 100, 0), fmt.Sprint(row)...)
			if err := errors.Join(tx.LockNewest(ctx, key), tx.Put(key, []byte("x"))); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := tx.Commit(ctx, txn.CommitRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	T := current(t, a)
	read := func(since txn.Timestamp) (versions int, fastest time.Duration) {
		t.Helper()
		fastest = time.Hour
		for range 5 {
			versions = 0
			began := time.Now()
			_, err := a.Moves.ReadVersions(ctx, ReadRequest{Ranges: movedRange, Since: since},
				func(batch []Version) error { versions += len(batch); return nil })
			if err != nil {
				t.Fatal(err)
			}
			fastest = min(fastest, time.Since(began))
		}
		return versions, fastest
	}
	all, whole := read(0)
	none, difference := read(T)
	if all != 50*tables || none != 0 {
		t.Errorf("read %d and %d versions", all, none)
	}
	t.Logf("everything in %v, a difference of nothing in %v", whole, difference)
	if difference > 2*whole {
		t.Errorf("a difference of nothing takes %v, everything %v", difference, whole)
	}
}
