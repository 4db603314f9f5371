package storage

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

// A digest is of one stamp, whatever is written after; a restart from a crash leaves it as it was,
// and damage does not.
func TestDigest(t *testing.T) {
	oneClient(t)
	ctx, dir := testContext(t), t.TempDir()
	r := openTest(t, dir)
	commit := func(from, n int, value []byte) {
		t.Helper()
		tx := r.Tx(txn.NewID())
		for i := from; i < from+n; i++ {
			key := append(keyspace.RowPrefix(7, uint32(i), 1), fmt.Sprint(i)...)
			if err := tx.LockNewest(ctx, key); err != nil {
				t.Fatal(err)
			}
			if err := tx.Put(key, value); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := tx.Commit(ctx, txn.CommitRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	digest := func(r *Replica, T txn.Timestamp, skip ...txn.Span) Digest {
		t.Helper()
		d, err := r.Inspect.Digest(ctx, T, skip)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	commit(0, 300, []byte("small"))
	// more than one entry, and rows in pieces
	commit(300, 20, bytes.Repeat([]byte("large"), 100_000))
	T := r.Applied()
	before := digest(r, T)
	if before.Keys != 320 {
		t.Fatalf("%d keys", before.Keys)
	}
	commit(0, 5, []byte("changed"))
	if digest(r, T) != before || digest(r, r.Applied()) == before {
		t.Error("a digest is not of its stamp")
	}
	if d := digest(r, T, keyspace.BucketSpan(7, 10, 20)); d.Keys != 310 || d.Sum == before.Sum {
		t.Errorf("without ten keys: %d", d.Keys)
	}
	copied := t.TempDir()
	copyTree(t, dir, copied)
	again := openTest(t, copied)
	if digest(again, T) != before {
		t.Error("another digest after a crash")
	}
	key := append(keyspace.RowPrefix(7, 17, 1), "17"...)
	w := again.db.NewBatch()
	if err := w.Set(key, []byte("smull"), T); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if d := digest(again, T); d.Keys != 320 || d == before {
		t.Error("damage does not show")
	}
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := r.Inspect.Digest(stopped, T.Add(1<<40), nil); err != context.Canceled {
		t.Errorf("a stamp that nobody has given: %v", err)
	}
}

// What a move brings has the versions that it had at the source. It is left out of a comparison at
// a stamp before, whatever comes of the move, and a checksum that it might have got into is
// refused.
func TestDigestBesideMoves(t *testing.T) {
	m, ctx := openMover(t), testContext(t)
	a, b := m.c.rs[0], m.c.rs[1]
	for i := range uint32(20) {
		commitRow(t, a, movedKey(100+i, "row"), "x")
		commitRow(t, a, movedEntry(100+i, "entry"), "x")
	}
	commitRow(t, b, movedKey(300, "row"), "x")
	commitRow(t, b, append(keyspace.IndexPrefix(movedTable, 1), "local"...), "")
	current(t, b)
	T := b.Applied()
	all, err := b.Inspect.Digest(ctx, T, nil)
	if err != nil || all.Keys != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	same := func(when string) {
		t.Helper()
		skip, err := b.Inspect.Reach(ctx, T)
		if err != nil {
			t.Fatal(err)
		}
		if d, err := b.Inspect.Digest(ctx, T, skip); err != nil || d.Keys != 1 {
			t.Errorf("%s: %+v, %v; want the row alone that was here", when, d, err)
		}
		if _, err := b.Inspect.Digest(ctx, T, nil); err != errArriving {
			t.Errorf("%s: a checksum with half of a move: %v", when, err)
		}
	}
	undone := m.number()
	if _, _, err := m.prepare(a, b, undone, movedRange); err != nil {
		t.Fatal(err)
	}
	same("while rows come")
	if err := b.Moves.Abandon(ctx, undone, movedRange); err != nil {
		t.Fatal(err)
	}
	same("after they were given up")
	if err := a.Moves.Unfence(ctx, undone, movedRange); err != nil {
		t.Fatal(err)
	}
	m.move(a, b, movedRange)
	same("after they came")
	b.drops.wait()
	if skip, err := b.Inspect.Reach(ctx, b.Applied()); err != nil || len(skip) != 0 {
		t.Errorf("left out for ever: %v, %v", skip, err)
	}
	if d, err := b.Inspect.Digest(ctx, b.Applied(), nil); err != nil || d.Keys != 42 {
		t.Errorf("%+v, %v; want all", d, err)
	}
}
