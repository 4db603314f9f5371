package sweep_test

import (
	"context"
	"testing"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/internal/teststore"
	"github.com/sherddb/sherd/node/store"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

// testTimeout bounds every wait, on a machine that may be busy.
const testTimeout = 3 * time.Minute

func open(t *testing.T, dir string, c *catalog.Catalog) *store.Store {
	t.Helper()
	return teststore.Open(t, dir, c, txn.NewClock(time.Now, time.Minute))
}

// TestDroppedStorageIsDeletedAfterRestart has a node begin with a job that an earlier one left.
func TestDroppedStorageIsDeletedAfterRestart(t *testing.T) {
	const gone, kept = 20000, 20001
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	dir := t.TempDir()
	c := teststore.Catalog(t, dir, 2)
	h := open(t, dir, c)
	fragments := c.View().Database(catalog.PostgresDB).Fragments
	for _, f := range fragments {
		write(t, h, f.ID, gone, kept)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	id, err := c.NewJobID(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Update(ctx, func(_ *catalog.View, ch *catalog.Change) error {
		return ch.PutJob(catalog.NewDropStorageJob(id, catalog.PostgresDB, gone, 1))
	})
	if err != nil {
		t.Fatal(err)
	}
	h = open(t, dir, c)
	defer h.Close()
	for v := c.View(); v.Job(id) != nil; v = c.View() {
		select {
		case <-v.Superseded():
		case <-ctx.Done():
			t.Fatal("the job is not done")
		}
	}
	for _, f := range fragments {
		eventually.Holds(t, "the fragment has deleted in the background", func() bool { return teststore.Keys(t, h, f.ID, gone) == 0 })
		if n := teststore.Keys(t, h, f.ID, kept); n != 1 {
			t.Errorf("fragment %d: %d keys of the other table", f.ID, n)
		}
	}
}

func write(t *testing.T, h *store.Store, fragment uint32, tables ...uint32) {
	t.Helper()
	x := teststore.Begin(h.Client)
	f, err := x.Part(fragment)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		if err := teststore.Tx(f).Put(append(keyspace.RowPrefix(table, 7, 0), 'k'), []byte("v")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := x.Commit(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
}
