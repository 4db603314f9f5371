package teststore

import (
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/fragment"
	"github.com/sherddb/sherd/kv"
	"github.com/sherddb/sherd/node/store"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

// Catalog opens a catalog in a directory; a new one has a database of so many fragments. The test
// closes it.
func Catalog(t *testing.T, dir string, fragments int) *catalog.Catalog {
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
		ClusterID: "0191f2a4-8f6e-4000-8000-00000000002a", Fragments: fragments,
		Node: catalog.Node{ID: 1, Name: "n1", Block: "A"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Config returns how the fragments of node 1 are opened in a directory.
func Config(dir string, c *catalog.Catalog, clock *txn.Clock) store.Config {
	return store.Config{
		Dir: filepath.Join(dir, "fragments"), LogDir: filepath.Join(dir, "log"), Node: 1, Catalog: c,
		Clock: clock, Logger: slog.New(slog.DiscardHandler), Schema: table.Schema(),
	}
}

// Open opens the fragments of node 1. The caller closes them.
func Open(t *testing.T, dir string, c *catalog.Catalog, clock *txn.Clock) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), Config(dir, c, clock))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Begin opens a transaction.
func Begin(c *kv.Client) *kv.Transaction {
	t := &kv.Transaction{}
	c.Init(t)
	return t
}

// Tx returns the storage's handle of a part in a fragment of this node.
func Tx(p kv.Part) *storage.Tx { return p.(*fragment.Part).Tx }

// Keys counts the keys that a fragment of this node has of a table.
func Keys(t *testing.T, s *store.Store, f txn.FragmentID, table uint32) (n int) {
	t.Helper()
	r, err := s.Replicas.Replica(f)
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
	err = v.Scan(t.Context(), keyspace.TableSpan(table), false, func(_, _ []byte) error { n++; return nil })
	if err != nil {
		t.Fatal(err)
	}
	return n
}
