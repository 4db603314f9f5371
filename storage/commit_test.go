package storage

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

func TestDeadlockOverFragments(t *testing.T) {
	c := openCluster(t, tempDirs(t, 2))
	ctx := testContext(t)
	a, b := txn.NewID(), txn.NewID()
	a1, a2, b1, b2 := c.rs[0].Tx(a), c.rs[1].Tx(a), c.rs[0].Tx(b), c.rs[1].Tx(b)
	if err := errors.Join(a1.LockNewest(ctx, rowKey(1)), b2.LockNewest(ctx, rowKey(1))); err != nil {
		t.Fatal(err)
	}
	got := make(chan error, 2)
	go func() { err := a2.LockNewest(ctx, rowKey(1)); got <- err; a1.Rollback(); a2.Rollback() }()
	go func() { err := b1.LockNewest(ctx, rowKey(1)); got <- err; b1.Rollback(); b2.Rollback() }()
	x, y := <-got, <-got
	if !pgerr.Is(x, pgerr.DeadlockDetected) || y != nil {
		t.Fatalf("one must fail and let the other go on: %v, %v", x, y)
	}
}

func TestLockTimeout(t *testing.T) {
	r := openTest(t, t.TempDir())
	ctx := testContext(t)
	x, y := r.Tx(txn.NewID()), r.Tx(txn.NewID())
	if err := x.LockNewest(ctx, rowKey(1)); err != nil {
		t.Fatal(err)
	}
	y.SetLockTimeout(10 * time.Millisecond)
	if err := y.LockNewest(ctx, rowKey(1)); !pgerr.Is(err, pgerr.LockNotAvailable) {
		t.Fatalf("got %v", err)
	}
	x.Rollback()
	if err := y.LockNewest(ctx, rowKey(1)); err != nil {
		t.Fatal(err)
	}
	y.Rollback()
}

// TestLargeTransaction writes beyond one entry and one Badger transaction, with rows beyond one
// value.
func TestLargeTransaction(t *testing.T) {
	oneClient(t)
	c := openCluster(t, tempDirs(t, 2), small)
	ctx := testContext(t)
	big := bytes.Repeat([]byte("0123456789abcdef"), 5<<20/16)
	for _, fragments := range []int{1, 2} {
		id := txn.NewID()
		var parts []txn.Participant
		for _, r := range c.rs[:fragments] {
			tx := r.Tx(id)
			for i := range 20 {
				value := big[:1+i*i*12_000]
				if err := tx.LockNewest(ctx, rowKey(i)); err != nil {
					t.Fatal(err)
				}
				if err := tx.Put(rowKey(i), value); err != nil {
					t.Fatal(err)
				}
			}
			parts = append(parts, tx)
		}
		before := countRows(t, c.rs[0])
		if before != 20*(fragments-1) {
			t.Fatalf("%d rows are seen before the commit", before)
		}
		if _, err := c.co.Commit(ctx, id, 0, parts); err != nil {
			t.Fatal(err)
		}
		after := c.resolveAll().crash()
		for i := range 20 {
			for f := range fragments {
				if got := readRow(t, after.rs[f], rowKey(i)); len(got) != 1+i*i*12_000 ||
					got != string(big[:len(got)]) {
					t.Fatalf("fragment %d row %d has %d bytes", f, i, len(got))
				}
			}
		}
	}
	// A shorter value leaves no chunk behind.
	for i := range 20 {
		commitRow(t, c.rs[0], rowKey(i), "short")
	}
	T, _ := c.rs[0].Snapshot(ctx)
	b := c.rs[0].db.At(T)
	defer b.Close()
	if err := b.EachRecord(keyspace.Chunk, func(rest, _ []byte) error {
		return fmt.Errorf("chunk %x is left", rest)
	}); err != nil {
		t.Fatal(err)
	}
}

func TestLimits(t *testing.T) {
	r := openTest(t, t.TempDir(), func(c *Config) { c.Limits.Row, c.Limits.Buffer = 1000, 5000 })
	tx := r.Tx(txn.NewID())
	defer tx.Rollback()
	if err := tx.Put(rowKey(1), make([]byte, 1001)); !pgerr.Is(err, pgerr.ProgramLimitExceeded) {
		t.Fatal(err)
	}
	if err := tx.Put(append(rowKey(1), make([]byte, keyspace.MaxKey)...),
		nil); !pgerr.Is(err, pgerr.ProgramLimitExceeded) {
		t.Fatal(err)
	}
	var err error
	for i := 0; err == nil; i++ {
		if err = tx.Put(rowKey(i), make([]byte, 900)); i > 10 {
			t.Fatal("no end")
		}
	}
	if !pgerr.Is(err, pgerr.ProgramLimitExceeded) {
		t.Fatal(err)
	}
}

func TestFloorsAndLeases(t *testing.T) {
	r := openTest(t, t.TempDir())
	ctx := testContext(t)
	commitRow(t, r, rowKey(1), "x")
	T := r.cfg.Clock.Now().Add(2 * time.Second)
	v, err := r.Tx(txn.ID{}).View(ctx, T) // T4: the read lease is extended
	if err != nil {
		t.Fatal(err)
	}
	v.Close()
	if ts := commitRow(t, r, rowKey(1), "y"); ts <= T {
		t.Fatalf("T2: a commit at %s is below a served read at %s", ts, T)
	}
	tx := r.Tx(txn.NewID())
	tx.LockNewest(ctx, rowKey(2))
	tx.Put(rowKey(2), nil)
	floor := T.Add(time.Second)
	if ts, err := tx.Commit(ctx, txn.CommitRequest{Floor: floor}); ts <= floor || err != nil {
		t.Fatalf("a commit is above its floor: %s %v", ts, err)
	}
	if _, err := r.Tx(txn.ID{}).View(ctx, T.Add(time.Hour)); err == nil {
		t.Fatal("a timestamp far ahead is refused")
	}
}
