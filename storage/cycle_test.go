package storage

import (
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
)

// TestDeadlockOverProcesses: fragments that share no detector have a circle that none of them sees.
// It is found by asking both, and ended.
func TestDeadlockOverProcesses(t *testing.T) {
	rs := []*Replica{openTest(t, t.TempDir()), openTest(t, t.TempDir())}
	ctx := testContext(t)
	a, b := txn.ID{15: 1}, txn.ID{15: 2}
	a0, a1, b0, b1 := rs[0].Tx(a), rs[1].Tx(a), rs[0].Tx(b), rs[1].Tx(b)
	if err := errors.Join(a0.LockNewest(ctx, rowKey(1)), b1.LockNewest(ctx, rowKey(1))); err != nil {
		t.Fatal(err)
	}
	ofA, ofB := make(chan error, 1), make(chan error, 1)
	go func() { ofA <- a1.LockNewest(ctx, rowKey(1)) }()
	go func() { ofB <- b0.LockNewest(ctx, rowKey(1)) }()
	ask := func(owners []txn.LockOwner) (out []txn.Edge) {
		for i, r := range rs {
			for _, w := range r.cfg.Deadlock.WaitsOf(owners) {
				out = append(out, txn.Edge{Node: uint32(i), Waiting: w})
			}
		}
		return out
	}
	var found []txn.Cycle
	for len(found) == 0 {
		if err := ctx.Err(); err != nil {
			t.Fatal(err)
		}
		var own []txn.Edge
		for _, w := range rs[0].cfg.Deadlock.Lasting(time.Now()) {
			own = append(own, txn.Edge{Waiting: w})
		}
		found = txn.FindCycles(own, ask)
		runtime.Gosched()
	}
	victim := found[0][0]
	if victim.Waiter.ID != b || !rs[0].cfg.Deadlock.Break(victim.Number, victim.Waiter, found[0].Err()) {
		t.Fatalf("%+v", found)
	}
	if err := <-ofB; !pgerr.Is(err, pgerr.DeadlockDetected) {
		t.Fatal(err)
	}
	b0.Rollback()
	b1.Rollback()
	if err := <-ofA; err != nil {
		t.Fatal(err)
	}
	a0.Rollback()
	a1.Rollback()
	if n := totalWaits(rs); n != 0 {
		t.Errorf("%d waits are left", n)
	}
}

func totalWaits(rs []*Replica) (n int) {
	for _, r := range rs {
		locks, _ := r.Inspect.Locks(1000)
		for _, l := range locks {
			if !l.Granted {
				n++
			}
		}
	}
	return n
}
