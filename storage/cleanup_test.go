package storage

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

func TestPartsWithoutCommitAreForgotten(t *testing.T) {
	c := openCluster(t, tempDirs(t, 1), small)
	tx := c.rs[0].Tx(txn.NewID())
	value := make([]byte, 1<<20)
	for i := range 10 {
		if err := tx.LockNewest(testContext(t), rowKey(i)); err != nil {
			t.Fatal(err)
		}
		tx.Put(rowKey(i), value)
	}
	if err := tx.enter(); err != nil {
		t.Fatal(err)
	}
	pieces, _, err := tx.encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.sendParts(pieces); err != nil || tx.parts == 0 {
		t.Fatal(tx.parts, err)
	}
	after := c.crash()
	eventually.Holds(t, "the parts of a dead transaction are forgotten", func() bool {
		after.rs[0].txns.mu.RLock()
		defer after.rs[0].txns.mu.RUnlock()
		return len(after.rs[0].txns.parts) == 0
	})
	if n := countRows(t, after.rs[0]); n != 0 {
		t.Fatalf("%d rows of a transaction that never committed", n)
	}
	tx.setPhase(phaseOpen)
	tx.Rollback()
}

func deleteRow(r *Replica, key []byte) error {
	ctx := context.Background()
	tx := r.Tx(txn.NewID())
	err := tx.LockNewest(ctx, key)
	if err == nil {
		err = tx.Delete(key)
	}
	if err == nil {
		_, err = tx.Commit(ctx, txn.CommitRequest{})
	}
	if err != nil {
		tx.Rollback()
	}
	return err
}

func TestFullDiskRefusesWritesOnly(t *testing.T) {
	dir := t.TempDir()
	r := openTest(t, dir)
	commitRow(t, r, rowKey(1), "x")
	r.Close()
	r = openTest(t, dir, func(c *Config) { c.Disk.MinFree = 1 << 60 })
	if _, err := tryRow(r, rowKey(1), "y"); !pgerr.Is(err, pgerr.DiskFull) {
		t.Fatalf("got %v", err)
	}
	if got := readRow(t, r, rowKey(1)); got != "x" {
		t.Fatalf("got %q", got)
	}
	if err := deleteRow(r, rowKey(1)); !pgerr.Is(err, pgerr.DiskFull) {
		t.Fatalf("got %v", err)
	}
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		t.Fatal(err)
	}
	r.db.SetMinFree(int64(st.Bavail) * int64(st.Bsize) / 2 * 3) // room for deletes
	eventually.Holds(t, "deletes are let in", func() bool { return r.db.Room(true) == nil })
	if _, err := tryRow(r, rowKey(2), "y"); !pgerr.Is(err, pgerr.DiskFull) {
		t.Fatalf("got %v", err)
	}
	if err := deleteRow(r, rowKey(1)); err != nil {
		t.Fatal(err)
	}
	r.db.SetMinFree(0)
	eventually.Holds(t, "writes are let in", func() bool { return r.db.Room(false) == nil })
	commitRow(t, r, rowKey(1), "y")
}

func TestDeleteSpan(t *testing.T) {
	oneClient(t)
	dir := t.TempDir()
	r := openTest(t, dir, small)
	ctx := testContext(t)
	for i := range 3000 {
		if i%100 == 0 {
			commitRow(t, r, rowKey(i), string(make([]byte, 300_000)))
		}
	}
	other := append(keyspace.RowPrefix(20001, 1, 1), "x"...)
	commitRow(t, r, other, "stays")
	before, _ := r.Snapshot(ctx)
	release, err := r.Pin(before)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if err := r.DeleteSpan(ctx, keyspace.TableSpan(20000)); err != nil {
		t.Fatal(err)
	}
	r.drops.wait()
	for range 2 {
		if n := countRows(t, r); n != 0 {
			t.Fatalf("%d rows are left", n)
		}
		if got := readRow(t, r, other); got != "stays" {
			t.Fatalf("got %q", got)
		}
		if s := r.Inspect.BucketStats(20000); len(s) != 0 {
			t.Fatalf("statistics are left: %v", s)
		}
		if got := len(r.Inspect.BucketStats(0)); got != 1 {
			t.Fatalf("%d groups", got)
		}
		v, err := r.Tx(txn.ID{}).View(ctx, before)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := v.Get(ctx, rowKey(100)); len(b) != 300_000 || err != nil {
			t.Fatalf("an older snapshot sees %d bytes, %v", len(b), err)
		}
		v.Close()
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		r = openTest(t, dir, small)
	}
}

func TestGarbageCollection(t *testing.T) {
	r := openTest(t, t.TempDir(), small, func(c *Config) { c.Timing.GCTTL = 200 * time.Millisecond })
	ctx := testContext(t)
	commitRow(t, r, rowKey(1), "first")
	var old txn.Timestamp
	var release func()
	for release == nil { // until it is held in time
		var err error
		old, _ = r.Snapshot(ctx)
		if release, err = r.Pin(old); err != nil && !pgerr.Is(err, pgerr.SnapshotTooOld) {
			t.Fatal(err)
		}
	}
	see := func() error {
		v, err := r.Tx(txn.ID{}).View(ctx, old)
		if err != nil {
			return err
		}
		defer v.Close()
		if b, err := v.Get(ctx, rowKey(1)); string(b) != "first" {
			t.Fatalf("the old snapshot sees %q %v", b, err)
		}
		return nil
	}
	for i := range 40 {
		commitRow(t, r, rowKey(1), fmt.Sprint(i))
		time.Sleep(10 * time.Millisecond)
	}
	if err := see(); err != nil {
		t.Fatalf("a held snapshot is readable: %v", err)
	}
	release()
	eventually.Holds(t, "the watermark passes the snapshot", func() bool {
		if err := see(); pgerr.Is(err, pgerr.SnapshotTooOld) {
			return true
		}
		commitRow(t, r, rowKey(1), "later")
		return false
	})
	if _, err := r.Pin(old); !pgerr.Is(err, pgerr.SnapshotTooOld) {
		t.Fatal(err)
	}
	if got := readRow(t, r, rowKey(1)); got != "later" && got != "39" {
		t.Fatalf("got %q", got)
	}
}

func TestSecondProcessIsRefused(t *testing.T) {
	dir := t.TempDir()
	openTest(t, dir)
	_, err := Open(Config{Dir: dir, Fragment: 1, Clock: txn.NewClock(nil, 0), Logger: quiet})
	if !pgerr.Is(err, pgerr.ObjectInUse) {
		t.Fatalf("got %v", err)
	}
}
