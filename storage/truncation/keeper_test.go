package truncation

import (
	"testing"

	"github.com/hashicorp/raft"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
)

// TestCut: the log is cut below the newest checkpoint that is in tables, and not beyond an entry
// that the checkpoint needs. The bound is on disk before the log is cut.
func TestCut(t *testing.T) {
	dir, inTables := t.TempDir(), txn.Timestamp(0)
	var steps []string
	k := New(Config{
		Dir: dir, Newest: func() txn.Timestamp { return inTables }, Replaced: func() bool { return false },
		Release: func() error { return nil }, Fault: func(p string) { steps = append(steps, p) },
	})
	if err := k.Open(0, false); err != nil {
		t.Fatal(err)
	}
	store := raft.NewInmemStore()
	for i := range uint64(100) {
		if err := store.StoreLog(&raft.Log{Index: i + 1}); err != nil {
			t.Fatal(err)
		}
	}
	log := k.Wrap(store)
	cut := func(want uint64) {
		t.Helper()
		steps = nil
		if first, err := log.FirstIndex(); err != nil || log.DeleteRange(first, 90) != nil {
			t.Fatal(err)
		}
		if first, _ := log.FirstIndex(); first != want {
			t.Errorf("the log begins at %d, want %d", first, want)
		}
	}
	cut(1)
	k.Note(Mark{Index: 20, Stamp: 200})
	k.Note(Mark{Index: 40, First: 31, Stamp: 400})
	k.Note(Mark{Index: 60, Stamp: 600})
	cut(1) // nothing is in tables
	inTables = 201
	if cut(21); len(steps) != 3 || steps[1] != "truncate.noted" || k.CutAt() != 20 {
		t.Error(steps, k.CutAt())
	}
	inTables = 500
	cut(31) // the checkpoint needs the log from there on
	k.SetSeveral(true)
	inTables = 700
	cut(31) // another replica may need it
	k.SetSeveral(false)
	cut(61)
	if err := log.DeleteRange(95, 100); err != nil { // a conflicting tail
		t.Fatal(err)
	}
	if last, _ := log.LastIndex(); last != 94 {
		t.Errorf("the log ends at %d", last)
	}
	again := New(Config{Dir: dir})
	if err := again.Open(60, false); err != nil || again.CutAt() != 60 {
		t.Error(err, again.CutAt())
	}
	if err := again.Open(59, true); err != nil {
		t.Error("a stream replaces what is missing: ", err)
	}
	if err := again.Open(59, false); !pgerr.Is(err, pgerr.DataCorrupted) {
		t.Errorf("entries are missing: %v", err)
	}
}
