package storage

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/locktable"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/storage/owned"
	"github.com/sherddb/sherd/txn"
)

// TestLockSetOfAnArrivedBucket: locks that are kept only as hashes belong to the ownership under
// which they were taken, also in a bucket that has come after the transaction's first lock here,
// has left, and is back.
func TestLockSetOfAnArrivedBucket(t *testing.T) {
	m := openMover(t, func(c *Config) { c.Limits.WholeLocks = 16 })
	a, b := m.c.rs[0], m.c.rs[1]
	names := make([]string, 40)
	for i := range names {
		names[i] = fmt.Sprintf("k%02d", i)
		commitRow(t, a, movedKey(150, names[i]), "old")
	}
	m.move(a, b, movedRange)
	ctx := testContext(t)
	x := a.Tx(txn.NewID())
	if err := errors.Join(x.LockNewest(ctx, movedKey(300, "k")), x.Put(movedKey(300, "k"), []byte("new"))); err != nil {
		t.Fatal(err)
	}
	m.move(b, a, movedRange)
	for _, name := range names {
		if err := x.LockNewest(ctx, movedKey(150, name)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range names { // which take the place of those in the table
		if err := x.LockNewest(ctx, movedKey(300, fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	x.locks.Each(func(l *locktable.Lock, _ bool) bool {
		if keyspace.BucketOf([]byte(l.Key())) == 150 {
			t.Fatal("the table has some of the locks")
		}
		return true
	})
	m.move(a, b, movedRange)
	commitRow(t, b, movedKey(150, names[0]), "changed")
	m.move(b, a, movedRange)
	if _, err := x.Commit(ctx, txn.CommitRequest{}); !RowsMoved(err) {
		t.Errorf("a transaction whose locks protected nothing has committed: %v", err)
	}
}

// TestLostFence: a fence whose proposal had no answer is shown no longer than until it is lifted.
func TestLostFence(t *testing.T) {
	m := openMover(t)
	a := m.c.rs[0]
	n := m.number()
	a.Owned.AddPending(owned.Pending{Change: owned.Change{Kind: logentry.KindFence, Move: n}, Ranges: movedRange,
		F: current(t, a)})
	if len(a.Owned.Fenced()) != 1 {
		t.Fatal("the fence is not shown")
	}
	if err := a.Moves.Unfence(testContext(t), n, movedRange); err != nil {
		t.Fatal(err)
	}
	if f := a.Owned.Fenced(); len(f) != 0 {
		t.Errorf("the fence is still there: %+v", f)
	}
	if _, err := a.Moves.Fence(testContext(t), n, movedRange, time.Second); !errors.Is(err, ErrMoveVoid) {
		t.Errorf("it came later: %v", err)
	}
}
