package storage

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

// The rules of moves, each with a test that fails in a build without it, as in rules_test.go.

// TestRuleMoveNumber: late entries of a move have no effect once a later one of the range has
// begun.
func TestRuleMoveNumber(t *testing.T) {
	m := openMover(t)
	a, b := m.c.rs[0], m.c.rs[1]
	commitRow(t, a, movedKey(100, "k"), "1")
	m.move(a, b, movedRange)
	m.move(b, a, movedRange)
	for i, step := range []func() error{
		func() error { _, err := a.Moves.Fence(t.Context(), 1, movedRange, time.Second); return err },
		func() error { return a.Moves.MoveAway(t.Context(), 1, movedRange) },
		func() error { return a.Moves.Clean(t.Context(), 1, movedRange) },
		func() error { return b.Moves.Own(t.Context(), 1, movedRange, 0, 0) },
		func() error { return b.Moves.Ingest(t.Context(), 1, []Version{{Key: movedKey(100, "k"), At: 5}}) },
		func() error { _, err := b.Moves.BeginIngest(t.Context(), 1, movedRange, 0); return err },
	} {
		if err := step(); !errors.Is(err, ErrMoveVoid) {
			t.Errorf("step %d of an older move: %v", i, err)
		}
	}
	if err := a.Moves.Unfence(t.Context(), 3, movedRange); err != nil {
		t.Error(err)
	}
	if _, err := a.Moves.Fence(t.Context(), 3, movedRange, time.Second); !errors.Is(err, ErrMoveVoid) {
		t.Errorf("a fence that was undone before it came: %v", err)
	}
	if err := a.Admit(testContext(t), movedRange, 0, true); err != nil {
		t.Errorf("the owner is none any more: %v", err)
	}
}

// TestRuleMoveGeneration: what was deleted after a bucket had left does not hide it when it is
// back.
func TestRuleMoveGeneration(t *testing.T) {
	m := openMover(t)
	a, b := m.c.rs[0], m.c.rs[1]
	commitRow(t, a, movedKey(100, "k"), "1")
	commitRow(t, a, movedEntry(100, "k"), "e")
	for round := range 3 {
		m.move(a, b, movedRange)
		m.move(b, a, movedRange)
		a.drops.wait()
		b.drops.wait()
		if got := rowsAt(t, a, current(t, a), movedRange, false); got != "100:k=1 100:k=e " {
			t.Fatalf("after %d rounds: %s", round+1, got)
		}
	}
}

// TestRuleMoveFence: nothing is read above F at a fenced source, nor promised, nor locked.
func TestRuleMoveFence(t *testing.T) {
	m := openMover(t)
	a := m.c.rs[0]
	commitRow(t, a, movedKey(100, "k"), "1")
	T := current(t, a)
	F, err := a.Moves.Fence(t.Context(), m.number(), movedRange, testTimeout)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []txn.Timestamp{T, F} {
		if got := rowsAt(t, a, at, movedRange, false); got != "100:k=1 " {
			t.Errorf("at %s, before the fence: %s", at, got)
		}
	}
	if _, err := a.Tx(txn.ID{}).ViewOf(canceled(), F+1, movedRange); !errors.Is(err, context.Canceled) {
		t.Errorf("a view above the fence: %v", err)
	}
	if _, err := a.SnapshotOf(canceled(), movedRange); !errors.Is(err, context.Canceled) {
		t.Errorf("a current timestamp: %v", err)
	}
	if _, err := a.Tx(txn.NewID()).Lock(canceled(), movedKey(100, "k"),
		txn.LockRequest{Mode: txn.Share, T: txn.MaxTimestamp}); !errors.Is(err, context.Canceled) {
		t.Errorf("a lock: %v", err)
	}
	if err := a.Admit(t.Context(), []BucketRange{{Lo: 0, Hi: 100}}, 0, true); err != nil {
		t.Errorf("beside the fence: %v", err)
	}
	if f := a.Owned.Fenced(); len(f) != 1 || f[0].Move != 1 || fmt.Sprint(f[0].Ranges) != fmt.Sprint(movedRange) ||
		f[0].Since.IsZero() {
		t.Errorf("%+v", f)
	}
	done := make(chan error)
	go func() { done <- a.Admit(context.Background(), movedRange, F+1, true) }()
	if err := a.Moves.Unfence(t.Context(), 1, movedRange); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("after the fence: %v", err)
	}
}

