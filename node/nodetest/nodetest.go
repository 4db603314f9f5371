// Package nodetest runs clusters of several nodes in one process, on loopback, over a network that
// fails on command, for tests:
//
//	c := nodetest.Start(t, 3)
//	db := c.Node(2).Connect(t)
//	c.Cut(1, 3)
//	c.Node(1).Stop()
//	c.Node(1).Restart()
//
// The nodes are those of package node, with all their parts. They cannot be killed or frozen, as a
// process can; integration/fault does that.
package nodetest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sherddb/sherd/internal/faultnet"
	"github.com/sherddb/sherd/internal/testlog"
	"github.com/sherddb/sherd/node"
)

// Timeout is the most time that a busy machine may take for one step.
const Timeout = 2 * time.Minute

// Cluster is nodes 1 to n. Its methods must not be called concurrently.
type Cluster struct {
	Net   *faultnet.Network // hosts are named by Host
	nodes []*Node
	t     testing.TB
	log   *slog.Logger

	mu    sync.Mutex
	hosts map[string]string // by address for nodes; guarded by mu
}

// Node is one of the nodes. Node.Node is nil while it is stopped.
type Node struct {
	*node.Node
	Config  node.Config
	cluster *Cluster
	number  uint32
	ahead   atomic.Int64 // of its clock
	serving chan error
}

// Host returns the name of a node in the network.
func Host(number uint32) string { return strconv.FormatUint(uint64(number), 10) }

// Start starts n nodes. The first one creates the cluster. configure, if given, may change the
// configuration of each node. All nodes are closed at the end of the test. With SHERD_TEST_LOG=1
// the test shows their logs. A panic that a node recovers from fails the test.
func Start(t testing.TB, n int, configure ...func(number uint32, cfg *node.Config)) *Cluster {
	t.Helper()
	c := &Cluster{Net: faultnet.New(1), t: t, log: testlog.New(t), hosts: map[string]string{}}
	if os.Getenv("SHERD_TEST_LOG") != "" {
		c.log = slog.New(testlog.Failing(t, slog.NewTextHandler(os.Stderr, nil)))
	}
	t.Cleanup(c.Net.Close)
	for range n {
		c.Add(configure...)
	}
	return c
}

// Add starts another node, which joins with a token of the first running node.
func (c *Cluster) Add(configure ...func(number uint32, cfg *node.Config)) *Node {
	c.t.Helper()
	n := &Node{cluster: c, number: uint32(len(c.nodes) + 1)}
	n.Config = node.Config{
		Data: filepath.Join(c.t.TempDir(), "data"), SQLAddr: c.freeAddr(n.number),
		NodeAddr: c.freeAddr(n.number), Logger: c.log.With("on", n.number),
		Knobs: node.Knobs{
			Now: func() time.Time { return time.Now().Add(time.Duration(n.ahead.Load())) },
			Dial: func(ctx context.Context, addr string) (net.Conn, error) {
				return c.Net.Dial(ctx, Host(n.number), c.host(addr), addr)
			},
		},
	}
	if other := c.Running(); other != nil {
		token, err := other.NewToken(c.context(), time.Hour, 0)
		if err != nil {
			c.t.Fatal(err)
		}
		n.Config.Join, n.Config.Token = []string{other.Config.NodeAddr}, token.String()
	}
	for _, f := range configure {
		f(n.number, &n.Config)
	}
	c.nodes = append(c.nodes, n)
	n.Restart()
	c.t.Cleanup(n.Stop)
	return n
}

// freeAddr finds a free address for a node and remembers its host, because other nodes connect to
// it before its start is complete, and after a restart.
func (c *Cluster) freeAddr(number uint32) string {
	c.t.Helper()
	addr, err := faultnet.FreeAddr()
	if err != nil {
		c.t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hosts[addr] = Host(number)
	return addr
}

func (c *Cluster) host(addr string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hosts[addr]
}

func (c *Cluster) context() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), Timeout)
	c.t.Cleanup(cancel)
	return ctx
}

// Node returns a node by its number in the test. That is its number in the cluster too, if nodes
// were added one at a time.
func (c *Cluster) Node(number uint32) *Node { return c.nodes[number-1] }

// Nodes returns all nodes, also stopped ones.
func (c *Cluster) Nodes() []*Node { return c.nodes }

// Running returns the first node that is not stopped, nil if all are.
func (c *Cluster) Running() *Node {
	for _, n := range c.nodes {
		if n.Node != nil {
			return n
		}
	}
	return nil
}

// Cut cuts the network between two nodes.
func (c *Cluster) Cut(a, b uint32) { c.Net.Partition([]string{Host(a)}, []string{Host(b)}) }

// Isolate cuts the network between a node and all others.
func (c *Cluster) Isolate(number uint32) {
	for _, n := range c.nodes {
		if n.number != number {
			c.Cut(number, n.number)
		}
	}
}

// Heal restores the network between all nodes.
func (c *Cluster) Heal() { c.Net.Heal() }

// Stop closes the node without waiting for its clients.
func (n *Node) Stop() { n.StopWithin(0) }

// StopWithin closes the node as an operator does: its clients have so much time to finish their
// transactions.
func (n *Node) StopWithin(drain time.Duration) {
	if n.Node == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), drain)
	defer cancel()
	if err := n.Close(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		n.cluster.t.Errorf("node %d does not end well: %v", n.number, err)
	}
	<-n.serving
	n.Node = nil
}

// Restart starts the node again after Stop.
func (n *Node) Restart() {
	n.cluster.t.Helper()
	if err := n.Start(n.cluster.context()); err != nil {
		n.cluster.t.Fatalf("node %d: %v", n.number, err)
	}
}

// Start starts the node. Unlike Restart it returns an error.
func (n *Node) Start(ctx context.Context) error {
	opened, err := node.Open(ctx, n.Config)
	if err != nil {
		return err
	}
	n.Node, n.serving = opened, make(chan error, 1)
	go func() { n.serving <- opened.Serve() }()
	if strings.HasSuffix(n.Config.SQLAddr, ":0") {
		n.Config.SQLAddr = opened.SQLAddr()
	}
	return nil
}

// SetClock sets how far the node's clock is ahead of the true time.
func (n *Node) SetClock(ahead time.Duration) { n.ahead.Store(int64(ahead)) }

// Connect returns a connection to the node's SQL port, as the superuser.
func (n *Node) Connect(t testing.TB) *pgx.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Timeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, n.URL())
	if err != nil {
		t.Fatal(fmt.Errorf("node %d: %w", n.number, err))
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		conn.Close(ctx)
	})
	return conn
}
