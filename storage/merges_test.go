package storage

import (
	"bytes"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
)

// TestMergesMay: all replicas merge where there is room for all, one at a time where there is room for one, and none else.
func TestMergesMay(t *testing.T) {
	const mib = 1 << 20
	var m merges
	a, b, c := &Replica{}, &Replica{}, &Replica{}
	now := time.Unix(1000, 0)
	ask := func(r *Replica, free int64, wants, want bool) {
		t.Helper()
		if got := m.may(r, room{free: free * mib, least: 256 * mib, need: 300 * mib, wants: wants}, now); got != want {
			t.Errorf("with %d MiB free it may merge: %v", free, got)
		}
		if !want {
			m.done(r)
		}
	}
	for _, r := range []*Replica{a, b, c} {
		ask(r, 1156, true, true)
	}
	ask(a, 363, true, false) // none
	ask(a, 1155, false, false)
	ask(a, 364, true, true) // the first that asks
	ask(b, 1155, true, false)
	ask(c, 1155, true, false)
	ask(a, 1155, true, true)
	now = now.Add(mergeTurn)
	ask(a, 1155, true, false) // others have waited
	ask(c, 1155, true, true)
	ask(b, 1155, true, false)
	ask(c, 1155, false, false) // it has nothing to merge
	ask(b, 1155, true, true)
	now = now.Add(time.Hour)
	ask(b, 1155, true, true) // no other wants to
	ask(b, 300, true, false)
	ask(c, 1155, true, true)
	m.forget(c)
	ask(a, 856, true, true) // room for all that are left
	ask(b, 856, true, true)
	ask(a, 855, true, true)
	ask(b, 855, true, false)
}

// TestMergesHeld: on a disk with too little room for a merge there is none, from the start on. Reads and deletes go on, deletes as long as level 0 has
// room; with room on the disk merges and writes do by themselves.
func TestMergesHeld(t *testing.T) {
	dir := t.TempDir()
	var free atomic.Int64
	free.Store(1 << 40)
	config := func(c *Config) {
		smallTables(c)
		diskOf(&free)(c)
	}
	r := openTest(t, dir, config)
	commitRow(t, r, rowKey(1), "kept")
	commitRow(t, r, rowKey(2), "deleted")
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	free.Store(mergeless)
	r = openTest(t, dir, config, func(c *Config) { c.MinFree = 1 })
	fillLevelZero(t, r, heldTables, new(atomic.Bool))
	if levels := r.db.Levels(); levels[0].NumTables < heldTables {
		t.Fatalf("level 0 has %d tables: something was merged", levels[0].NumTables)
	}
	awaitDisk(t, "deletes are refused", func() bool { return r.diskLeft.Load() == noRoom })
	for _, wanted := range []bool{false, true} {
		if r.crowded(wanted) {
			t.Errorf("an installation waits for merges that have no room (wanted by a reader: %v)", wanted)
		}
	}
	if got := readRow(t, r, rowKey(1)); got != "kept" {
		t.Fatalf("got %q", got)
	}
	if _, err := tryRow(r, rowKey(3), "y"); !pgerr.Is(err, pgerr.DiskFull) {
		t.Fatalf("got %v", err)
	}
	free.Store(1 << 40)
	awaitDisk(t, "tables are merged", func() bool { return r.db.Levels()[0].NumTables < levelZeroTables })
	awaitDisk(t, "writes are taken", func() bool { return r.diskLeft.Load() == roomForAll })
	commitRow(t, r, rowKey(3), "y")

	free.Store(mergeless)
	r.minFree.Store(mergeless + 1)
	awaitDisk(t, "writes are refused", func() bool { return r.diskLeft.Load() == roomForDeletes })
	if err := deleteRow(r, rowKey(2)); err != nil {
		t.Fatal(err)
	}
	if got := readRow(t, r, rowKey(2)); got != "" {
		t.Fatalf("got %q", got)
	}
	if err := r.dropAll(); err != nil { // Badger starts merges behind it
		t.Fatal(err)
	}
	awaitDisk(t, "merges are held again", func() bool {
		r.mergeMu.Lock()
		defer r.mergeMu.Unlock()
		return r.mergesHeld
	})
	fillLevelZero(t, r, heldTables, new(atomic.Bool))
	if levels := r.db.Levels(); levels[0].NumTables < heldTables {
		t.Fatalf("level 0 has %d tables: something was merged", levels[0].NumTables)
	}
}

// TestMergesGoOnAtFullLevelZero: level 0 is full and the disk has no room, so no entry is applied, and housekeeping waits for
// one of its own. With room on the disk all of it goes on.
func TestMergesGoOnAtFullLevelZero(t *testing.T) {
	var free atomic.Int64
	var roomAgain atomic.Bool
	free.Store(1 << 40)
	r := openTest(t, t.TempDir(), smallTables, diskOf(&free))
	commitRow(t, r, rowKey(0), "x")
	free.Store(1 << 20)
	awaitDisk(t, "writes are refused", func() bool { return r.diskLeft.Load() != roomForAll })
	done := make(chan struct{})
	go func() {
		defer close(done)
		fillLevelZero(t, r, levelZeroStall+1, &roomAgain)
		e := logentry.Commit{ID: txn.NewID(), Writes: logentry.AppendOp(nil, logentry.OpPut, rowKey(1), []byte("x"))}
		if _, _, err := r.run(e.Encode(), 0); err != nil {
			t.Error(err)
		}
	}()
	awaitDisk(t, "level 0 is full", func() bool { return r.db.Levels()[0].NumTables >= levelZeroStall })
	e := logentry.Commit{ID: txn.NewID(), Writes: logentry.AppendOp(nil, logentry.OpPut, rowKey(2), make([]byte, 100_000))}
	go r.run(e.Encode(), 0) // is not applied
	r.forgets.add(txn.NewID())
	awaitDisk(t, "housekeeping waits for its entry", func() bool {
		r.forgets.mu.Lock()
		defer r.forgets.mu.Unlock()
		return len(r.forgets.ids) == 0
	})
	roomAgain.Store(true)
	free.Store(1 << 40)
	<-done
	if got := readRow(t, r, rowKey(1)); got != "x" {
		t.Errorf("got %.20q", got)
	}
	awaitDisk(t, "merges go on", func() bool { return r.db.Levels()[0].NumTables < levelZeroTables })
}

// fillLevelZero writes to the database of a replica until level 0 has so many tables, they become fewer, or stop is set. With room to
// merge, level 0 may stay as full as it is: a merge takes one table while the next one is written.
func fillLevelZero(t *testing.T, r *Replica, tables int, stop *atomic.Bool) {
	t.Helper()
	for n := 0; ; n++ {
		before := r.db.Levels()[0].NumTables
		b := kvBatch{db: r.db}
		for i := range 8 {
			if err := b.add(logentry.OpPut, rowKey(100_000+8*n+i), bytes.Repeat([]byte{byte(n)}, 20_000), r.Applied()); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.flush(); err != nil {
			t.Fatal(err)
		}
		if now := r.db.Levels()[0].NumTables; now >= tables || now < before || stop.Load() {
			return
		}
	}
}

func awaitDisk(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not in time", what)
		}
	}
}
