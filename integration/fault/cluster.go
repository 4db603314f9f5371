package fault

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sherddb/sherd/integration"
	"github.com/sherddb/sherd/internal/faultnet"
)

// Ports of every node in its own namespace.
const (
	sqlPort  = 5433
	nodePort = 7433
)

// Cluster is nodes, each a process, numbered from 1.
type Cluster struct {
	binary  string
	dir     string
	network Network
	flags   []string      // of every node
	refill  time.Duration // refill, and more for more documents

	mu    sync.Mutex
	nodes []*Node // guarded by mu
}

// Node is one node and its addresses, whether it runs or not.
type Node struct {
	Number  int    // its number in this package
	ID      int    // its number in the cluster
	SQL     string // HOST:PORT, as clients see it
	listen  string // likewise, as the node does
	Peers   string // HOST:PORT of the node port
	data    string
	http    string               // HOST:PORT for operators; empty: none
	process *integration.Process // nil: it was ended
	past    string               // log of its earlier processes
	forward *exec.Cmd            // for clients, in a namespace; nil: not needed
	stopped bool                 // by SIGSTOP
	flags   []string
}

// nodeNumber stands for a node's number in flags for all nodes.
const nodeNumber = "{node}"

// refill is how long a node may take to be refilled after another one has lost its data: a GB and
// more after half an hour, because old versions are kept, one fragment after another.
const refill = 5 * time.Minute

// NewCluster starts n nodes that replicate everything on three of them.
func NewCluster(binary, dir string, network Network, n int, flags ...string) (*Cluster, error) {
	c := &Cluster{binary: binary, dir: dir, network: network, flags: flags, refill: refill}
	for range n {
		if _, err := c.Add(); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

// Add starts another node, which joins the cluster.
func (c *Cluster) Add() (*Node, error) {
	number := len(c.nodes) + 1
	n := &Node{Number: number, ID: number, data: filepath.Join(c.dir, "n"+strconv.Itoa(number))}
	var err error
	if n.SQL, err = c.port(number, sqlPort); err != nil {
		return nil, err
	}
	if n.Peers, err = c.port(number, nodePort); err != nil {
		return nil, err
	}
	if os.Getenv("SHERD_PROFILE") != "" && !c.network.Cuts() {
		if n.http, err = c.port(number, 0); err != nil {
			return nil, err
		}
	}
	n.listen = n.SQL
	if c.network.Cuts() {
		n.listen = net.JoinHostPort("127.0.0.1", strconv.Itoa(sqlPort))
		if n.forward, err = startForwarder(c.network.Via(number), n.SQL, n.listen); err != nil {
			return nil, err
		}
	}
	if number == 1 {
		err = c.start(n)
	} else {
		err = c.join(n, c.nodes[0])
	}
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes = append(c.nodes, n)
	return n, nil
}

// join starts a node with an empty data directory.
func (c *Cluster) join(n, at *Node) error {
	token, err := c.Token()
	if err != nil {
		return err
	}
	return c.start(n, "--join", at.Peers, "--token", token)
}

// port returns an address for a node. On loopback it chooses a free port, which the node keeps.
func (c *Cluster) port(node, port int) (string, error) {
	if c.network.Cuts() {
		return net.JoinHostPort(c.network.Address(node), strconv.Itoa(port)), nil
	}
	return faultnet.FreeAddr()
}

// Token returns a join token from the first node that answers.
func (c *Cluster) Token() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var errs []error
	for _, n := range c.nodes {
		token, err := ask[string](ctx, n, "SELECT sherd.join_token('1 hour')")
		if err == nil {
			return token, nil
		}
		errs = append(errs, err)
	}
	return "", errors.Join(errs...)
}

// URL returns the connection string for a node.
func (n *Node) URL() string { return "postgres://postgres@" + n.SQL + "/postgres?connect_timeout=5" }

func (c *Cluster) start(n *Node, flags ...string) error {
	flags = append([]string{"--node-addr", n.Peers, "--http-addr", n.http}, flags...)
	for _, f := range append(slices.Clip(n.flags), c.flags...) {
		flags = append(flags, strings.ReplaceAll(f, nodeNumber, strconv.Itoa(n.Number)))
	}
	p, err := integration.StartCommand(integration.Command{
		Via: c.network.Via(n.Number), Binary: c.binary, Data: n.data, SQLAddr: n.listen,
		Flags: flags,
	})
	if err != nil {
		return fmt.Errorf("node %d: %w", n.Number, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if n.process != nil {
		n.past += n.process.Log()
	}
	n.process, n.stopped = p, false
	return nil
}

// Nodes returns all nodes.
func (c *Cluster) Nodes() []*Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*Node(nil), c.nodes...)
}

// AnyURL returns the connection string of a random running node.
func (c *Cluster) AnyURL() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var up []*Node
	for _, n := range c.nodes {
		if n.process != nil && !n.stopped && !n.process.Exited() {
			up = append(up, n)
		}
	}
	if len(up) == 0 {
		up = c.nodes
	}
	return up[rand.IntN(len(up))].URL()
}

// Kill kills nodes, as a power failure would.
func (c *Cluster) Kill(nodes ...*Node) {
	for _, n := range nodes {
		n.process.Kill()
	}
}

