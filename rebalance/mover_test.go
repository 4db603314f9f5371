package rebalance_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/teststore"
	"github.com/sherddb/sherd/node/store"
	"github.com/sherddb/sherd/rebalance/move"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

// testTimeout bounds every wait, on a machine that may be busy.
const testTimeout = 3 * time.Minute

// movedRows is a table that no definition has, so that nothing is derived of its rows.
const movedRows = 9000

func openMoving(t *testing.T, dir string, c *catalog.Catalog, at func(string) error, change ...func(*store.Config)) *store.Store {
	t.Helper()
	cfg := teststore.Config(dir, c, txn.NewClock(time.Now, time.Minute))
	cfg.AtMove = at
	for _, f := range change {
		f(&cfg)
	}
	h, err := store.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// fill writes a row into each of the buckets from lo to before hi.
func fill(t *testing.T, h *store.Store, fragment, lo, hi uint32) {
	t.Helper()
	x := teststore.Begin(h.Client)
	f, err := x.Part(fragment)
	if err != nil {
		t.Fatal(err)
	}
	for b := lo; b < hi; b++ {
		if err := teststore.Tx(f).Put(append(keyspace.RowPrefix(movedRows, b, 0), 'k'), []byte(fmt.Sprint(b))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := x.Commit(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
}

// has counts the rows that a fragment has of what it owns.
func has(t *testing.T, h *store.Store, fragment uint32) (n int) {
	t.Helper()
	r, err := h.Replicas.Replica(fragment)
	if err != nil {
		t.Fatal(err)
	}
	T, err := r.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	v, err := r.Tx(txn.NewID()).View(t.Context(), T)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	v.OwnedOnly()
	err = v.Scan(t.Context(), keyspace.TableSpan(movedRows), false, func(key, value []byte) error {
		if string(value) != fmt.Sprint(keyspace.BucketOf(key)) {
			t.Errorf("fragment %d: bucket %d has %q", fragment, keyspace.BucketOf(key), value)
		}
		n++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// begin begins a move of the buckets from lo to before hi.
func begin(t *testing.T, c *catalog.Catalog, lo, hi, target uint32) uint64 {
	t.Helper()
	id, err := c.NewJobID(t.Context())
	if err == nil {
		_, err = c.Update(t.Context(), func(_ *catalog.View, ch *catalog.Change) error {
			m := &catalog.Move{Interval: shardmap.Interval{Lo: lo, Hi: hi}, Target: target}
			return ch.AddMove(id, catalog.PostgresDB, m, catalog.Author{Who: "postgres", Micros: 1})
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// ended waits until a move has ended, and tells how.
func ended(t *testing.T, c *catalog.Catalog, id uint64) *catalog.EndedMove {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	for v := c.View(); v.Job(id) != nil; v = c.View() {
		select {
		case <-v.Superseded():
		case <-ctx.Done():
			m, _ := v.MoveOf(id)
			t.Fatalf("the move does not end: %+v", m.Move)
		}
	}
	for r := range c.View().Records() {
		if r.Move != nil && r.Move.Job == id {
			return r.Move
		}
	}
	t.Fatal("the move is not kept")
	return nil
}

// A process dies at each arrow of a move's step, and of one that is undone; when it is there again, the move comes to its end with one owner of every
// bucket and every row once, and goes back.
func TestCrashAtEachArrow(t *testing.T) {
	const lo, hi = 100, 300
	for _, arrow := range append(move.Arrows(), move.Aborted, move.Lifted) {
		t.Run(arrow, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			c := teststore.Catalog(t, dir, 2)
			hit, done, undone := make(chan struct{}), false, arrow == move.Aborted || arrow == move.Lifted
			h := openMoving(t, dir, c, func(at string) error {
				switch {
				case done:
					return errors.New("it is dead")
				case at == move.Fenced && undone:
					control(t, c, (*catalog.Change).PauseMove)
				case at == arrow:
					done = true
					close(hit)
					return errors.New("it dies")
				}
				return nil
			})
			fragments := c.View().Database(catalog.PostgresDB).Fragments
			source, target := fragments[0].ID, fragments[1].ID
			fill(t, h, source, 0, 400)
			id := begin(t, c, lo, hi, target)
			<-hit
			if err := h.Close(); err != nil {
				t.Fatal(err)
			}
			h = openMoving(t, dir, c, nil)
			if undone {
				control(t, c, (*catalog.Change).ResumeMove)
			}
			defer func() {
				if err := h.Close(); err != nil {
					t.Error(err)
				}
			}()
			if e := ended(t, c, id); e.Outcome != "done" {
				t.Errorf("%+v", e)
			}
			if m := c.View().Database(catalog.PostgresDB).Map; m.Lookup(lo) != target || m.Lookup(hi-1) != target || m.Lookup(hi) != source || m.Lookup(lo-1) != source {
				t.Errorf("%v", m.Ranges())
			}
			if a, b := has(t, h, source), has(t, h, target); a != 200 || b != 200 {
				t.Errorf("the source has %d rows, the target %d", a, b)
			}
			if e := ended(t, c, begin(t, c, lo, hi, source)); e.Outcome != "done" || e.Documents != 200 {
				t.Errorf("%+v", e)
			}
			if a, b := has(t, h, source), has(t, h, target); a != 400 || b != 0 {
				t.Errorf("back: the source has %d rows, the target %d", a, b)
			}
		})
	}
}

// control pauses or resumes the one move that there is.
func control(t *testing.T, c *catalog.Catalog, do func(*catalog.Change, uint64, catalog.Author) error) {
	_, err := c.Update(t.Context(), func(v *catalog.View, ch *catalog.Change) error {
		return do(ch, v.Moves(0)[0].Job.ID, catalog.Author{Who: "postgres", Micros: 2})
	})
	if err != nil {
		t.Error(err)
	}
}
