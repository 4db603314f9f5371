package storage

import (
	"testing"
	"time"

	"github.com/sherddb/sherd/txn"
)

// TestLeft: deletions of this term are told apart; those of an earlier one, and of transactions
// that it left prepared, are not.
func TestLeft(t *testing.T) {
	// what is prepared stays so, since its coordinator fragment is not there
	slowRecovery := func(c *Config) { c.Timing.RecoverAfter, c.Timing.RecoverLive = time.Hour, time.Hour }
	c := openCluster(t, tempDirs(t, 1), slowRecovery)
	ctx := testContext(t)
	left := func(key []byte) bool {
		t.Helper()
		got, err := c.rs[0].Tx(txn.NewID()).Left(key)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	leave := func(key []byte) *Tx {
		t.Helper()
		tx := c.rs[0].Tx(txn.NewID())
		_, err := tx.Lock(ctx, key, txn.LockRequest{Mode: txn.Update, T: txn.MaxTimestamp})
		if err == nil {
			err = tx.Delete(key)
		}
		if err != nil {
			t.Fatal(err)
		}
		tx.Leaves(key)
		return tx
	}
	for i := range 4 {
		commitRow(t, c.rs[0], rowKey(i), "first")
	}
	change(t, c.rs[0], rowKey(0), txn.Update, "")
	if _, err := leave(rowKey(1)).Commit(ctx, txn.CommitRequest{}); err != nil {
		t.Fatal(err)
	}
	if left(rowKey(0)) || !left(rowKey(1)) {
		t.Error("what was deleted and what got another key are not told apart")
	}
	p, C := leave(rowKey(2)), c.co.Clock.Now()+1<<16
	if err := p.Prepare(ctx,
		txn.PrepareRequest{C: C, Coordinator: 2, Attempt: 1, Writers: []txn.FragmentID{1, 2}}); err != nil {
		t.Fatal(err)
	}
	c = c.crash(slowRecovery)
	change(t, c.rs[0], rowKey(3), txn.Update, "")
	if !left(rowKey(0)) || !left(rowKey(1)) || left(rowKey(3)) {
		t.Error("of an earlier term something is known, or of this one not")
	}
	p = c.rs[0].Tx(p.id)
	d := txn.Decision{ID: p.id, C: C, Outcome: txn.Committed, Writers: []txn.FragmentID{1, 2}}
	if err := p.Resolve(ctx, d); err != nil {
		t.Fatal(err)
	}
	if !left(rowKey(2)) {
		t.Error("of a transaction that was prepared in an earlier term the deletion counts for one")
	}
}