// Start starts nodes again, all at once, and waits until all accept clients.
func (c *Cluster) Start(nodes ...*Node) error {
	errs := make([]error, len(nodes))
	var wg sync.WaitGroup
	for i, n := range nodes {
		wg.Go(func() { errs[i] = c.start(n) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Restart stops a node as an operator would, and starts it again.
func (c *Cluster) Restart(n *Node) error {
	code, took, err := n.process.Terminate()
	if err == nil && code != 0 {
		err = fmt.Errorf("node %d ended with %d after %v:\n%s", n.Number, code, took, n.process.Log())
	}
	return errors.Join(err, c.start(n))
}

// Freeze stops a node's process; Thaw continues it.
func (c *Cluster) Freeze(n *Node) error { return c.signal(n, syscall.SIGSTOP) }

// Thaw continues a frozen process.
func (c *Cluster) Thaw(n *Node) error { return c.signal(n, syscall.SIGCONT) }

func (c *Cluster) signal(n *Node, s syscall.Signal) error {
	c.mu.Lock()
	n.stopped = s == syscall.SIGSTOP
	c.mu.Unlock()
	return syscall.Kill(n.process.PID(), s)
}

// Process is the node's process of now.
func (n *Node) Process() *integration.Process { return n.process }

// Isolate cuts the network between a node and all others: in the direction out, in, or both.
func (c *Cluster) Isolate(n *Node, out, in bool) error {
	return c.each(n, func(other *Node) error {
		var errs []error
		if out {
			errs = append(errs, c.network.Cut(n.Number, other.Number))
		}
		if in {
			errs = append(errs, c.network.Cut(other.Number, n.Number))
		}
		return errors.Join(errs...)
	})
}

// Reunite reverts Isolate.
func (c *Cluster) Reunite(n *Node, out, in bool) error {
	return c.each(n, func(other *Node) error {
		var errs []error
		if out {
			errs = append(errs, c.network.Mend(n.Number, other.Number))
		}
		if in {
			errs = append(errs, c.network.Mend(other.Number, n.Number))
		}
		return errors.Join(errs...)
	})
}

func (c *Cluster) each(n *Node, do func(other *Node) error) error {
	var errs []error
	for _, other := range c.Nodes() {
		if other != n {
			errs = append(errs, do(other))
		}
	}
	return errors.Join(errs...)
}

// led returns the node whose number a query returns. It repeats the query, because after a fault
// there may be no leader for a moment.
func (c *Cluster) led(rnd *rand.Rand, query string) (*Node, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	nodes := c.Nodes()
	asked := nodes[rnd.IntN(len(nodes))]
	number, err := ask[int](ctx, asked, query)
	for errors.Is(err, pgx.ErrNoRows) {
		number, err = ask[int](ctx, asked, query)
	}
	if err != nil {
		return nil, err
	}
	for _, n := range nodes {
		if n.ID == number {
			return n, nil
		}
	}
	return nil, fmt.Errorf("%s: there is no node %d", query, number)
}

// WaitWhole waits until a node reports that every fragment has its replicas, that all of them have
// caught up, and that every node answers.
func (c *Cluster) WaitWhole(ctx context.Context, n *Node) error {
	return waitFor(ctx, n, "SELECT (SELECT count(*) FROM sherd.replicas "+
		"WHERE role = 'learner' OR role <> 'leader' AND state <> 'up to date')"+
		" + (SELECT count(*) FROM sherd.nodes WHERE NOT alive) + (SELECT count(*) FROM sherd.fragments "+
		"WHERE leader IS NULL OR cardinality(nodes) < replication_factor)", 0)
}

// Logs returns the last lines that each node wrote to standard error.
func (c *Cluster) Logs(lines int) string {
	var b strings.Builder
	for _, n := range c.Nodes() {
		all := strings.Split(strings.TrimSpace(n.past+n.process.Log()), "\n")
		fmt.Fprintf(&b, "node %d:\n%s\n", n.Number, strings.Join(all[max(0, len(all)-lines):], "\n"))
	}
	return b.String()
}

// Dump makes every running node write the stacks of its goroutines, which ends it, and returns the
// output. It asks all nodes at once, so that no stack shows the effects of the end of other nodes.
func (c *Cluster) Dump() string {
	var wg sync.WaitGroup
	for _, n := range c.Nodes() {
		if n.process != nil && !n.process.Exited() {
			_ = syscall.Kill(n.process.PID(), syscall.SIGCONT)
			wg.Go(n.process.Dump)
		}
	}
	wg.Wait()
	return c.Logs(1 << 20)
}

// Close kills all nodes.
func (c *Cluster) Close() error {
	for _, n := range c.Nodes() {
		if n.process != nil && !n.process.Exited() {
			n.process.Kill()
		}
		if n.forward != nil {
			_ = n.forward.Process.Kill()
			_ = n.forward.Wait()
		}
	}
	return c.network.Close()
}

// waitFor repeats a query on a node until it returns the wanted count.
func waitFor(ctx context.Context, n *Node, query string, want int) error {
	last := errors.New("not asked")
	for ctx.Err() == nil {
		var got int
		if got, last = ask[int](ctx, n, query); last == nil {
			if got == want {
				return nil
			}
			last = fmt.Errorf("%s: %d, not %d", query, got, want)
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
	return last
}
