package storage

import (
	"bytes"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage/engine"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
)

const (
	plenty    = 1 << 40
	mergeless = engine.LastRoom + 16<<20 // entries go on, and no merge has room
)

// diskOf has a replica see so much free space.
func diskOf(free *atomic.Int64) func(*Config) {
	return func(c *Config) { c.Knobs.Free = func(string) (int64, error) { return free.Load(), nil } }
}

// commitEntry returns an entry that writes a row of so many bytes.
func commitEntry(n, size int) []byte {
	e := logentry.Commit{ID: txn.NewID(),
		Writes: logentry.AppendOp(nil, logentry.OpPut, rowKey(n), bytes.Repeat([]byte{'x'}, size))}
	return e.Encode()
}

// within fails the test if f does not return in time.
func within(t *testing.T, what string, f func() error) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	case <-time.After(testTimeout):
		t.Fatalf("%s: not in time", what)
	}
}

// fullLevelZero returns a replica whose disk has no room for merges and whose level 0 has as many
// tables as may be. More is being written until stop is set.
func fullLevelZero(t *testing.T, dir string) (r *Replica, stop func()) {
	t.Helper()
	var free atomic.Int64
	free.Store(plenty)
	r = openTest(t, dir, smallTables, diskOf(&free))
	commitRow(t, r, rowKey(0), "x")
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	free.Store(mergeless) // there is a table, so merges are held from the start on
	r = openTest(t, dir, smallTables, diskOf(&free))
	var over atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		fillLevelZero(t, r, engine.LevelZeroStall+8, &over)
	}()
	// Badger's own stall would end here, and with it all that waits for its writer.
	eventually.Holds(t, "level 0 is full", func() bool { return r.db.Condition().LevelZero >= engine.LevelZeroStall+4 })
	return r, func() {
		over.Store(true)
		<-done
	}
}

// TestCloseAtFullLevelZero: a replica closes though merges are held and level 0 is full. Entries
// are applied up to then: to wait for merges would be of no use.
func TestCloseAtFullLevelZero(t *testing.T) {
	dir := t.TempDir()
	r, stop := fullLevelZero(t, dir)
	within(t, "an entry", func() error {
		_, _, err := r.log.run(commitEntry(1, 100_000), 0)
		return err
	})
	within(t, "what was being written", func() error { stop(); return nil })
	within(t, "Close", r.Close)
	if _, err := os.Stat(filepath.Join(dir, engine.CleanFile)); err != nil {
		t.Error("the database was not closed in order:", err)
	}
	r = openTest(t, dir, smallTables)
	if got := readRow(t, r, rowKey(1)); len(got) != 100_000 {
		t.Errorf("the row has %d bytes", len(got))
	}
}

// TestDropAllAtFullLevelZero: a stream takes the place of a database whose level 0 is full while
// merges are held.
func TestDropAllAtFullLevelZero(t *testing.T) {
	r, stop := fullLevelZero(t, t.TempDir())
	within(t, "what was being written", func() error { stop(); return nil })
	within(t, "dropAll", r.db.Clear)
	if n := r.db.Condition().LevelZero; n >= engine.LevelZeroStall {
		t.Errorf("level 0 has %d tables", n)
	}
}

// TestNoRoom: without room on the disk nothing is written to the database, what is applied can be
// read, and with room the replica goes on by itself.
func TestNoRoom(t *testing.T) {
	var free atomic.Int64
	free.Store(plenty)
	r := openTest(t, t.TempDir(), diskOf(&free))
	commitRow(t, r, rowKey(1), "before")
	at := r.Applied()
	fillDisk(t, r, &free)
	done := make(chan error, 1)
	go func() {
		_, _, err := r.log.run(commitEntry(1, 10), 0)
		done <- err
	}()
	eventually.Holds(t, "the entry waits for room", func() bool { return short(r) })
	if got := readAt(t, r, at, rowKey(1)); got != "before" {
		t.Errorf("got %q", got)
	}
	select {
	case err := <-done:
		t.Fatalf("an entry was applied without room: %v", err)
	default:
	}
	free.Store(engine.LastRoom)
	within(t, "the entry", func() error { return <-done })
	if got := readRow(t, r, rowKey(1)); got != "xxxxxxxxxx" {
		t.Errorf("got %q", got)
	}
	if short(r) {
		t.Error("writes still wait for room")
	}
}

// fillDisk leaves too little room for any write, and returns when r has seen that.
func fillDisk(t *testing.T, r *Replica, free *atomic.Int64) {
	t.Helper()
	free.Store(engine.LastRoom - 1)
	eventually.Holds(t, "the disk is full", func() bool { return r.db.Room(true) != nil })
}

// readAt reads a row as of T.
func readAt(t *testing.T, r *Replica, T txn.Timestamp, key []byte) string {
	t.Helper()
	v, err := r.Tx(txn.ID{}).View(testContext(t), T)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	got, err := v.Get(testContext(t), key)
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

// short reports whether a batch waits for room.
func short(r *Replica) bool { return r.db.Condition().Waiting > 0 }

// TestCloseWithoutRoom: a replica closes on a full disk without writing a table or a checkpoint.
// The outcome of an entry that waited is unknown to its proposer, and it is applied at the next
// start, which wants room.
func TestCloseWithoutRoom(t *testing.T) {
	for _, waits := range []bool{false, true} {
		dir := t.TempDir()
		var free atomic.Int64
		free.Store(plenty)
		r := openTest(t, dir, diskOf(&free))
		commitRow(t, r, rowKey(1), "before")
		fillDisk(t, r, &free)
		done := make(chan error, 1)
		if waits {
			go func() {
				_, _, err := r.log.run(commitEntry(2, 10), 0)
				done <- err
			}()
			eventually.Holds(t, "the entry waits for room", func() bool { return short(r) })
		}
		within(t, "Close", r.Close)
		if waits {
			if err := <-done; !pgerr.Is(err, pgerr.StatementCompletionUnknown) {
				t.Errorf("the entry that waited: %v", err)
			}
		}
		for _, pattern := range []string{"data/*.sst", "data/*.mem", engine.CleanFile} {
			if files, err := filepath.Glob(filepath.Join(dir, pattern)); err != nil || len(files) > 0 {
				t.Errorf("Close has left %v, %v", files, err)
			}
		}
		free.Store(engine.StartRoom - 1)
		cfg := Config{Dir: dir, Fragment: 1, Clock: txn.NewClock(nil, 0), Logger: quiet}
		diskOf(&free)(&cfg)
		if r, err := Open(cfg); !pgerr.Is(err, pgerr.DiskFull) {
			if err == nil {
				r.Close()
			}
			t.Fatalf("a start without room: %v", err)
		}
		free.Store(plenty)
		r = openTest(t, dir, diskOf(&free))
		if got := readRow(t, r, rowKey(1)); got != "before" {
			t.Errorf("got %q", got)
		}
		if got := readRow(t, r, rowKey(2)); waits && got != "xxxxxxxxxx" {
			t.Errorf("got %q of the entry that waited", got)
		}
	}
}
