package rebalance_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/teststore"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

// TestMoveBesideSlowDecisions: where some transaction is prepared at every moment, and each is decided later than a fence waits for at first, a move comes to its
// end all the same. On a slow machine, beside many writers, it was tried again without end.
func TestMoveBesideSlowDecisions(t *testing.T) {
	t.Parallel()
	const lo, hi, decided, several = 100, 200, time.Second, 3
	dir := t.TempDir()
	c := teststore.Catalog(t, dir, 2)
	finalize(t, c)
	h := openMoving(t, dir, c, nil)
	defer func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}()
	fragments := c.View().Database(catalog.PostgresDB).Fragments
	source, target := fragments[0].ID, fragments[1].ID
	fill(t, h, source, lo, hi)
	r := owner(t, h, source)
	var writers sync.WaitGroup
	for n := range uint32(several) {
		prepared := make(chan bool)
		once := sync.OnceFunc(func() { close(prepared) })
		writers.Go(func() {
			defer once()
			for {
				if err := slowly(t, r, lo+n, decided, once); err != nil {
					if moved := new(txn.MovedError); !storage.RowsMoved(err) && !errors.As(err, &moved) { // begun before the move's end, or after it
						t.Error(err)
					}
					return
				}
			}
		})
		<-prepared
		time.Sleep(decided / several) // when one is decided the others are prepared, the last for a short time
	}
	if e := ended(t, c, begin(t, c, lo, hi, target)); e.Outcome != "done" {
		t.Errorf("%+v", e)
	}
	writers.Wait()
	if b := has(t, h, target); b != hi-lo {
		t.Errorf("the target has %d rows", b)
	}
}

// slowly writes the row of a bucket as it is, by a transaction that is decided some time after it was prepared.
func slowly(t *testing.T, r *storage.Replica, bucket uint32, decided time.Duration, prepared func()) error {
	tx := r.Tx(txn.NewID())
	defer tx.Rollback()
	key := append(keyspace.RowPrefix(movedRows, bucket, 0), 'k')
	value, err := tx.Newest(t.Context(), key)
	if err = errors.Join(err, tx.LockNewest(t.Context(), key)); err != nil {
		return err
	}
	if err := tx.Put(key, value); err != nil {
		return err
	}
	p := teststore.Preparing{Clock: txn.NewClock(time.Now, time.Minute), PrepareRequest: txn.PrepareRequest{Coordinator: r.ID(), Writers: []txn.FragmentID{r.ID()}}}
	if err := p.Prepare(t.Context(), tx); err != nil {
		return err
	}
	prepared()
	time.Sleep(decided)
	_, err = tx.Decide(t.Context(), txn.Decision{ID: tx.ID(), C: p.C, Outcome: txn.Committed, Writers: p.Writers})
	return err
}
