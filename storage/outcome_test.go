package storage

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/sherddb/sherd/txn"
)

// TestOutcomes asks for commits of one fragment and of several, new and long past the memory of the
// newest, before and after a crash.
func TestOutcomes(t *testing.T) {
	c := openCluster(t, tempDirs(t, 2), small)
	r := c.rs[0]
	ids := map[txn.ID]txn.Timestamp{}
	single := func() {
		id := txn.NewID()
		tx := r.Tx(id)
		if err := tx.LockNewest(testContext(t), rowKey(1)); err != nil {
			t.Fatal(err)
		}
		tx.Put(rowKey(1), []byte("x"))
		C, err := tx.Commit(testContext(t), txn.CommitRequest{})
		if err != nil {
			t.Fatal(err)
		}
		ids[id] = C
	}
	single()
	double, aborted, open := txn.NewID(), txn.NewID(), txn.NewID()
	C2, err := c.co.Commit(testContext(t), double, 0, c.put(double, rowKey(2), "y"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range c.put(aborted, rowKey(3), "z") {
		p.Rollback()
	}
	for range outcomeBatch + 20 {
		single()
	}
	check := func(when string) {
		t.Helper()
		for id, C := range ids {
			if out, got, err := c.rs[0].Outcomes.Query(id); out != txn.Committed || got != C || err != nil {
				t.Fatalf("%s: %s %s %v, committed at %s", when, out, got, err, C)
			}
		}
		coordinator := double.CoordinatorOf(2)
		if out, got, err := c.rs[coordinator].Outcomes.Query(double); out != txn.Committed || got != C2 || err != nil {
			t.Fatalf("%s: over two fragments: %s %s %v", when, out, got, err)
		}
		for _, id := range []txn.ID{aborted, txn.NewID()} {
			if out, _, err := c.rs[0].Outcomes.Query(id); out != txn.Unknown || err != nil {
				t.Fatalf("%s: %s %v", when, out, err)
			}
		}
	}
	c.resolveAll()
	check("before")
	parts := c.put(open, rowKey(4), "open")
	if out, _, err := r.Outcomes.Query(open); out != txn.InProgress || err != nil {
		t.Fatal(out, err)
	}
	for _, p := range parts {
		p.Rollback()
	}
	// The memory of the newest has forgotten all but the last batch.
	m := r.machine
	m.mu.Lock()
	n := len(m.s.order) - m.s.unsaved
	for _, id := range m.s.order[:n] {
		delete(m.s.recent, id)
	}
	m.s.order = m.s.order[n:]
	m.mu.Unlock()
	check("forgotten")
	c.resolveAll()
	c = c.crash(small)
	check("after a crash")
}

func TestOutcomeRecord(t *testing.T) {
	id := txn.NewID()
	b := append([]byte{outcomeFormat}, txn.ID{1}.String()[:16]...)
	b = binary.BigEndian.AppendUint64(b, 7)
	b = binary.BigEndian.AppendUint64(append(b, id[:]...), 9)
	if C, ok, err := findOutcome(b, id); C != 9 || !ok || err != nil {
		t.Fatal(C, ok, err)
	}
	if _, ok, err := findOutcome(b, txn.NewID()); ok || err != nil {
		t.Fatal(ok, err)
	}
	for _, bad := range [][]byte{nil, {2}, b[:len(b)-1]} {
		if _, _, err := findOutcome(bad, id); err == nil {
			t.Fatalf("%x is no record", bad)
		}
	}
	if now := time.Now(); now.Sub(KeptSince(now)) >= keepOutcome {
		t.Fatal("there is no slack")
	}
}
