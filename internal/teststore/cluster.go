package teststore

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/cluster/catalognet"
	"github.com/sherddb/sherd/cluster/raftnet"
	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/internal/testcluster"
	"github.com/sherddb/sherd/internal/testlog"
	"github.com/sherddb/sherd/node/store"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

// Cluster is three nodes with one fragment, which is on node 1 at first.
type Cluster struct {
	*testcluster.Cluster
	Context  context.Context // ends with the test; each wait has a bound of its own
	Dirs     []string
	Stores   []*store.Store
	Catalogs []*catalog.Catalog
	Fragment txn.FragmentID
	t        *testing.T
}

// OpenCluster opens three nodes; change says how their storage differs from a node's, nil: in nothing.
func OpenCluster(t *testing.T, change func(*storage.Config)) *Cluster {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	c := &Cluster{Cluster: testcluster.New(t, 3, nil), t: t, Context: ctx}
	for _, node := range c.Nodes {
		c.open(node, change)
	}
	return c
}

func (c *Cluster) open(node *testcluster.Node, change func(*storage.Config)) {
	c.t.Helper()
	log, dir := testlog.New(c.t), c.t.TempDir()
	if os.Getenv("SHERD_TEST_LOG") != "" {
		stderr := slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})
		log = slog.New(stderr).With("on", node.Number)
	}
	mux, net := raftnet.New(node.Port, node.Members, log), catalognet.New(node.Port, node.Members)
	c.t.Cleanup(func() { mux.Close() })
	cat, err := catalog.Open(catalog.Options{
		Dir: filepath.Join(dir, "catalog"), ID: raftnet.ServerID(node.Number),
		Transport: mux.Transport(catalognet.Group), Forward: net.Forward, Join: node.Number > 1, Logger: log,
	})
	c.must(err)
	c.t.Cleanup(func() { cat.Close() })
	net.Serve(cat)
	cfg := Config(dir, cat, txn.NewClock(nil, 0))
	cfg.Node, cfg.Logger, cfg.Port = node.Number, log, node.Port
	cfg.Transport = func(g uint64) raft.Transport { return mux.Transport(g) }
	if change != nil {
		change(&cfg.Storage)
	}
	s := store.New(cfg)
	s.Register(node.Members)
	node.Serve()
	if node.Number > 1 {
		c.announce(node)
	}
	c.must(cat.WaitReady(c.Context))
	if node.Number == 1 {
		_, err := cat.Bootstrap(c.Context, catalog.BootstrapOptions{
			ClusterID: testcluster.ID, Fragments: 1, Replication: 1,
			Node: catalog.Node{ID: 1, Name: "n1", Block: "1", NodeAddr: node.Addr},
		})
		c.must(err)
		c.Fragment = cat.View().Database(catalog.PostgresDB).Fragments[0].ID
	}
	c.must(s.Start(c.Context))
	c.t.Cleanup(func() { s.Close() })
	c.Stores, c.Catalogs, c.Dirs = append(c.Stores, s), append(c.Catalogs, cat), append(c.Dirs, dir)
}

// announce adds a node to the list of nodes.
func (c *Cluster) announce(node *testcluster.Node) {
	c.t.Helper()
	first := c.Catalogs[0]
	_, err := first.NewNodeID(c.Context)
	c.must(err)
	_, err = first.Update(c.Context, func(_ *catalog.View, ch *catalog.Change) error {
		return ch.PutNode(&catalog.Node{
			ID: node.Number, Name: fmt.Sprintf("n%d", node.Number), Block: fmt.Sprint(node.Number), NodeAddr: node.Addr,
		})
	})
	c.must(err)
}

func (c *Cluster) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// Place changes where the replicas should be.
func (c *Cluster) Place(f catalog.Fragment) {
	c.t.Helper()
	eventually.Holds(c.t, "the placement is written down", func() bool {
		_, err := c.Catalogs[1].Update(c.Context, func(v *catalog.View, ch *catalog.Change) error {
			d := v.Database(catalog.PostgresDB).Clone()
			f.ID, f.Ordinal = d.Fragments[0].ID, d.Fragments[0].Ordinal
			d.Fragments[0], d.ReplicationFactor = f, len(f.Nodes)-len(f.Leaving)
			return ch.PutDatabase(d)
		})
		return err == nil
	})
}

// Placed waits until the fragment's replicas are on these nodes. Which one comes first, and leads, is
// the decision of placement.
func (c *Cluster) Placed(nodes ...uint32) {
	c.t.Helper()
	eventually.Holds(c.t, fmt.Sprintf("replicas on %v", nodes), func() bool {
		_, f := c.Catalogs[0].View().Fragment(c.Fragment)
		same := slices.Equal(slices.Sorted(slices.Values(f.Nodes)), slices.Sorted(slices.Values(nodes)))
		return same && len(f.Joining)+len(f.Leaving) == 0
	})
}

// Leader waits for a node other than not whose replica returns the newest timestamp (T5).
func (c *Cluster) Leader(not uint32) (node uint32, T txn.Timestamp) {
	c.t.Helper()
	eventually.Holds(c.t, "a leader", func() bool {
		for i, h := range c.Stores {
			r := h.Replicas.Get(c.Fragment)
			if r == nil || uint32(i+1) == not {
				continue
			}
			ctx, cancel := context.WithTimeout(c.Context, 5*time.Second)
			at, err := r.Snapshot(ctx)
			cancel()
			if err == nil {
				node, T = uint32(i+1), at
				return true
			}
		}
		return false
	})
	return node, T
}

// Put writes a row at a leader other than not.
func (c *Cluster) Put(not uint32, key int, value []byte) {
	c.t.Helper()
	eventually.Holds(c.t, "a commit", func() bool {
		n, _ := c.Leader(not)
		r := c.Stores[n-1].Replicas.Get(c.Fragment)
		if r == nil {
			return false
		}
		ctx, cancel := context.WithTimeout(c.Context, 10*time.Second)
		defer cancel()
		tx := r.Tx(txn.NewID())
		if tx.LockNewest(ctx, PlacedRow(key)) != nil || tx.Put(PlacedRow(key), value) != nil {
			tx.Rollback()
			return false
		}
		_, err := tx.Commit(ctx, txn.CommitRequest{})
		return err == nil
	})
}

// Get reads a row at a leader other than not.
func (c *Cluster) Get(not uint32, key int) string {
	c.t.Helper()
	var out string
	eventually.Holds(c.t, "a read", func() bool {
		n, T := c.Leader(not)
		r := c.Stores[n-1].Replicas.Get(c.Fragment)
		if r == nil {
			return false
		}
		v, err := r.Tx(txn.NewID()).View(c.Context, T)
		if err != nil {
			return false
		}
		defer v.Close()
		b, err := v.Get(c.Context, PlacedRow(key))
		out = string(b)
		return err == nil
	})
	return out
}

// PlacedRow is the key of a row.
func PlacedRow(i int) []byte {
	return append(keyspace.RowPrefix(20000, uint32(i), 1), fmt.Sprintf("row-%d", i)...)
}
