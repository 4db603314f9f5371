package recovery_test

import (
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/cluster/catalognet"
	"github.com/sherddb/sherd/cluster/raftnet"
	"github.com/sherddb/sherd/fragment/recovery"
	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/internal/testcluster"
	"github.com/sherddb/sherd/internal/teststore"
	"github.com/sherddb/sherd/node/store"
	"github.com/sherddb/sherd/txn"
)

// Two of three nodes are lost for good. The third is recovered with what it has, catalog and
// fragment, and serves.
func TestRecovery(t *testing.T) {
	t.Parallel()
	c := teststore.OpenCluster(t, nil)
	c.Place(catalog.Fragment{Nodes: []uint32{1, 2, 3}, Joining: []uint32{2, 3}})
	c.Placed(1, 2, 3)
	eventually.Holds(t, "all vote on the catalog", func() bool { return len(c.Catalogs[2].Voters()) == 3 })
	c.Put(0, 7, []byte("kept"))
	_, T := c.Leader(0)
	eventually.Holds(t, "node 3 has it", func() bool { return c.Stores[2].Replicas.Get(c.Fragment).Applied() >= T })
	version := c.Catalogs[0].View().Version()
	if _, err := c.Catalogs[2].WaitVersion(c.Context, version); err != nil {
		t.Fatal(err)
	}
	for i, h := range c.Stores {
		must(t, h.Close())
		must(t, c.Catalogs[i].Close())
		c.Nodes[i].Close()
	}

	dir := c.Dirs[2]
	r := recovery.Node{
		Data: dir, CatalogDir: filepath.Join(dir, "catalog"), Dir: filepath.Join(dir, "fragments"), LogDir: filepath.Join(dir, "log"), Number: 3,
		Logger: slog.New(slog.DiscardHandler),
	}
	if left, err := r.Look([]uint32{1}); err != nil || left[0].Lost || left[1].Lost {
		t.Fatalf("with two of three there is a majority: %+v, %v", left, err)
	}
	left, err := r.Look([]uint32{1, 2})
	if err != nil || len(left) != 2 || !left[0].Lost || !left[1].Lost || left[1].Fragment != c.Fragment || left[1].Last == 0 {
		t.Fatalf("%+v, %v", left, err)
	}
	must(t, r.Recover([]txn.FragmentID{txn.CatalogFragment, c.Fragment}, []uint32{1, 2}))

	again := testcluster.New(t, 3, nil)
	node := again.Nodes[2]
	mux, net := raftnet.New(node.Port, node.Members, r.Logger), catalognet.New(node.Port, node.Members)
	t.Cleanup(func() { mux.Close() })
	node.Serve()
	cat, err := catalog.Open(catalog.Options{
		Dir: r.CatalogDir, ID: raftnet.ServerID(3), Transport: mux.Transport(catalognet.Group), Forward: net.Forward, Join: true, Logger: r.Logger,
	})
	must(t, err)
	t.Cleanup(func() { cat.Close() })
	must(t, cat.WaitReady(c.Context))
	if _, err := cat.NewJobID(c.Context); err != nil {
		t.Fatalf("definitions cannot be changed: %v", err)
	}
	h, err := store.Open(c.Context, store.Config{
		Dir: r.Dir, LogDir: r.LogDir, Node: 3, Catalog: cat, Clock: txn.NewClock(nil, 0), Logger: r.Logger,
		Transport: func(g uint64) raft.Transport { return mux.Transport(g) },
	})
	must(t, err)
	t.Cleanup(func() { h.Close() })
	replica := h.Replicas.Get(c.Fragment)
	at, err := replica.Snapshot(c.Context)
	must(t, err)
	v, err := replica.Tx(txn.NewID()).View(c.Context, at)
	must(t, err)
	defer v.Close()
	if b, err := v.Get(c.Context, teststore.PlacedRow(7)); err != nil || string(b) != "kept" {
		t.Fatalf("%q, %v", b, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
