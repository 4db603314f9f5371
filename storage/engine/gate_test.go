package engine

import (
	"bytes"
	"os"
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage/keyspace"
)

// copied returns a copy of a directory.
func copied(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

// fillLevelZero writes tables into level 0, past the gate, until it has so many.
func fillLevelZero(t *testing.T, e *Engine, tables int) {
	t.Helper()
	for n := 0; e.Condition().LevelZero < tables; n++ {
		b := e.NewBatch()
		b.Forced = true
		for i := range 8 {
			if err := b.Set(row(10_000+8*n+i), bytes.Repeat([]byte{byte(n)}, 20_000), 5); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Flush(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestStall: while another engine merges and level 0 is full, batches wait for merges and reads go
// on. They are written when it is this engine's turn.
func TestStall(t *testing.T) {
	d, merges := newDisk(plenty), &Merges{}
	e := open(t, t.TempDir(), onDisk(d), func(o *Options) { o.Merges = merges })
	set(t, e, row(0), "x", 4)
	other := &Engine{}
	merges.mu.Lock()
	merges.needs[other], merges.turn, merges.since, merges.asked = 1<<30, other, time.Now(), false
	merges.mu.Unlock()
	d.free.Store(1 << 30)
	eventually.Holds(t, "merges are held", func() bool { return e.Condition().MergesHeld })
	fillLevelZero(t, e, LevelZeroStall)
	if e.Condition().NoMerges {
		t.Fatal("the disk has no room for merges")
	}
	done := make(chan error, 1)
	go func() {
		b, err := e.NewBatch(), error(nil)
		for n := 1; n < 7 && err == nil; n++ { // more than half a memtable
			err = b.Set(row(n), make([]byte, 100_000), 6)
		}
		if err == nil {
			err = b.Flush()
		}
		done <- err
	}()
	eventually.Holds(t, "the batch waits for merges", func() bool { return e.Condition().Seen >= LevelZeroStall })
	if got := get(t, e, row(0), 5); got != "x" {
		t.Errorf("got %q", got)
	}
	select {
	case err := <-done:
		t.Fatalf("a batch was written with %d tables in level 0: %v", e.Condition().LevelZero, err)
	default:
	}
	merges.forget(other)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := get(t, e, row(1), 6); len(got) != 100_000 {
		t.Errorf("the row has %d bytes", len(got))
	}
}

// TestLeastRoom: rows that others may send without end leave the last of the disk to what makes
// room.
func TestLeastRoom(t *testing.T) {
	follower := &Engine{o: Options{Follows: func() bool { return true }}}
	leader := &Engine{o: Options{Follows: func() bool { return false }}}
	record := keyspace.StampRecord(keyspace.Deletion, 1)
	for _, c := range []struct {
		name            string
		e               *Engine
		x               version
		later, starting bool
		want            int64
	}{
		{"a row at a follower", follower, version{key: row(1)}, false, false, LastRoom + RowsRoom},
		{"a deletion at a follower", follower, version{key: row(1), deleted: true}, false, false, LastRoom},
		{"a record at a follower", follower, version{key: record}, false, false, LastRoom},
		{"a row at a leader", leader, version{key: row(1)}, false, false, LastRoom},
		{"a row that can wait", leader, version{key: row(1)}, true, false, LastRoom + RowsRoom},
		{"a row at a start", follower, version{key: row(1)}, false, true, StartRoom},
	} {
		b := Batch{Later: c.later, Starting: c.starting}
		if err := b.put(c.x); err != nil {
			t.Fatal(err)
		}
		g := gate{e: c.e}
		if got := g.least(&b); got != c.want {
			t.Errorf("%s: %d MB must be free, not %d", c.name, got>>20, c.want>>20)
		}
	}
	many := gate{e: &Engine{o: Options{MemTable: 4 << 20}}, others: 30}
	if got := many.least(&Batch{}); got != LastRoom/2+30*4<<20 {
		t.Errorf("for 30 replicas %d MB must be free", got>>20)
	}
}

// TestRoom: writes of clients are refused while the disk has too little room, deletes only when it
// has less, and a start fails on a full disk.
func TestRoom(t *testing.T) {
	d, dir := newDisk(plenty), t.TempDir()
	e := open(t, dir, onDisk(d))
	for _, c := range []struct {
		free            int64
		writes, deletes bool
	}{{200 << 20, false, true}, {100 << 20, false, false}, {plenty, true, true}} {
		d.free.Store(c.free)
		eventually.Holds(t, "room is noticed", func() bool { return (e.Room(false) == nil) == c.writes })
		eventually.Holds(t, "room is noticed", func() bool { return (e.Room(true) == nil) == c.deletes })
		if err := e.Room(false); err != nil && !pgerr.Is(err, pgerr.DiskFull) {
			t.Errorf("%v", err)
		}
	}
	stop := make(chan struct{})
	defer close(stop)
	if _, err := Open(newDisk(StartRoom-1).options(t.TempDir(), stop)); !pgerr.Is(err, pgerr.DiskFull) {
		t.Errorf("a start without room: %v", err)
	}
	if _, err := Open(newDisk(plenty).options(dir, stop)); !pgerr.Is(err, pgerr.ObjectInUse) {
		t.Errorf("a directory that is in use: %v", err)
	}
}
