package cluster

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

func openCatalog(t *testing.T, dir string) *catalog.Catalog {
	t.Helper()
	return openCatalogOf(t, dir, 2)
}

func openCatalogOf(t *testing.T, dir string, fragments int) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Open(catalog.Options{Dir: filepath.Join(dir, "catalog"), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err = c.Bootstrap(t.Context(), catalog.BootstrapOptions{
		ClusterID: "0191f2a4-8f6e-4000-8000-00000000002a", Fragments: fragments, Node: catalog.Node{ID: 1, Name: "n1", Block: "A"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func openHost(t *testing.T, dir string, c *catalog.Catalog) *Host {
	t.Helper()
	h, err := Open(t.Context(), Config{
		Dir: filepath.Join(dir, "fragments"), LogDir: filepath.Join(dir, "log"), Node: 1, Catalog: c, Clock: txn.NewClock(time.Now, time.Minute), Logger: slog.New(slog.DiscardHandler), Schema: table.Schema(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// keys counts what a fragment holds of a table.
func keys(t *testing.T, h *Host, fragment, table uint32) int {
	t.Helper()
	r, err := h.Replica(fragment)
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
	n := 0
	err = v.Scan(t.Context(), keyspace.TableSpan(table), false, func(_, _ []byte) error { n++; return nil })
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestDroppedStorageIsDeletedAfterRestart has a host begin with a job that an earlier one left.
func TestDroppedStorageIsDeletedAfterRestart(t *testing.T) {
	const gone, kept = 20000, 20001
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	dir := t.TempDir()
	c := openCatalog(t, dir)
	h := openHost(t, dir, c)
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
	h = openHost(t, dir, c)
	defer h.Close()
	for v := c.View(); v.Job(id) != nil; v = c.View() {
		select {
		case <-v.Superseded():
		case <-ctx.Done():
			t.Fatal("the job is not done")
		}
	}
	for _, f := range fragments {
		eventually.Holds(t, "the fragment has deleted in the background", func() bool { return keys(t, h, f.ID, gone) == 0 })
		if n := keys(t, h, f.ID, kept); n != 1 {
			t.Errorf("fragment %d: %d keys of the other table", f.ID, n)
		}
	}
}

func write(t *testing.T, h *Host, fragment uint32, tables ...uint32) {
	t.Helper()
	x := newTransaction(h)
	f, err := x.Part(fragment)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		if err := bufferOf(f).Put(append(keyspace.RowPrefix(table, 7, 0), 'k'), []byte("v")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := x.Commit(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
}
