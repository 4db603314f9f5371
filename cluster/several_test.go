package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

// testTimeout is what a test gives the machine, however busy it is.
const testTimeout = 3 * time.Minute

// hosts is three nodes with one fragment, which is on node 1 at first.
type hosts struct {
	*testcluster.Cluster
	t        *testing.T
	ctx      context.Context
	dirs     []string
	hosts    []*Host
	catalogs []*catalog.Catalog
	fragment uint32
}

func openHosts(t *testing.T, change func(*storage.Config)) *hosts {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background()) // each wait has a bound of its own
	t.Cleanup(cancel)
	c := &hosts{Cluster: testcluster.New(t, 3, nil), t: t, ctx: ctx}
	for _, node := range c.Nodes {
		c.open(node, change)
	}
	return c
}

func (c *hosts) open(node *testcluster.Node, change func(*storage.Config)) {
	c.t.Helper()
	log, dir := testlog.New(c.t), c.t.TempDir()
	if os.Getenv("SHERD_TEST_LOG") != "" {
		log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})).With("on", node.Number)
	}
	mux, net := raftnet.New(node.Port, node.Members, log), catalognet.New(node.Port, node.Members)
	c.t.Cleanup(func() { mux.Close() })
	cat, err := catalog.Open(catalog.Options{
		Dir: filepath.Join(dir, "catalog"), ID: raftnet.ServerID(node.Number), Transport: mux.Transport(catalognet.Group), Forward: net.Forward,
		Join: node.Number > 1, Logger: log,
	})
	c.must(err)
	c.t.Cleanup(func() { cat.Close() })
	net.Serve(cat)
	cfg := Config{
		Dir: filepath.Join(dir, "fragments"), LogDir: filepath.Join(dir, "log"), Node: node.Number, Catalog: cat, Clock: txn.NewClock(nil, 0), Logger: log, Schema: table.Schema(),
		Port: node.Port, Transport: func(g uint64) raft.Transport { return mux.Transport(g) },
	}
	if change != nil {
		change(&cfg.Storage)
	}
	h := New(cfg)
	h.Register(node.Members)
	node.Serve()
	if node.Number > 1 {
		first := c.catalogs[0]
		_, err := first.NewNodeID(c.ctx)
		c.must(err)
		_, err = first.Update(c.ctx, func(_ *catalog.View, ch *catalog.Change) error {
			return ch.PutNode(&catalog.Node{ID: node.Number, Name: fmt.Sprintf("n%d", node.Number), Block: fmt.Sprint(node.Number), NodeAddr: node.Addr})
		})
		c.must(err)
	}
	c.must(cat.WaitReady(c.ctx))
	if node.Number == 1 {
		_, err := cat.Bootstrap(c.ctx, catalog.BootstrapOptions{
			ClusterID: testcluster.ID, Fragments: 1, Replication: 1, Node: catalog.Node{ID: 1, Name: "n1", Block: "1", NodeAddr: node.Addr},
		})
		c.must(err)
		c.fragment = cat.View().Database(catalog.PostgresDB).Fragments[0].ID
	}
	c.must(h.Start(c.ctx))
	c.t.Cleanup(func() { h.Close() })
	c.hosts, c.catalogs, c.dirs = append(c.hosts, h), append(c.catalogs, cat), append(c.dirs, dir)
}

func (c *hosts) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// place says where the replicas shall be.
func (c *hosts) place(f catalog.Fragment) {
	c.t.Helper()
	eventually.Holds(c.t, "the placement is written down", func() bool {
		_, err := c.catalogs[1].Update(c.ctx, func(v *catalog.View, ch *catalog.Change) error {
			d := v.Database(catalog.PostgresDB).Clone()
			f.ID, f.Ordinal = d.Fragments[0].ID, d.Fragments[0].Ordinal
			d.Fragments[0], d.ReplicationFactor = f, len(f.Nodes)-len(f.Leaving)
			return ch.PutDatabase(d)
		})
		return err == nil
	})
}

// placed waits until a fragment's replicas are on these nodes; which comes first, and leads, is placement's to say.
func (c *hosts) placed(nodes ...uint32) {
	c.t.Helper()
	eventually.Holds(c.t, fmt.Sprintf("replicas on %v", nodes), func() bool {
		_, f := c.catalogs[0].View().Fragment(c.fragment)
		return slices.Equal(slices.Sorted(slices.Values(f.Nodes)), slices.Sorted(slices.Values(nodes))) && len(f.Joining)+len(f.Leaving) == 0
	})
}