// TestRuleMoveBuffer: what was buffered before a move is not committed at the source, nor is a lock
// held there.
func TestRuleMoveBuffer(t *testing.T) {
	m := openMover(t)
	a, b := m.c.rs[0], m.c.rs[1]
	commitRow(t, a, movedKey(100, "k"), "1")
	buffer := func(bucket uint32) *Tx {
		tx := a.Tx(txn.NewID())
		if err := errors.Join(tx.LockNewest(t.Context(), movedKey(bucket, "k")),
			tx.Put(movedKey(bucket, "k"), []byte("staged"))); err != nil {
			t.Fatal(err)
		}
		return tx
	}
	lost, kept, unfenced := buffer(100), buffer(99), buffer(300)
	waiting := make(chan error)
	go func() {
		_, err := a.Tx(txn.NewID()).Lock(context.Background(), movedKey(100, "k"),
			txn.LockRequest{Mode: txn.Share, T: txn.MaxTimestamp})
		waiting <- err
	}()
	eventually.Holds(t, "four locks are held or waited for", func() bool {
		list, _ := a.Inspect.Locks(100)
		return len(list) == 4
	})
	if _, err := a.Moves.Fence(t.Context(), 90, []BucketRange{{Lo: 300, Hi: 301}}, testTimeout); err != nil {
		t.Fatal(err)
	}
	if err := a.Moves.Unfence(t.Context(), 90, []BucketRange{{Lo: 300, Hi: 301}}); err != nil {
		t.Fatal(err)
	}
	m.move(a, b, movedRange)
	if err := <-waiting; pgCodeOf(err) != "40001" {
		t.Errorf("who waited for a lock: %v", err)
	}
	if _, err := lost.Commit(t.Context(), txn.CommitRequest{}); !RowsMoved(err) {
		t.Errorf("the write buffer of a row that has moved: %v", err)
	}
	for _, tx := range []*Tx{kept, unfenced} {
		if _, err := tx.Commit(t.Context(), txn.CommitRequest{}); err != nil {
			t.Errorf("the write buffer of a row that has not moved: %v", err)
		}
	}
	if got := rowsAt(t, b, current(t, b), movedRange, false); got != "100:k=1 " {
		t.Error(got)
	}
}

func pgCodeOf(err error) string {
	var m *txn.MovedError
	if errors.As(err, &m) {
		return "40001"
	}
	return fmt.Sprint(err)
}

