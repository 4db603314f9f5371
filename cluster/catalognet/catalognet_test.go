package catalognet

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/cluster/raftnet"
	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/internal/testcluster"
)

// testTimeout bounds each wait of a test. It is long, because the machine may be busy.
const testTimeout = 3 * time.Minute

func put(ctx context.Context, c *catalog.Catalog, name string) error {
	_, err := c.Update(ctx, func(_ *catalog.View, ch *catalog.Change) error {
		return ch.PutSetting(catalog.Setting{Name: name, Value: "1"})
	})
	return err
}

// open opens the catalog of each node: the first founds it, the others join and become voters.
func open(t *testing.T, n int) (*testcluster.Cluster, []*catalog.Catalog) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	t.Cleanup(cancel)
	cluster := testcluster.New(t, n, nil)
	var all []*catalog.Catalog
	for i, node := range cluster.Nodes {
		log := slog.New(slog.DiscardHandler)
		mux, net := raftnet.New(node.Port, node.Members, log), New(node.Port, node.Members)
		t.Cleanup(func() { mux.Close() })
		node.Serve()
		c, err := catalog.Open(catalog.Options{
			Dir: t.TempDir(), ID: raftnet.ServerID(node.Number), Transport: mux.Transport(Group), Forward: net.Forward, Join: i > 0, Logger: log,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		net.Serve(c)
		if i > 0 {
			_, err := all[0].Update(ctx, func(_ *catalog.View, ch *catalog.Change) error {
				return ch.PutNode(&catalog.Node{ID: node.Number, Name: fmt.Sprintf("n%d", node.Number), Block: fmt.Sprint(node.Number), NodeAddr: node.Addr})
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := c.WaitReady(ctx); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			_, err := c.Bootstrap(ctx, catalog.BootstrapOptions{
				ClusterID: testcluster.ID, Fragments: 1, Node: catalog.Node{ID: 1, Name: "n1", Block: "1", NodeAddr: node.Addr},
			})
			if err != nil {
				t.Fatal(err)
			}
			for range n - 1 {
				if _, err := c.NewNodeID(ctx); err != nil {
					t.Fatal(err)
				}
			}
		}
		all = append(all, c)
	}
	// Raft elects no server that one of those asked does not know to be a voter.
	eventually.Holds(t, "all know that all vote", func() bool {
		return !slices.ContainsFunc(all, func(c *catalog.Catalog) bool { return len(c.Voters()) != n })
	})
	return cluster, all
}

// The leader of the catalog is cut off with a client: the others go on, its own changes wait, and are made once the network is whole again.
func TestLeaderCutOff(t *testing.T) {
	t.Parallel()
	cluster, all := open(t, 3)
	old := 0
	eventually.Holds(t, "a leader", func() bool {
		for i, c := range all {
			if c.Leads() {
				old = i
				return true
			}
		}
		return false
	})
	var rest []string
	for i := range all {
		if i != old {
			rest = append(rest, testcluster.Host(uint32(i+1)))
		}
	}
	cluster.Net.Partition([]string{testcluster.Host(uint32(old + 1))}, rest)
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	defer cancel()
	eventually.Holds(t, "a change with the rest", func() bool {
		err := put(ctx, all[(old+1)%3], "sherd.a")
		if err != nil && !pgerr.Is(err, pgerr.CannotConnectNow) && !pgerr.Is(err, pgerr.StatementCompletionUnknown) {
			t.Fatal(err)
		}
		return err == nil
	})
	done := make(chan error, 1)
	go func() {
		for {
			err := put(ctx, all[old], "sherd.b")
			if err == nil || ctx.Err() != nil {
				done <- err
				return
			}
		}
	}()
	cluster.Net.Heal()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	eventually.Holds(t, "all have both", func() bool {
		for _, c := range all {
			k := c.View().Cluster()
			if k.Settings["sherd.a"] == "" || k.Settings["sherd.b"] == "" {
				return false
			}
		}
		return true
	})
}
