package engine

import (
	"testing"

	"github.com/sherddb/sherd/txn"
)

// TestDiscard: the discard timestamp only rises, stays below what is held or ingested, and is
// nothing while the database is being replaced.
func TestDiscard(t *testing.T) {
	keep := txn.MaxTimestamp
	e := open(t, t.TempDir(), func(o *Options) { o.Keep = func() txn.Timestamp { return keep } })
	is := func(want txn.Timestamp) {
		t.Helper()
		if got := e.Condition().Discards; got != want {
			t.Errorf("versions below %d are discarded, not below %d", got, want)
		}
	}
	e.Discard(10)
	is(10)
	release := e.HoldAt(func() txn.Timestamp { return 15 })
	e.Discard(20)
	is(15)
	keep = 12
	e.Discard(0)
	is(12)
	keep = txn.MaxTimestamp
	release()
	release()
	e.Discard(0)
	is(20)
	e.BeginReplacing()
	if is(0); !e.Torn() || e.Replacements() != 1 {
		t.Error("the database is not being replaced")
	}
	e.Discard(30)
	is(0)
	e.Replaced()
	e.Discard(25)
	is(25)
}
