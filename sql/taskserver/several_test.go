package taskserver

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/sherddb/sherd/catalog"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/cluster/raftnet"
	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/internal/testcluster"
	"github.com/sherddb/sherd/internal/testlog"
	"github.com/sherddb/sherd/node/store"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/distexec"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/exec/operator"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// testTimeout bounds a step on a busy machine.
const testTimeout = 2 * time.Minute

// trio is three nodes, each with a replica of each of three fragments. Each node should lead one of
// them. They share a catalog, which no fault reaches: the test is about the fragments.
type trio struct {
	*world
	hosts    []*store.Store
	gateways []*distexec.Gateway
	servers  []*Server

	mu    sync.Mutex
	fault func(node uint32, point string) // called at the steps of storage; guarded by mu
}

func openTrio(t *testing.T) *trio {
	t.Helper()
	logger := testlog.New(t)
	if os.Getenv("SHERD_TEST_LOG") != "" {
		logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	c, err := catalog.Open(catalog.Options{Dir: filepath.Join(t.TempDir(), "catalog"), Logger: logger})
	must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	must(t, c.WaitReady(t.Context()))
	_, err = c.Bootstrap(t.Context(), catalog.BootstrapOptions{
		ClusterID: testcluster.ID, Fragments: 3, Node: catalog.Node{ID: 1, Name: "n1", Block: "A"},
	})
	must(t, err)
	x := &trio{world: &world{t: t, catalog: c, nodes: testcluster.New(t, 3, nil)}}
	x.putTable("notes")
	for n := uint32(2); n <= 3; n++ {
		_, err := c.NewNodeID(t.Context())
		must(t, err)
		_, err = c.Update(t.Context(), func(_ *catalog.View, ch *catalog.Change) error {
			return ch.PutNode(&catalog.Node{ID: n, Name: fmt.Sprintf("n%d", n), Block: fmt.Sprint(n)})
		})
		must(t, err)
	}
	_, err = c.Update(t.Context(), func(v *catalog.View, ch *catalog.Change) error {
		d := v.Database(catalog.PostgresDB).Clone()
		for i := range d.Fragments {
			all := []uint32{uint32(i + 1), uint32((i+1)%3 + 1), uint32((i+2)%3 + 1)}
			d.Fragments[i].Nodes, d.Fragments[i].Joining = all, all[1:]
		}
		return ch.PutDatabase(d)
	})
	must(t, err)
	for _, node := range x.nodes.Nodes {
		x.open(node, logger.With("on", node.Number))
	}
	x.ready()
	return x
}

func (x *trio) open(node *testcluster.Node, logger *slog.Logger) {
	t, dir := x.t, x.t.TempDir()
	t.Helper()
	mux := raftnet.New(node.Port, node.Members, logger)
	t.Cleanup(func() { mux.Close() })
	cfg := store.Config{
		Dir: filepath.Join(dir, "fragments"), LogDir: filepath.Join(dir, "log"), Node: node.Number, Catalog: x.catalog,
		Clock: txn.NewClock(nil, 0), Logger: logger, Schema: table.Schema(),
		Port: node.Port, Transport: func(g uint64) raft.Transport { return mux.Transport(g) },
		Heartbeat: 200 * time.Millisecond,
	}
	cfg.Storage.Knobs.Fault = func(point string) {
		x.mu.Lock()
		f := x.fault
		x.mu.Unlock()
		if f != nil {
			f(node.Number, point)
		}
	}
	h := store.New(cfg)
	g := distexec.New(distexec.Config{
		Node: node.Number, Catalog: x.catalog, Client: h.Client, Here: h.Fragments, Nodes: h.Nodes,
	})
	s := New(Config{
		Gateway: g, Fragments: h.Fragments, Deadlocks: h.Deadlocks, Catalog: x.catalog, Clock: cfg.Clock,
		Logger:  logger,
		TempDir: filepath.Join(dir, "temp"),
	})
	h.Register(node.Members)
	pb.RegisterTasksServer(node.Members, s)
	node.Serve()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	defer cancel()
	must(t, h.Start(ctx))
	t.Cleanup(func() { h.Close() })
	t.Cleanup(g.Close)
	x.hosts, x.gateways, x.servers = append(x.hosts, h), append(x.gateways, g), append(x.servers, s)
}

// ready waits until every fragment has its three replicas and its intended leader.
func (x *trio) ready() {
	x.t.Helper()
	eventually.Holds(x.t, "each node leads its fragment", func() bool {
		for _, f := range x.catalog.View().Database(catalog.PostgresDB).Fragments {
			r, err := x.hosts[f.Nodes[0]-1].Replicas.Replica(f.ID)
			if len(f.Joining) > 0 || err != nil || r.Group.Term() == 0 {
				return false
			}
		}
		return true
	})
}

func (x *trio) onFault(f func(node uint32, point string)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.fault = f
}

// client is a client's transaction at a node.
type client struct {
	x         *trio
	tx        exec.Transaction
	isolation txn.Isolation
	snapshot  txn.Timestamp
}

func (x *trio) begin(node uint32, level txn.Isolation) *client {
	c := &client{x: x, tx: x.gateways[node-1].Begin(), isolation: level}
	c.tx.Configure(txn.Options{Isolation: level})
	return c
}

func (c *client) exec(ctx context.Context, text string) (rows []string, err error) {
	x := c.x
	d := x.catalog.View().Database(catalog.PostgresDB)
	run := &exec.Ctx{
		Execution: operator.Execution{Ctx: expr.Ctx{Context: ctx, Env: &types.Env{}}, Mem: memory.New(64 << 20)},
		Limits:    exec.Limits{Isolation: c.isolation},
	}
	run.Gateway = &exec.Gateway{
		Txn: c.tx.ID(), Map: d.Map,
		Name:     func(id shardmap.FragmentID) string { return fmt.Sprintf("f$%d", id) },
		Fragment: func(id shardmap.FragmentID) (exec.Fragment, error) { return c.tx.Fragment(id) },
		Snapshot: func(ctx context.Context, shares []shardmap.Share) (txn.Timestamp, error) {
			if c.snapshot != 0 {
				return c.snapshot, nil
			}
			T, err := c.tx.Snapshot(ctx, shares, d.Map.Epoch())
			if c.isolation != txn.ReadCommitted {
				c.snapshot = T
			}
			return T, err
		},
	}
	err = x.program(text).Run(run, func(row types.Row) error {
		var fields []string
		for i := range row {
			if row[i].K == types.KindInt {
				fields = append(fields, fmt.Sprint(row[i].N))
				continue
			}
			fields = append(fields, row[i].S)
		}
		rows = append(rows, strings.Join(fields, "|"))
		return nil
	})
	slices.Sort(rows)
	return rows, err
}
