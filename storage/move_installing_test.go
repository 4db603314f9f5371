package storage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sherddb/sherd/txn"
)

// TestMoveAwayOfUninstalled: a source that has been restarted, and has not installed a large
// transaction of the ranges again, counts what goes only when it has.
func TestMoveAwayOfUninstalled(t *testing.T) {
	g := &installGate{}
	m := openMover(t, g.config)
	a, b := m.c.rs[0], m.c.rs[1]
	tx := a.Tx(txn.NewID())
	for n := range largeRows {
		key := movedKey(100, fmt.Sprintf("%02d", n))
		if err := errors.Join(tx.LockNewest(t.Context(), key), tx.Put(key, []byte(strings.Repeat("L", 20_000)))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := tx.Commit(t.Context(), txn.CommitRequest{}); err != nil {
		t.Fatal(err)
	}
	n := m.number()
	F, since, err := m.prepare(a, b, n, movedRange)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Moves.Own(t.Context(), n, movedRange, F, since); err != nil {
		t.Fatal(err)
	}
	open := g.close(t, 0)
	m.c = m.c.crash(withGlobals, g.config)
	a, b = m.c.rs[0], m.c.rs[1]
	if a.txns.undecided.Load() == 0 {
		t.Fatal("everything is installed")
	}
	// nothing is ready to end its wait but the end of its context
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.Moves.MoveAway(ended, n, movedRange); !errors.Is(err, context.Canceled) {
		t.Errorf("with rows that are not installed: %v", err)
	}
	open()
	if err := a.Moves.MoveAway(testContext(t), n, movedRange); err != nil {
		t.Fatal(err)
	}
	m.count(a)
	m.count(b)
	if err := a.Moves.Clean(testContext(t), n, movedRange); err != nil {
		t.Fatal(err)
	}
	m.count(a)
}
