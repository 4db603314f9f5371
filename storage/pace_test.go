package storage

import (
	"bytes"
	"testing"

	"github.com/sherddb/sherd/txn"
)

// TestLarge tells transactions whose writes stay in memory from those whose do not.
func TestLarge(t *testing.T) {
	c := openCluster(t, tempDirs(t, 1), small)
	r := c.rs[0]
	commitRow(t, r, rowKey(1), "small")
	if r.cfg.Pace.Large() {
		t.Fatal("a row counts as a large transaction")
	}
	tx := r.Tx(txn.NewID())
	defer tx.Rollback()
	if err := tx.LockNewest(testContext(t), rowKey(2)); err != nil {
		t.Fatal(err)
	}
	if err := tx.Put(rowKey(2), bytes.Repeat([]byte("x"), int(r.cfg.StageMemory))); err != nil {
		t.Fatal(err)
	}
	if !r.cfg.Pace.Large() {
		t.Fatal("writes that go to a file do not count as a large transaction")
	}
}
