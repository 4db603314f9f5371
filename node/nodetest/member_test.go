package nodetest

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/node"
)

// refused starts a node that must fail to start, and checks the reason.
func refused(t *testing.T, n *Node, want string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Timeout)
	defer cancel()
	err := n.Start(ctx)
	if err == nil {
		n.Stop()
		t.Fatalf("the node runs, and should be refused: %s", want)
	}
	if !strings.Contains(err.Error(), want) {
		t.Errorf("%v\nshould say: %s", err, want)
	}
}

func (c *Cluster) token(t *testing.T, life time.Duration) string {
	t.Helper()
	token, err := c.Running().NewToken(t.Context(), life, 0)
	if err != nil {
		t.Fatal(err)
	}
	return token.String()
}

// stranger returns a node that is not a member of the cluster and is not started.
func (c *Cluster) stranger(t *testing.T, token string) *Node {
	t.Helper()
	number := uint32(len(c.nodes) + 1)
	return &Node{cluster: c, number: number, Config: node.Config{
		Data: filepath.Join(t.TempDir(), "data"), SQLAddr: "127.0.0.1:0", NodeAddr: c.freeAddr(number), Logger: c.log,
		Knobs: node.Knobs{Dial: c.Node(1).Config.Knobs.Dial},
		Join:  []string{c.Running().Config.NodeAddr}, Token: token,
	}}
}

// TestStrangers: nodes that do not belong to the cluster get an error with the reason, and do not
// harm its members.
func TestStrangers(t *testing.T) {
	t.Parallel()
	c, other := Start(t, 1), Start(t, 1)
	good := c.token(t, time.Hour)
	n := c.stranger(t, "")
	refused(t, n, "a join token is needed")
	n.Config.Token = "sherd-join-abc"
	refused(t, n, "the join token is incomplete")
	n.Config.Token = other.token(t, time.Hour)
	refused(t, n, "and the join token is for cluster")
	n.Config.Token = c.token(t, time.Nanosecond)
	refused(t, n, "this join token expired")
	n.Config.Token, n.Config.Name = good, "n1"
	refused(t, n, `there is a node named "n1" already: give another --node-name`)
	n.Config.Join = []string{c.Node(1).Node.SQLAddr()}
	// "what answers is not the node port", or the connection was closed before the answer arrived.
	refused(t, n, "port")
	n.Config.Join, n.Config.Name = []string{c.Node(1).Config.NodeAddr}, "lisbon"
	if err := n.Start(t.Context()); err != nil { // the attempts did not use up the token
		t.Fatal(err)
	}
	defer n.Stop()
	if got := c.Node(1).Catalog().View().NodeByName("lisbon"); got == nil || got.ID != n.Number() || got.Release == "" {
		t.Errorf("%+v", got)
	}
	refused(t, c.stranger(t, good), fmt.Sprintf("this join token was used already, for node %d", n.Number()))
}

// TestLeaveAndRejoin: a node comes back with its data, also at other addresses. A node that was
// drained and removed is refused by name. Its machine joins as another node.
func TestLeaveAndRejoin(t *testing.T) {
	t.Parallel()
	c := Start(t, 3)
	exec(t, c, 1, "CREATE TABLE kept (id int PRIMARY KEY)")
	exec(t, c, 3, "INSERT INTO kept SELECT generate_series(1, 100)")
	replicated(c, 3)

	second := c.Node(2)
	second.Stop()
	exec(t, c, 1, "INSERT INTO kept VALUES (101)")
	second.Config.NodeAddr, second.Config.SQLAddr = c.freeAddr(2), "127.0.0.1:0"
	second.Restart()
	eventually.Holds(t, "the others know where node 2 is", func() bool { return c.Node(3).Catalog().View().Node(2).NodeAddr == second.Config.NodeAddr })
	if got := count(t, c, 2, "kept"); got != 101 {
		t.Errorf("%d rows", got)
	}

	exec(t, c, 1, "SELECT sherd.drain_node('n3')")
	eventually.Holds(t, "node 3 is empty", func() bool {
		for _, s := range c.Node(1).Catalog().View().ReplicaSets() {
			for _, n := range append(s.Nodes, s.Joining...) {
				if n == 3 {
					return false
				}
			}
		}
		return true
	})
	exec(t, c, 1, "SELECT sherd.remove_node('n3')")
	third := c.Node(3)
	eventually.Holds(t, "node 3 ends by itself", func() bool { return len(third.serving) > 0 })
	third.Stop()
	refused(t, third, "node n3 (number 3) was removed from the cluster")
	if got := count(t, c, 2, "kept"); got != 101 {
		t.Errorf("%d rows", got)
	}
	third.Config.Data, third.Config.Token = filepath.Join(t.TempDir(), "empty"), c.token(t, time.Hour)
	third.Restart()
	if third.Number() != 4 {
		t.Errorf("it is node %d", third.Number())
	}
	log, err := rows(c.context(), c.Node(1).Connect(t), "SELECT concat_ws(' ', subject, split_part(change, ',', 1), who) FROM sherd.changelog WHERE kind = 'node' ORDER BY at")
	want := "n2 joined as node 2 sherd; n3 joined as node 3 sherd; n3 draining postgres; n3 removed postgres; n4 joined as node 4 sherd"
	if got := strings.Join(log, "; "); err != nil || got != want {
		t.Errorf("sherd.changelog: %s, %v", got, err)
	}
	if got := count(t, c, 3, "kept"); got != 101 {
		t.Errorf("%d rows", got)
	}
}
