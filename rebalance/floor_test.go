package rebalance_test

import (
	"errors"
	"testing"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/internal/teststore"
	"github.com/sherddb/sherd/node/store"
	"github.com/sherddb/sherd/rebalance/move"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

// TestNothingBelowTheFloor: a move reads the source as far as the target's watermark at first, also where nothing was written there for longer, so that nothing comes at or
// below that later (M8): a transaction that would be prepared there has to be prepared above.
func TestNothingBelowTheFloor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := teststore.Catalog(t, dir, 2)
	fragments := c.View().Database(catalog.PostgresDB).Fragments
	source, target := fragments[0].ID, fragments[1].ID
	var late func()
	ready := make(chan struct{})
	came := map[string]int{}
	h := openMoving(t, dir, c, func(at string) error {
		<-ready
		if came[at]++; at == move.Copied && came[at] == 1 {
			late()
		}
		return nil
	}, func(cfg *store.Config) { cfg.Storage.Timing.GCTTL = 100 * time.Millisecond })
	fill(t, h, source, 0, 200)
	from, to := owner(t, h, source), owner(t, h, target)
	then := standStill(t, from, to)
	late = func() {
		tx := from.Tx(txn.NewID())
		key := append(keyspace.RowPrefix(movedRows, 150, 0), 'k')
		if err := errors.Join(tx.LockNewest(t.Context(), key), tx.Put(key, []byte("150"))); err != nil {
			t.Error(err)
		}
		C, err := then+1, error(nil)
		for low := new(txn.LowError); ; C = low.LowWater + 1 {
			if err = tx.Prepare(t.Context(), txn.PrepareRequest{C: C, Coordinator: source, Writers: []txn.FragmentID{source}}); !errors.As(err, &low) {
				break
			}
		}
		if err != nil {
			t.Error(err)
		}
		out, err := tx.Decide(t.Context(), txn.Decision{ID: tx.ID(), C: C, Outcome: txn.Committed, Writers: []txn.FragmentID{source}})
		if out != txn.Committed || err != nil {
			t.Error(out, err)
		}
	}
	close(ready)
	if e := ended(t, c, begin(t, c, 100, 200, target)); e.Outcome != "done" || e.Documents != 100 || e.Retries != 0 || e.Steps != 1 {
		t.Errorf("%+v", e)
	}
	if came[move.IngestBegun] != 1 {
		t.Errorf("it came by %v", came)
	}
	if a, b := has(t, h, source), has(t, h, target); a != 100 || b != 100 {
		t.Errorf("the source has %d rows, the target %d", a, b)
	}
}

// standStill has nothing written into one replica's log, waits until the watermark of another is above all that is in it, and gives that.
func standStill(t *testing.T, r, other *storage.Replica) txn.Timestamp {
	t.Helper()
	release, err := r.Pin(r.Watermark())      // which keeps the watermark from being moved
	for pgerr.Is(err, pgerr.SnapshotTooOld) { // it is on its way
		release, err = r.Pin(r.Watermark())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	var then txn.Timestamp
	eventually.Holds(t, "the watermark passes what the other has written", func() bool {
		then = r.Applied()
		if err := other.Moves.PassBy(txn.NewClock(time.Now, 0).Wall()); err != nil {
			t.Fatal(err)
		}
		return other.Watermark() > then+1
	})
	return then
}