// leader waits for a node, but not node not, whose replica gives the newest timestamp (T5).
func (c *hosts) leader(not uint32) (node uint32, T txn.Timestamp) {
	c.t.Helper()
	eventually.Holds(c.t, "a leader", func() bool {
		for i, h := range c.hosts {
			r := h.replica(c.fragment)
			if r == nil || uint32(i+1) == not {
				continue
			}
			ctx, cancel := context.WithTimeout(c.ctx, 5*time.Second)
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

func (c *hosts) put(not uint32, key int, value []byte) {
	c.t.Helper()
	eventually.Holds(c.t, "a commit", func() bool {
		n, _ := c.leader(not)
		r := c.hosts[n-1].replica(c.fragment)
		if r == nil {
			return false
		}
		ctx, cancel := context.WithTimeout(c.ctx, 10*time.Second)
		defer cancel()
		tx := r.Tx(txn.NewID())
		if tx.LockNewest(ctx, placedRow(key)) != nil || tx.Put(placedRow(key), value) != nil {
			tx.Rollback()
			return false
		}
		_, err := tx.Commit(ctx, txn.CommitRequest{})
		return err == nil
	})
}

func (c *hosts) get(not uint32, key int) string {
	c.t.Helper()
	var out string
	eventually.Holds(c.t, "a read", func() bool {
		n, T := c.leader(not)
		r := c.hosts[n-1].replica(c.fragment)
		if r == nil {
			return false
		}
		v, err := r.Tx(txn.NewID()).View(c.ctx, T)
		if err != nil {
			return false
		}
		defer v.Close()
		b, err := v.Get(c.ctx, placedRow(key))
		out = string(b)
		return err == nil
	})
	return out
}

func placedRow(i int) []byte {
	return append(keyspace.RowPrefix(20000, uint32(i), 1), fmt.Sprintf("row-%d", i)...)
}

// A fragment gets replicas, survives its leader, and leaves a node, which then has nothing of it.
func TestReplicasComeAndGo(t *testing.T) {
	t.Parallel()
	c := openHosts(t, nil)
	c.put(0, 1, []byte("alone"))
	c.place(catalog.Fragment{Nodes: []uint32{1, 2, 3}, Joining: []uint32{2, 3}})
	c.placed(1, 2, 3)
	c.put(0, 2, []byte("of three"))

	old, _ := c.leader(0)
	var rest []string
	for n := range uint32(3) {
		if n+1 != old {
			rest = append(rest, testcluster.Host(n+1))
		}
	}
	c.Net.Partition([]string{testcluster.Host(old)}, rest)
	c.put(old, 3, []byte("without the leader"))
	ctx, cancel := context.WithTimeout(c.ctx, 300*time.Millisecond)
	if T, err := c.hosts[old-1].replica(c.fragment).Snapshot(ctx); err == nil {
		t.Fatalf("T5: the leader that was cut off gave %s as the newest", T)
	}
	cancel()
	c.Net.Heal()
	for i, want := range []string{"alone", "of three", "without the leader"} {
		if got := c.get(0, i+1); got != want {
			t.Fatalf("row %d: %q", i+1, got)
		}
	}
	eventually.Holds(c.t, "the node leads that should: another than before, if that was silent for long", func() bool {
		n, _ := c.leader(0)
		_, f := c.catalogs[1].View().Fragment(c.fragment)
		return n == f.Nodes[0]
	})
	c.place(catalog.Fragment{Nodes: []uint32{1, 2, 3}, Leaving: []uint32{1}})
	c.placed(2, 3)
	eventually.Holds(c.t, "node 1 has dropped its replica", func() bool {
		_, err := os.Stat(filepath.Join(c.dirs[0], "fragments", fmt.Sprint(c.fragment)))
		return errors.Is(err, fs.ErrNotExist) && c.hosts[0].replica(c.fragment) == nil
	})
	if got := c.get(0, 3); got != "without the leader" {
		t.Fatalf("%q", got)
	}
	c.place(catalog.Fragment{Nodes: []uint32{1, 2, 3}, Joining: []uint32{1}})
	c.placed(1, 2, 3)
	if got := c.get(0, 1); got != "alone" {
		t.Fatalf("%q", got)
	}
}

// A replica that is brought in late gets the database as a stream, while others write, and one that was away goes on from the log or a stream.
func TestReplicaIsFilled(t *testing.T) {
	t.Parallel()
	c := openHosts(t, func(s *storage.Config) { s.Group.LogEntries, s.Group.LogSegment = 64, 1<<20 })
	value := make([]byte, 4<<10)
	for i := range 600 {
		c.put(0, i, value)
	}
	stop, wrote := make(chan struct{}), make(chan int)
	go func() {
		n := 1000
		for {
			select {
			case <-stop:
				wrote <- n
				return
			default:
				c.put(0, n, value)
				n++
			}
		}
	}()
	c.place(catalog.Fragment{Nodes: []uint32{1, 2, 3}, Joining: []uint32{2, 3}})
	c.placed(1, 2, 3)
	close(stop)
	last := <-wrote
	c.place(catalog.Fragment{Nodes: []uint32{2, 3, 1}, Leaving: []uint32{1}})
	c.placed(2, 3)
	for _, i := range []int{0, 599, 1000, last - 1} {
		if got := c.get(0, i); len(got) != len(value) {
			t.Fatalf("row %d has %d bytes", i, len(got))
		}
	}
}
