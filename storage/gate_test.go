package storage

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sherddb/sherd/txn"
)

// bufferIn buffers a row, and locks it.
func (m *mover) bufferIn(r *Replica, bucket uint32, name string) *Tx {
	m.t.Helper()
	tx := r.Tx(txn.NewID())
	key := movedKey(bucket, name)
	if err := errors.Join(tx.LockNewest(testContext(m.t), key), tx.Put(key, []byte("x"))); err != nil {
		m.t.Fatal(err)
	}
	return tx
}

// prepareAt prepares at C, or above where that is promised away.
func (m *mover) prepareAt(tx *Tx, C txn.Timestamp) error {
	for {
		err := tx.Prepare(testContext(m.t), txn.PrepareRequest{C: C, Coordinator: 1, Writers: []txn.FragmentID{1}})
		var low *txn.LowError
		if !errors.As(err, &low) {
			return err
		}
		C = low.LowWater + 1
	}
}

// TestGate: while a move waits for what is prepared in its ranges, nothing more is prepared there;
// elsewhere it is, and commits of one fragment go on.
func TestGate(t *testing.T) {
	m := openMover(t, slowRecovery)
	a := m.c.rs[0]
	first, second, elsewhere := m.bufferIn(a, 100, "first"), m.bufferIn(a, 101, "second"), m.bufferIn(a, 9000, "elsewhere")
	C := current(t, a).Add(time.Second)
	if err := m.prepareAt(first, C); err != nil {
		t.Fatal(err)
	}
	open, _ := a.Owned.CloseGate(1, movedRange)
	if err := m.prepareAt(elsewhere, C+1); err != nil {
		t.Errorf("elsewhere: %v", err)
	}
	commitRow(t, a, movedKey(102, "one"), "x")
	done := make(chan error, 1)
	go func() { done <- m.prepareAt(second, C+2) }()
	out, err := first.Decide(t.Context(),
		txn.Decision{ID: first.ID(), C: C, Outcome: txn.Committed, Writers: []txn.FragmentID{1}})
	if out != txn.Committed || err != nil {
		t.Fatal(out, err)
	}
	if err := a.Moves.awaitResolved(testContext(t), movedRange, time.Minute); err != nil {
		t.Errorf("with the gate closed: %v", err)
	}
	select {
	case err := <-done:
		t.Errorf("prepared behind the gate: %v", err)
	default:
	}
	open()
	if err := <-done; err != nil {
		t.Errorf("when the gate was open: %v", err)
	}
}

// TestGoneBehindTheGate: a transaction whose gateway goes away while it waits to be prepared keeps
// no lock, whether it is rolled back before or after it has noticed.
func TestGoneBehindTheGate(t *testing.T) {
	m := openMover(t, slowRecovery)
	a := m.c.rs[0]
	for n, before := range []bool{true, false} {
		tx := m.bufferIn(a, 100, "wanted")
		open, _ := a.Owned.CloseGate(uint64(n)+1, movedRange)
		ctx, gone := context.WithCancel(testContext(t))
		done := make(chan error, 1)
		go func() {
			done <- tx.Prepare(ctx,
				txn.PrepareRequest{C: current(t, a).Add(time.Second), Coordinator: 1, Writers: []txn.FragmentID{1}})
		}()
		for busy := false; !busy; runtime.Gosched() {
			tx.mu.Lock()
			busy = tx.phase == phaseBusy
			tx.mu.Unlock()
		}
		if before {
			tx.Rollback()
		}
		gone()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if !before {
			tx.Rollback()
		}
		open()
		commitRow(t, a, movedKey(100, "wanted"), "mine")
	}
}

// TestUncalm: if what is prepared stays undecided, nothing is fenced, and the same number may be
// tried again. No transaction is held up for what has been in doubt for long.
func TestUncalm(t *testing.T) {
	var gated atomic.Int32
	m := openMover(t, slowRecovery, func(c *Config) {
		c.Knobs.Fault = func(point string) {
			if point == "move.gated" {
				gated.Add(1)
			}
		}
	})
	a := m.c.rs[0]
	tx := m.bufferIn(a, 100, "k")
	C := current(t, a).Add(10 * time.Millisecond)
	if err := m.prepareAt(tx, C); err != nil {
		t.Fatal(err)
	}
	a.txns.mu.Lock()
	// it is not in doubt, however slow the machine is
	a.txns.prepared[tx.ID()].since = time.Now().Add(testTimeout)
	a.txns.mu.Unlock()
	n := m.number()
	cut := func(resolveAll time.Duration) error {
		_, err := a.Moves.Cut(testContext(t), ReadRequest{Ranges: movedRange, Move: n}, resolveAll,
			func([]Version) error { return nil })
		return err
	}
	if err := cut(time.Millisecond); !Uncalm(err) || len(a.Owned.Fenced()) != 0 || a.Owned.Gate() != nil {
		t.Errorf("%v, fences %+v", err, a.Owned.Fenced())
	}
	if gated.Load() != 1 {
		t.Errorf("others were held up %d times", gated.Load())
	}
	a.txns.mu.Lock()
	a.txns.prepared[tx.ID()].since = time.Now().Add(-doubtAfter)
	a.txns.mu.Unlock()
	if err := cut(time.Millisecond); !Uncalm(err) || gated.Load() != 1 {
		t.Errorf("in doubt for long: %v, others were held up %d times", err, gated.Load())
	}
	commitRow(t, a, movedKey(100, "other"), "x")
	out, err := tx.Decide(t.Context(),
		txn.Decision{ID: tx.ID(), C: C, Outcome: txn.Committed, Writers: []txn.FragmentID{1}})
	if out != txn.Committed || err != nil {
		t.Fatal(out, err)
	}
	if err := cut(time.Minute); err != nil || len(a.Owned.Fenced()) != 1 {
		t.Errorf("after the decision: %v, fences %+v", err, a.Owned.Fenced())
	}
}
