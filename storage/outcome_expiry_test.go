package storage

import (
	"encoding/binary"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

// idOf is an id of a transaction that begins now by a clock.
func idOf(clock *txn.Clock) txn.ID {
	var at [8]byte
	id := txn.NewID()
	binary.BigEndian.PutUint64(at[:], uint64(clock.Wall().Time().UnixMilli()))
	copy(id[4:10], at[2:])
	return id
}

// ownRecords counts the replica's own records of a kind.
func ownRecords(t *testing.T, r *Replica, kind keyspace.Kind) (n int) {
	t.Helper()
	tx := r.db.At(txn.MaxTimestamp)
	defer tx.Close()
	if err := tx.EachRecord(kind, func(_, _ []byte) error { n++; return nil }); err != nil {
		t.Fatal(err)
	}
	return n
}

// commitForgotten commits a transaction over two fragments and has its coordinator fragment forget
// the decision.
func commitForgotten(t *testing.T, c *cluster, clock *txn.Clock) (txn.ID, *Replica) {
	t.Helper()
	id := idOf(clock)
	if _, err := c.co.Commit(t.Context(), id, 0, c.put(id, rowKey(1), "both")); err != nil {
		t.Fatal(err)
	}
	c.resolveAll()
	a := c.rs[id.CoordinatorOf(2)]
	a.txns.mu.RLock()
	d := a.txns.decided[id]
	a.txns.mu.RUnlock()
	if d != nil {
		a.Outcomes.push(d)
	}
	a.Outcomes.forgets.flush(a.log)
	a.machine.mu.Lock()
	defer a.machine.mu.Unlock()
	if a.machine.s.decided[id] != nil {
		t.Fatal("the decision is not forgotten")
	}
	return id, a
}

// TestOutcomesAndWallClock: the wall clock of a node jumps an hour ahead of the stamps. What was
// committed is known as before: outcomes and decisions expire by stamps. When the stamps are that
// far, they go.
func TestOutcomesAndWallClock(t *testing.T) {
	var ahead atomic.Int64
	ahead.Store(-int64(time.Hour)) // Badger's clock is the wall clock
	clock := txn.NewClock(func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }, 0)
	c := openCluster(t, tempDirs(t, 2), slowRecovery, func(c *Config) { c.Clock = clock })
	c.co.Clock = clock
	id, a := commitForgotten(t, c, clock)
	single := idOf(clock)
	batch := func(first txn.ID) {
		t.Helper()
		for n := range outcomeBatch {
			if n > 0 {
				first = idOf(clock)
			}
			tx := a.Tx(first)
			if err := tx.LockNewest(t.Context(), rowKey(2)); err != nil {
				t.Fatal(err)
			}
			tx.Put(rowKey(2), []byte("x"))
			if _, err := tx.Commit(t.Context(), txn.CommitRequest{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	batch(single)
	for name, decide := range map[string]func(txn.Decision) (txn.Outcome, error){"decide": a.Outcomes.decide,
		"implicit commit": a.Outcomes.decideImplicit} {
		out, err := decide(txn.Decision{ID: id, C: a.Applied(), Outcome: txn.Aborted})
		if out != txn.Committed || err != nil {
			t.Errorf("%s: an abort of what was committed is answered %v, %v", name, out, err)
		}
	}
	for what, id := range map[string]txn.ID{"one fragment": single, "two fragments": id} {
		if _, committed, err := a.Outcomes.savedOutcome(id); !committed || err != nil {
			t.Errorf("a commit in %s is not known: %v", what, err)
		}
	}
	ahead.Add(int64(keepOutcome + time.Minute))
	again, _ := commitForgotten(t, c, clock)
	for again.CoordinatorOf(2) != id.CoordinatorOf(2) {
		again, _ = commitForgotten(t, c, clock)
	}
	batch(idOf(clock))
	if _, known, err := a.Outcomes.savedDecision(id); known || err != nil {
		t.Errorf("a decision does not expire: %v", err)
	}
	if _, known, err := a.Outcomes.savedDecision(again); !known || err != nil {
		t.Errorf("a decision expires at once: %v", err)
	}
	if n, m := ownRecords(t, a, keyspace.Forgotten), ownRecords(t, a, keyspace.Outcomes); n != 1 || m != 1 {
		t.Errorf("%d lists of decisions and %d of outcomes are left", n, m)
	}
}
