// Package nodetest is clusters of several nodes in one process, on loopback, over a network that fails on command, for tests:
//
//	c := nodetest.Start(t, 3)
//	db := c.Node(2).Connect(t)
//	c.Cut(1, 3)
//	c.Node(1).Stop()
//	c.Node(1).Restart()
//
// Nodes are what package node makes of them, with everything that a process has. What a process alone can do, to be killed or to stand still, they
// cannot; integration/fault does that.
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

// Timeout bounds what a busy machine may take for one step.
const Timeout = 2 * time.Minute

// Cluster is nodes 1 to n. Methods are called by the test's goroutine, or one at a time.
type Cluster struct {
	Net   *faultnet.Network // hosts are named by Host
	nodes []*Node
	t     testing.TB
	log   *slog.Logger

	mu    sync.Mutex
	hosts map[string]string // by address for nodes; guarded by mu
}

// Node is one of the nodes; Node.Node is nil while it is stopped.
type Node struct {
	*node.Node
	Config  node.Config
	cluster *Cluster
	number  uint32
	ahead   atomic.Int64 // of its clock
	serving chan error
}

// Host names a node in the network.
func Host(number uint32) string { return strconv.FormatUint(uint64(number), 10) }

// Start starts n nodes, the first of which begins the cluster. configure, if given, may change how a node is started. All are closed with the test.
// SHERD_TEST_LOG=1 shows their logs. A panic from which a node recovers fails the test.
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

// Add starts one node more, which joins with a token of the first that runs.
func (c *Cluster) Add(configure ...func(number uint32, cfg *node.Config)) *Node {
	c.t.Helper()
	n := &Node{cluster: c, number: uint32(len(c.nodes) + 1)}
	n.Config = node.Config{
		Data: filepath.Join(c.t.TempDir(), "data"), SQLAddr: c.freeAddr(n.number), NodeAddr: c.freeAddr(n.number), Logger: c.log.With("on", n.number),
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

// freeAddr finds an address for a node, and keeps its host in mind: others connect to it before its start is over, and after the next.
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

// Node gives a node by its number in the test, which is its number in the cluster too where nodes were added alone.
func (c *Cluster) Node(number uint32) *Node { return c.nodes[number-1] }

// Nodes gives all nodes, also those that are stopped.
func (c *Cluster) Nodes() []*Node { return c.nodes }

// Running gives the first node that is not stopped, nil where all are.
func (c *Cluster) Running() *Node {
	for _, n := range c.nodes {
		if n.Node != nil {
			return n
		}
	}
	return nil
}

// Cut stops what two nodes say to each other.
func (c *Cluster) Cut(a, b uint32) { c.Net.Partition([]string{Host(a)}, []string{Host(b)}) }

// Isolate cuts a node off from all others.
func (c *Cluster) Isolate(number uint32) {
	for _, n := range c.nodes {
		if n.number != number {
			c.Cut(number, n.number)
		}
	}
}

// Heal mends all links.
func (c *Cluster) Heal() { c.Net.Heal() }

// Stop ends the node without waiting for its clients.
func (n *Node) Stop() { n.StopWithin(0) }

// StopWithin ends the node as an operator does: its clients may finish their transactions for so long.
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

// Restart starts the node, again where it was stopped.
func (n *Node) Restart() {
	n.cluster.t.Helper()
	if err := n.Start(n.cluster.context()); err != nil {
		n.cluster.t.Fatalf("node %d: %v", n.number, err)
	}
}

// Start is Restart with its error.
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

// SetClock sets how far the node's clock is ahead of the true one.
func (n *Node) SetClock(ahead time.Duration) { n.ahead.Store(int64(ahead)) }

// Connect gives a connection to the node's SQL port, as the superuser.
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
