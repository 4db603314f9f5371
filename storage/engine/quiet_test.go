package engine

import (
	"fmt"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/txn"
)

// fill writes rows until level 0 has as many tables.
func fill(t *testing.T, e *Engine, tables int) (rows int) {
	t.Helper()
	value := fmt.Sprintf("%01000d", 1)
	for ; e.levelZero() < tables; rows++ {
		set(t, e, row(rows%20000), value, txn.Timestamp(rows+1))
	}
	return rows
}

// TestQuiet: an engine to which nothing is written has its level 0 merged, one at a time.
func TestQuiet(t *testing.T) {
	var merges Merges
	shared := func(o *Options) { o.Merges = &merges }
	e, other := open(t, t.TempDir(), shared), open(t, t.TempDir(), shared)
	rows := fill(t, e, quietTables+2)
	fill(t, other, quietTables)
	now := time.Now()
	look := func(e *Engine, after time.Duration) bool {
		e.watchMerges(plenty, now.Add(after))
		e.quiet.mu.RLock()
		defer e.quiet.mu.RUnlock()
		return e.quiet.merge
	}
	if look(e, 0) || look(e, quietFor/2) {
		t.Error("it merges although it is not quiet")
	}
	if !look(e, time.Hour) || look(other, time.Hour) {
		t.Error("the first one that is quiet does not merge, or the second one does")
	}
	eventually.Holds(t, "level 0 is merged", func() bool { return e.levelZero() < quietTables })
	if look(e, time.Hour) || *levelZeroTables(e.db) != LevelZeroTables {
		t.Error("it goes on to merge")
	}
	for n := range rows {
		if get(t, e, row(n%20000), txn.MaxTimestamp) == "" {
			t.Fatalf("row %d is gone", n)
		}
	}
	if !look(other, 3*time.Hour) {
		t.Error("the second one does not merge after the first one")
	}
	fill(t, other, other.levelZero()+1)
	if look(other, 0) {
		t.Error("it merges although a table was added")
	}
}

func TestOverfull(t *testing.T) {
	for score, want := range map[float64]bool{0.5: false, 1: true} {
		levels := []badger.LevelInfo{{NumTables: 9, Score: 3}, {Level: 1, IsBaseLevel: true, Score: score}}
		if got := overfull(levels); got != want {
			t.Errorf("with a score of %v: %v", score, got)
		}
	}
}
