package storage

import (
	"context"
	"errors"
	"testing"

	"github.com/sherddb/sherd/txn"
)

// TestLockSet has a transaction with many locks, of which few are in the table.
func TestLockSet(t *testing.T) {
	r := openTest(t, t.TempDir(), func(c *Config) { c.WholeLocks = 64 })
	ctx := testContext(t)
	const rows = 5000
	a, b := r.Tx(txn.NewID()), r.Tx(txn.NewID())
	lock := func(tx *Tx, row int, mode txn.LockMode) error {
		t.Helper()
		_, err := tx.Lock(ctx, rowKey(row), txn.LockRequest{Mode: mode, T: txn.MaxTimestamp, NoWait: true})
		return err
	}
	var mark txn.Mark
	for i := range rows {
		if i == rows/2 {
			mark = a.Mark()
		}
		mode := txn.NoKeyUpdate
		if i%2 == 1 {
			mode = txn.Update
		}
		if err := lock(a, i, mode); err != nil {
			t.Fatal(err)
		}
		if err := a.Put(rowKey(i), []byte("v")); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(a.held); n > 300 {
		t.Errorf("%d locks are held whole", n)
	}
	if _, total := r.Locks(10); total != rows {
		t.Errorf("%d locks in all", total)
	}
	for i := range rows { // a second statement over the same rows
		if err := lock(a, i, txn.NoKeyUpdate); err != nil {
			t.Fatal(err)
		}
	}
	if n := a.whole(); n > 300 {
		t.Errorf("%d locks are held whole after they were asked for again", n)
	}
	check := func(row int, mode txn.LockMode, free bool) {
		t.Helper()
		err := lock(b, row, mode)
		if free != (err == nil) || err != nil && !errors.Is(err, txn.ErrLocked) {
			t.Errorf("row %d in %s: %v", row, mode, err)
		}
	}
	check(2, txn.KeyShare, true)
	check(3, txn.KeyShare, false)
	check(4, txn.NoKeyUpdate, false)
	check(rows+1, txn.Update, true)
	a.RollbackTo(mark)
	check(rows-1, txn.Update, true)
	check(rows/2, txn.Update, true)
	check(rows/2-1, txn.Update, false)
	if err := lock(a, rows/2-1, txn.Update); err != nil { // its own
		t.Error(err)
	}
	waited := make(chan error, 1)
	go func() {
		_, err := b.Lock(context.WithoutCancel(ctx), rowKey(1), txn.LockRequest{Mode: txn.Update, T: txn.MaxTimestamp})
		waited <- err
	}()
	for totalWaits([]*Replica{r}) == 0 {
		if ctx.Err() != nil {
			t.Fatal(ctx.Err())
		}
	}
	if _, err := a.Commit(ctx, txn.CommitRequest{}); err != nil {
		t.Fatal(err)
	}
	if err := <-waited; err != nil {
		t.Error(err)
	}
	check(3, txn.Update, true)
	b.Rollback()
	if _, total := r.Locks(10); total != 0 || r.locks.sets.Load() != nil {
		t.Errorf("%d locks are left", total)
	}
}
