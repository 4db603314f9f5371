package nodetest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/eventually"
)

// logged collects what a node logs.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.text.String(), text)
}

// listenOnly listens at an address, passes connections to serve, and returns the address.
func listenOnly(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serve(c)
		}
	}()
	return l.Addr().String()
}

// TestJoinAddresses: wrong addresses of --join are refused with the reason. If one of several
// addresses cannot be reached, the node names it and tries the next.
func TestJoinAddresses(t *testing.T) {
	t.Parallel()
	c := Start(t, 1)
	n := c.stranger(t, c.token(t, time.Hour))
	good := n.Config.Join[0]
	var log logged
	n.Config.Logger = slog.New(slog.NewTextHandler(&log, nil))
	n.Config.Knobs.Dial = nil
	gone := listenOnly(t, func(c net.Conn) { c.Close() })
	http := listenOnly(t, func(c net.Conn) {
		c.Read(make([]byte, 100))
		io.WriteString(c, "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n\r\n400 Bad Request")
		c.Close()
	})
	for addr, says := range map[string]string{
		n.Config.NodeAddr:        "is this node itself: name another node of the cluster",
		"127.0.0.1:1":            "cannot reach a node at 127.0.0.1:1: dial tcp 127.0.0.1:1: connect: connection refused",
		"no.such.invalid:7433":   "cannot reach a node at no.such.invalid:7433: dial tcp: lookup no.such.invalid",
		c.Node(1).Node.SQLAddr(): "not the node port of a Sherd node",
		http:                     "not the node port of a Sherd node",
		gone:                     "or this is not its port for nodes",
	} {
		n.Config.Join = []string{addr}
		refused(t, n, says)
	}
	n.Config.Join = nil
	// It must not create a cluster either.
	refused(t, n, "the address of a node of the cluster is needed to join it")
	n.Config.Join = []string{n.Config.NodeAddr, "127.0.0.1:1", good}
	if err := n.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer n.Stop()
	if says := "a node of --join was not reached; the next is asked"; !log.has(says) || !log.has("127.0.0.1:1") {
		t.Errorf("not logged: %s", says)
	}
}

// TestJoinPastSilence: a machine that drops packets does not delay the other addresses of the list
// for minutes.
func TestJoinPastSilence(t *testing.T) {
	t.Parallel()
	c := Start(t, 1)
	n := c.stranger(t, c.token(t, time.Hour))
	tcp := n.Config.Knobs.Dial
	n.Config.Knobs.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
		if addr != "192.0.2.1:7433" {
			return tcp(ctx, addr)
		}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	n.Config.Join = append([]string{"192.0.2.1:7433"}, n.Config.Join...)
	if err := n.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	n.Stop()
}

// TestOtherClusterLater: a data directory belongs to one cluster. Settings for another one are
// refused, or the log says that they have no effect.
func TestOtherClusterLater(t *testing.T) {
	t.Parallel()
	c, other := Start(t, 1), Start(t, 1)
	n := c.Node(1)
	n.Stop()
	var log logged
	n.Config.Logger = slog.New(slog.NewTextHandler(&log, nil))
	n.Config.Knobs.Dial = nil
	n.Config.Join, n.Config.Token = []string{other.Node(1).Config.NodeAddr}, other.token(t, time.Hour)
	refused(t, n, "--token is for cluster "+other.Node(1).Certificates().Self().ClusterID)
	n.Config.Token, n.Config.Name, n.Config.Fragments, n.Config.Replication, n.Config.Password = "", "lisbon", 7, 5, "secret"
	n.Restart()
	for _, says := range []string{
		"--node-name lisbon does nothing: a node has its name from its first start on, and this one is n1",
		"--fragments 7 does nothing: it is for a new cluster, and the database postgres of this one has 3",
		"--replication-factor 5 does nothing", "the password given for the superuser does nothing",
		"--join " + n.Config.Join[0] + " does nothing: this data directory is that of node 1 of cluster",
	} {
		eventually.Holds(t, says, func() bool { return log.has(says) })
	}
}

// copyOf copies the data directory of a stopped node.
func copyOf(t *testing.T, n *Node) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	if err := os.Mkdir(to, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(to, os.DirFS(n.Config.Data)); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(to, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			err = os.Chmod(path, 0o700) // the certificates need it, the other folders allow it
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// TestCopiedDirectory: a data directory and its copy cannot run at the same time.
func TestCopiedDirectory(t *testing.T) {
	t.Parallel()
	c := Start(t, 3)
	original := c.Node(2)
	// Addresses of nodes are written with a majority, which the other nodes must have without the
	// copied one.
	for _, n := range c.Nodes() {
		eventually.Holds(t, "all vote", func() bool { return slices.Equal(n.Catalog().Voters(), []uint32{1, 2, 3}) })
	}
	original.Stop()
	twin := c.stranger(t, "")
	twin.Config.Data, twin.Config.Join = copyOf(t, original), nil
	original.Restart()
	refused(t, twin, fmt.Sprintf("node 2 runs already, at %s", original.Config.NodeAddr))
	exec(t, c, 2, "CREATE TABLE t (id int PRIMARY KEY)")

	original.Stop()
	if err := twin.Start(t.Context()); err != nil { // like a node that has moved
		t.Fatal(err)
	}
	defer twin.Stop()
	refused(t, original, fmt.Sprintf("node 2 runs already, at %s", twin.Config.NodeAddr))
}

// TestJoinWithWrongClock: a machine whose clock is wrong by years, or ahead by an hour, gets an
// error, and no node adopts its time.
func TestJoinWithWrongClock(t *testing.T) {
	t.Parallel()
	c := Start(t, 1)
	n := c.stranger(t, c.token(t, time.Hour))
	for _, off := range []time.Duration{2 * 365 * 24 * time.Hour, -2 * 365 * 24 * time.Hour} {
		n.Config.Knobs.Now = func() time.Time { return time.Now().Add(off) }
		refused(t, n, "compare the clocks")
	}
	n.Config.Knobs.Now = func() time.Time { return time.Now().Add(time.Hour) }
	refused(t, n, "is too far ahead of the other nodes' clocks")
	exec(t, c, 1, "CREATE TABLE t (id int PRIMARY KEY)")
	if last := c.Node(1).Clock().Last().Time(); time.Until(last) > 20*time.Second {
		t.Errorf("the cluster's clock went along, to %s", last)
	}
	n.Config.Knobs.Now = nil
	if err := n.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	n.Stop()
}
