package storage

import (
	"context"
	"testing"
	"time"

	"github.com/sherddb/sherd/txn"
)

// TestFirstFence: a row that was changed before anything of the fragment had ever moved is held up
// by the first fence, also where the transaction has changed another row since, by the ownership
// that has the fence.
func TestFirstFence(t *testing.T) {
	m := openMover(t)
	source := m.c.rs[0]
	commitRow(t, source, movedKey(150, "k"), "old")
	ctx := testContext(t)
	id := txn.NewID()
	x := source.Tx(id)
	put := func(bucket uint32) {
		t.Helper()
		key := movedKey(bucket, "k")
		if err := x.LockNewest(ctx, key); err != nil {
			t.Fatal(err)
		}
		if err := x.Put(key, []byte("new")); err != nil {
			t.Fatal(err)
		}
	}
	put(150)
	n := m.number()
	F, err := source.Moves.Fence(ctx, n, movedRange, testTimeout)
	if err != nil {
		t.Fatal(err)
	}
	put(300)
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if ts, err := m.c.co.Commit(short, id, 0, []txn.Participant{x}); err == nil {
		t.Errorf("committed at %s, beyond a fence at %s", ts, F)
	}
	if err := source.Moves.Unfence(ctx, n, movedRange); err != nil {
		t.Fatal(err)
	}
	if got := readRow(t, source, movedKey(150, "k")); got != "old" {
		t.Errorf("the row is %q", got)
	}
}
