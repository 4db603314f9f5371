package kv

import (
	"testing"

	"github.com/sherddb/sherd/txn"
)

// TestDrop: what is remembered of a fragment goes with its replica.
func TestDrop(t *testing.T) {
	const f = txn.FragmentID(7)
	c := New(Config{}).Followers()
	before := c.turn(f)
	c.moved.Store(f, uint64(2))
	c.Drop(f)
	if _, known := c.moved.Load(f); known || c.turn(f) == before {
		t.Error("the fragment is remembered")
	}
}