// TestRuleMoveProposed: a fence counts before it is applied.
func TestRuleMoveProposed(t *testing.T) {
	g := newGate()
	m := openMover(t, g.config)
	a := m.c.rs[0]
	tx := a.Tx(txn.NewID())
	if err := errors.Join(tx.LockNewest(t.Context(), movedKey(100, "k")),
		tx.Put(movedKey(100, "k"), []byte("staged"))); err != nil {
		t.Fatal(err)
	}
	release := g.shut(t)
	done := make(chan error, 1)
	go func() {
		_, err := a.Moves.Fence(context.Background(), 1, movedRange, testTimeout)
		done <- err
	}()
	<-g.proposed
	if _, err := a.SnapshotOf(canceled(), movedRange); !errors.Is(err, context.Canceled) {
		release() // a commit would wait behind the fence for the log
		t.Fatalf("a current timestamp: %v", err)
	}
	if _, err := tx.Commit(canceled(), txn.CommitRequest{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a commit: %v", err)
	}
	release()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestRuleMoveAbove: the target writes nothing below what the source has promised.
func TestRuleMoveAbove(t *testing.T) {
	now := time.Now()
	m := openMover(t, stillClock(now))
	a, b := m.c.rs[0], m.c.rs[1]
	T := txn.FromTime(now.Add(2 * time.Second))
	if got := rowsAt(t, a, T, movedRange, false); got != "" {
		t.Fatal(got)
	}
	m.move(a, b, movedRange)
	if ts := commitRow(t, b, movedKey(100, "k"), "late"); ts <= T {
		t.Errorf("a commit at %s below a read at %s", ts, T)
	}
}

// TestRuleMoveRead: what was read below a fence that did not come into the log is no last read.
func TestRuleMoveRead(t *testing.T) {
	g := newGate()
	m := openMover(t, g.config)
	a, b := m.c.rs[0], m.c.rs[1]
	commitRow(t, a, movedKey(100, "k"), "1")
	n, ctx := m.number(), testContext(t)
	if _, err := b.Moves.BeginIngest(ctx, n, movedRange, a.Watermark()); err != nil {
		t.Fatal(err)
	}
	release := g.shut(t)
	lifted := make(chan error, 1)
	// the undo of the step is before the fence
	go func() { lifted <- a.Moves.Unfence(ctx, n, movedRange) }()
	<-g.proposed
	type cut struct {
		res ReadResult
		err error
	}
	done := make(chan cut, 1)
	go func() {
		res, err := a.Moves.Cut(ctx, ReadRequest{Ranges: movedRange, Move: n}, testTimeout,
			func(batch []Version) error { return b.Moves.Ingest(ctx, n, batch) })
		done <- cut{res, err}
	}()
	<-g.proposed
	release()
	if err := <-lifted; err != nil {
		t.Fatal(err)
	}
	c := <-done
	if !errors.Is(c.err, ErrMoveVoid) {
		t.Errorf("a read without a fence: %v", c.err)
	}
	if c.err != nil {
		return
	}
	commitRow(t, a, movedKey(100, "k"), "2")
	if err := b.Moves.Own(ctx, n, movedRange, c.res.T, 0); err != nil {
		t.Fatal(err)
	}
	if got := rowsAt(t, b, current(t, b), movedRange, false); got != "100:k=2 " {
		t.Errorf("a write that was acknowledged is lost: %s", got)
	}
}

// TestRuleMoveSeen: a driver that has not ingested the last batches through this replica makes it
// the owner when its log says so, not before: it may be an earlier leader that lacks them.
func TestRuleMoveSeen(t *testing.T) {
	g := newGate()
	m := openMover(t, g.config)
	a, b := m.c.rs[0], m.c.rs[1]
	commitRow(t, a, movedKey(100, "k"), "1")
	n := m.number()
	F, since, err := m.prepare(a, b, n, movedRange)
	if err != nil {
		t.Fatal(err)
	}
	release := g.shut(t)
	owned := make(chan error, 1)
	go func() { owned <- b.Moves.Own(context.Background(), n, movedRange, F, since) }()
	<-g.proposed
	if err := b.Admit(canceled(), movedRange, 0, true); !errors.Is(err, context.Canceled) {
		t.Errorf("before the log says so: %v", err)
	}
	release()
	if err := <-owned; err != nil {
		t.Fatal(err)
	}
	if got := rowsAt(t, b, current(t, b), movedRange, false); got != "100:k=1 " {
		t.Errorf("the target has %s", got)
	}
}

// TestMoveOfDroppedTable: a table is dropped while its buckets are handed over. Its rows are there
// still, for they are deleted in the background, but nothing is counted of them when they go and
// come.
func TestMoveOfDroppedTable(t *testing.T) {
	m := openMover(t)
	a, b := m.c.rs[0], m.c.rs[1]
	commitRow(t, a, movedKey(100, "k"), "1")
	commitRow(t, a, movedKey(300, "k"), "1")
	n := m.number()
	F, since, err := m.prepare(a, b, n, movedRange)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range m.c.rs {
		r.drops.mu.Lock()
		r.drops.busy = true
		r.drops.mu.Unlock()
		if err := r.DeleteSpan(t.Context(), keyspace.TableSpan(movedTable)); err != nil {
			t.Fatal(err)
		}
	}
	m.finish(a, b, n, movedRange, F, since)
	for _, r := range m.c.rs {
		r.drops.mu.Lock()
		r.drops.busy = false
		r.drops.begin()
		r.drops.mu.Unlock()
		r.drops.wait()
		m.count(r)
		if got := r.Inspect.BucketStats(movedTable); len(got) > 0 {
			t.Errorf("fragment %d counts %v of a table that is dropped", r.ID(), got)
		}
	}
}
