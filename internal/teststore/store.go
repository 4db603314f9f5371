package teststore

import (
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/cluster"
	"github.com/sherddb/sherd/fragment"
	"github.com/sherddb/sherd/kv"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/storage"
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

// Open opens the fragments of node 1. The caller closes them.
func Open(t *testing.T, dir string, c *catalog.Catalog, clock *txn.Clock) *cluster.Host {
	t.Helper()
	h, err := cluster.Open(t.Context(), cluster.Config{
		Dir: filepath.Join(dir, "fragments"), LogDir: filepath.Join(dir, "log"), Node: 1, Catalog: c,
		Clock: clock, Logger: slog.New(slog.DiscardHandler), Schema: table.Schema(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// Begin opens a transaction.
func Begin(c *kv.Client) *kv.Transaction {
	t := &kv.Transaction{}
	c.Init(t)
	return t
}

// Tx returns the storage's handle of a part in a fragment of this node.
func Tx(p kv.Part) *storage.Tx { return p.(*fragment.Part).Tx }
