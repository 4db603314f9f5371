package storage

import (
	"errors"
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
)

// TestYield: a leader that yields admits no new transactions, waits for those with something that
// would be lost, and goes on leading if they stay.
func TestYield(t *testing.T) {
	r := openTest(t, t.TempDir())
	ctx := testContext(t)
	commitRow(t, r, rowKey(1), "a")
	T, err := r.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	users := map[string]func() *Tx{
		"a lock": func() *Tx {
			tx := r.Tx(txn.NewID())
			if err := tx.LockNewest(ctx, rowKey(1)); err != nil {
				t.Fatal(err)
			}
			return tx
		},
		"a validated read": func() *Tx {
			tx := r.Tx(txn.NewID())
			tx.TrackReads()
			v, err := tx.View(ctx, T)
			if err != nil {
				t.Fatal(err)
			}
			defer v.Close()
			if _, err := v.Get(ctx, rowKey(1)); err != nil {
				t.Fatal(err)
			}
			return tx
		},
	}
	for name, use := range users {
		tx := use()
		r.cfg.Timing.Yield = time.Millisecond
		if _, err := r.Group.yield(ctx, false); !errors.Is(err, ErrInUse) {
			t.Errorf("%s: %v", name, err)
		}
		if err := tx.LockNewest(ctx, rowKey(2)); err != nil {
			t.Errorf("%s: the transaction cannot go on: %v", name, err)
		}
		r.cfg.Timing.Yield = testTimeout // the transaction is rolled back meanwhile, however late that is
		given := make(chan func())
		go func() {
			after, err := r.Group.yield(ctx, false)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			given <- after
		}()
		eventually.Holds(t, "the leader yields", r.Group.Yielding)
		tx.Rollback()
		after := <-given
		late := r.Tx(txn.NewID())
		if err := late.LockNewest(ctx, rowKey(3)); !NotLed(err) {
			t.Errorf("%s: a transaction that came late: %v", name, err)
		}
		serializable := r.Tx(txn.NewID())
		serializable.TrackReads()
		if _, err := serializable.View(ctx, T); !NotLed(err) {
			t.Errorf("%s: a reader that came late: %v", name, err)
		}
		if after == nil {
			continue
		}
		after()
		if err := late.LockNewest(ctx, rowKey(3)); err != nil {
			t.Errorf("%s: after that: %v", name, err)
		}
		late.Rollback()
	}
}

// TestWaitsEndWithTheTerm: no wait for what may never be applied or decided here lasts longer than
// the term.
func TestWaitsEndWithTheTerm(t *testing.T) {
	r := openTest(t, t.TempDir())
	ctx := testContext(t)
	commitRow(t, r, rowKey(1), "a")
	tx := r.Tx(txn.NewID())
	if err := tx.LockNewest(ctx, rowKey(1)); err != nil {
		t.Fatal(err)
	}
	if err := tx.Put(rowKey(1), []byte("b")); err != nil {
		t.Fatal(err)
	}
	C := r.cfg.Clock.Now()
	if err := tx.Prepare(ctx,
		txn.PrepareRequest{C: C, Coordinator: 2, Attempt: 1, Writers: []txn.FragmentID{1, 2}}); err != nil {
		t.Fatal(err)
	}
	reading := make(chan error, 1)
	v, err := r.Tx(txn.NewID()).View(ctx, C)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	go func() {
		_, err := v.Get(ctx, rowKey(1))
		reading <- err
	}()
	over := r.proposer.Over()
	r.follow()
	if err := r.proposer.Applied.Wait(ctx, over, uint64(C)+1000); !pgerr.Is(err, pgerr.CannotConnectNow) {
		t.Errorf("a wait for a stamp: %v", err)
	}
	if err := <-reading; !pgerr.Is(err, pgerr.CannotConnectNow) {
		t.Errorf("a read of what is undecided: %v", err)
	}
}
