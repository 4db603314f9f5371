package cluster

import (
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/cluster/catalognet"
	"github.com/sherddb/sherd/cluster/raftnet"
	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/internal/testcluster"
	"github.com/sherddb/sherd/txn"
)

// Two of three nodes are lost for good. The third begins anew with what it has, catalog and fragment, and serves.
func TestRecovery(t *testing.T) {
	t.Parallel()
	c := openHosts(t, nil)
	c.place(catalog.Fragment{Nodes: []uint32{1, 2, 3}, Joining: []uint32{2, 3}})
	c.placed(1, 2, 3)
	eventually.Holds(c.t, "all vote on the catalog", func() bool { return len(c.catalogs[2].Voters()) == 3 })
	c.put(0, 7, []byte("kept"))
	_, T := c.leader(0)
	eventually.Holds(c.t, "node 3 has it", func() bool { return c.hosts[2].replica(c.fragment).Applied() >= T })
	version := c.catalogs[0].View().Version()
	if _, err := c.catalogs[2].WaitVersion(c.ctx, version); err != nil {
		t.Fatal(err)
	}
	for i, h := range c.hosts {
		c.must(h.Close())
		c.must(c.catalogs[i].Close())
		c.Nodes[i].Close()
	}

	dir := c.dirs[2]
	r := Recovery{
		Data: dir, CatalogDir: filepath.Join(dir, "catalog"), Dir: filepath.Join(dir, "fragments"), LogDir: filepath.Join(dir, "log"), Node: 3,
		Logger: slog.New(slog.DiscardHandler),
	}
	if left, err := r.Look([]uint32{1}); err != nil || left[0].Lost || left[1].Lost {
		t.Fatalf("with two of three there is a majority: %+v, %v", left, err)
	}
	left, err := r.Look([]uint32{1, 2})
	if err != nil || len(left) != 2 || !left[0].Lost || !left[1].Lost || left[1].Fragment != c.fragment || left[1].Last == 0 {
		t.Fatalf("%+v, %v", left, err)
	}
	c.must(r.Begin([]txn.FragmentID{txn.CatalogFragment, c.fragment}, []uint32{1, 2}))

	again := testcluster.New(t, 3, nil)
	node := again.Nodes[2]
	mux, net := raftnet.New(node.Port, node.Members, r.Logger), catalognet.New(node.Port, node.Members)
	t.Cleanup(func() { mux.Close() })
	node.Serve()
	cat, err := catalog.Open(catalog.Options{
		Dir: r.CatalogDir, ID: raftnet.ServerID(3), Transport: mux.Transport(catalognet.Group), Forward: net.Forward, Join: true, Logger: r.Logger,
	})
	c.must(err)
	t.Cleanup(func() { cat.Close() })
	c.must(cat.WaitReady(c.ctx))
	if _, err := cat.NewJobID(c.ctx); err != nil {
		t.Fatalf("definitions cannot be changed: %v", err)
	}
	h, err := Open(c.ctx, Config{
		Dir: r.Dir, LogDir: r.LogDir, Node: 3, Catalog: cat, Clock: txn.NewClock(nil, 0), Logger: r.Logger,
		Transport: func(g uint64) raft.Transport { return mux.Transport(g) },
	})
	c.must(err)
	t.Cleanup(func() { h.Close() })
	replica := h.replica(c.fragment)
	at, err := replica.Snapshot(c.ctx)
	c.must(err)
	v, err := replica.Tx(txn.NewID()).View(c.ctx, at)
	c.must(err)
	defer v.Close()
	if b, err := v.Get(c.ctx, placedRow(7)); err != nil || string(b) != "kept" {
		t.Fatalf("%q, %v", b, err)
	}
}
