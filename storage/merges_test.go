package storage

import (
	"bytes"
	"sync/atomic"
	"testing"

	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage/engine"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
)

// TestMergesHeld: on a disk with too little room for a merge there is none, from the start on.
// Reads and deletes go on, deletes as long as level 0 has room; with room on the disk merges and
// writes do by themselves.
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
	r = openTest(t, dir, config, func(c *Config) { c.Disk.MinFree = 1 })
	fillLevelZero(t, r, engine.HeldTables, new(atomic.Bool))
	if n := r.db.Condition().LevelZero; n < engine.HeldTables {
		t.Fatalf("level 0 has %d tables: something was merged", n)
	}
	eventually.Holds(t, "deletes are refused", func() bool { return r.db.Room(true) != nil })
	for _, wanted := range []bool{false, true} {
		if r.db.Crowded(wanted) {
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
	eventually.Holds(t, "tables are merged", func() bool { return r.db.Condition().LevelZero < engine.LevelZeroTables })
	eventually.Holds(t, "writes are taken", func() bool { return r.db.Room(false) == nil })
	commitRow(t, r, rowKey(3), "y")

	free.Store(mergeless)
	r.db.SetMinFree(mergeless + 1)
	eventually.Holds(t, "writes are refused", func() bool { return r.db.Room(false) != nil && r.db.Room(true) == nil })
	if err := deleteRow(r, rowKey(2)); err != nil {
		t.Fatal(err)
	}
	if got := readRow(t, r, rowKey(2)); got != "" {
		t.Fatalf("got %q", got)
	}
	if err := r.db.Clear(); err != nil { // Badger starts merges behind it
		t.Fatal(err)
	}
	eventually.Holds(t, "merges are held again", func() bool { return r.db.Condition().MergesHeld })
	fillLevelZero(t, r, engine.HeldTables, new(atomic.Bool))
	if n := r.db.Condition().LevelZero; n < engine.HeldTables {
		t.Fatalf("level 0 has %d tables: something was merged", n)
	}
}

// TestMergesGoOnAtFullLevelZero: level 0 is full and the disk has no room, so no entry is applied,
// and housekeeping waits for one of its own. With room on the disk all of it goes on.
func TestMergesGoOnAtFullLevelZero(t *testing.T) {
	var free atomic.Int64
	var roomAgain atomic.Bool
	free.Store(1 << 40)
	r := openTest(t, t.TempDir(), smallTables, diskOf(&free))
	commitRow(t, r, rowKey(0), "x")
	free.Store(1 << 20)
	eventually.Holds(t, "writes are refused", func() bool { return r.db.Room(false) != nil })
	done := make(chan struct{})
	go func() {
		defer close(done)
		fillLevelZero(t, r, engine.LevelZeroStall+1, &roomAgain)
		e := logentry.Commit{ID: txn.NewID(), Writes: logentry.AppendOp(nil, logentry.OpPut, rowKey(1), []byte("x"))}
		if _, _, err := r.log.run(e.Encode(), 0); err != nil {
			t.Error(err)
		}
	}()
	eventually.Holds(t, "level 0 is full", func() bool { return r.db.Condition().LevelZero >= engine.LevelZeroStall })
	e := logentry.Commit{ID: txn.NewID(),
		Writes: logentry.AppendOp(nil, logentry.OpPut, rowKey(2), make([]byte, 100_000))}
	go r.log.run(e.Encode(), 0) // is not applied
	r.Outcomes.forgets.add(txn.NewID())
	eventually.Holds(t, "housekeeping waits for its entry", func() bool {
		r.Outcomes.forgets.mu.Lock()
		defer r.Outcomes.forgets.mu.Unlock()
		return len(r.Outcomes.forgets.ids) == 0
	})
	roomAgain.Store(true)
	free.Store(1 << 40)
	<-done
	if got := readRow(t, r, rowKey(1)); got != "x" {
		t.Errorf("got %.20q", got)
	}
	eventually.Holds(t, "merges go on", func() bool { return r.db.Condition().LevelZero < engine.LevelZeroTables })
}

// fillLevelZero writes to the database of a replica until level 0 has so many tables, they become
// fewer, or stop is set. With room to merge, level 0 may stay as full as it is: a merge takes one
// table while the next one is written.
func fillLevelZero(t *testing.T, r *Replica, tables int, stop *atomic.Bool) {
	t.Helper()
	for n := 0; ; n++ {
		before := r.db.Condition().LevelZero
		b := r.db.NewBatch()
		b.Forced = true
		for i := range 8 {
			if err := b.Set(rowKey(100_000+8*n+i), bytes.Repeat([]byte{byte(n)}, 20_000), r.Applied()); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Flush(); err != nil {
			t.Fatal(err)
		}
		if now := r.db.Condition().LevelZero; now >= tables || now < before || stop.Load() {
			return
		}
	}
}
