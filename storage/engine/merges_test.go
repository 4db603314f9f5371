package engine

import (
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// TestMergesMay: all engines merge if there is room for all, one at a time if there is room for
// one, and otherwise none.
func TestMergesMay(t *testing.T) {
	const mib = 1 << 20
	var m Merges
	a, b, c := &Engine{}, &Engine{}, &Engine{}
	now := time.Unix(1000, 0)
	ask := func(e *Engine, free int64, wants, want bool) {
		t.Helper()
		if got := m.may(e, space{free: free * mib, least: 256 * mib, need: 300 * mib, wants: wants}, now); got != want {
			t.Errorf("with %d MiB free it may merge: %v", free, got)
		}
		if !want {
			m.done(e)
		}
	}
	for _, e := range []*Engine{a, b, c} {
		ask(e, 1156, true, true)
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

func TestCrowded(t *testing.T) {
	for _, c := range []struct {
		tables int
		score  float64 // of the base level
		want   bool
	}{
		{levelZeroCalm - 1, 9, false}, {levelZeroCalm, 0.9, false}, {levelZeroCalm, 1, true}, {levelZeroBusy, 0, true},
	} {
		levels := []badger.LevelInfo{{NumTables: c.tables}, {Level: 1, IsBaseLevel: true, Score: c.score}}
		if got := crowded(levels); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	if crowded(nil) {
		t.Error("an empty database is crowded")
	}
}
