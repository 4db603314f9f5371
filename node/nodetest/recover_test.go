package nodetest

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/fragment/recovery"
	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/node"
	"github.com/sherddb/sherd/txn"
)

// recoverOn does what "sherd node recover" does on a stopped node: all groups that have lost their
// majority continue with that node alone.
func recoverOn(t *testing.T, n *Node, lost ...uint32) {
	t.Helper()
	dir := n.Config.Data
	stopped := recovery.Node{
		Data: dir, CatalogDir: filepath.Join(dir, "catalog"), Dir: filepath.Join(dir, "fragments"), LogDir: filepath.Join(dir, "log"),
		Number: n.number, Logger: slog.New(slog.DiscardHandler),
	}
	found, err := stopped.Look(lost)
	if err != nil {
		t.Fatal(err)
	}
	var groups []txn.FragmentID
	for _, g := range found {
		if !g.Lost {
			t.Fatalf("fragment %d has its majority: %v", g.Fragment, g.Voters)
		}
		groups = append(groups, g.Fragment)
	}
	if len(groups) < 2 {
		t.Fatalf("no fragment: %v", groups)
	}
	if err := stopped.Recover(groups, lost); err != nil {
		t.Fatal(err)
	}
}

// endsAsLost starts a node and expects it to end with that reason, at its start or soon after.
func endsAsLost(t *testing.T, c *Cluster, nodes ...*Node) {
	t.Helper()
	ends := make(chan string, len(nodes))
	for _, n := range nodes {
		go func() {
			if err := n.Start(c.context()); err != nil {
				ends <- err.Error()
				return
			}
			ends <- fmt.Sprint(<-n.serving)
			n.serving <- nil // Stop receives it
		}()
	}
	for _, n := range nodes {
		why := "it goes on"
		select {
		case why = <-ends:
		case <-c.context().Done():
		}
		if !strings.Contains(why, "was declared lost") || !strings.Contains(why, "wipe the data directory and start it with a join token") {
			t.Errorf("node %d: %s", n.number, why)
		}
	}
	for _, n := range nodes {
		n.Stop()
	}
}

// TestLostNodesAreRefused: nodes that unsafe recovery has given up are refused with their data,
// before and after they are removed and after a restart of the recovered node, whether one node was
// lost or a majority. No group admits them as members. They can be removed without being drained.
func TestLostNodesAreRefused(t *testing.T) {
	t.Parallel()
	c := Start(t, 3, func(_ uint32, cfg *node.Config) { cfg.Fragments = 2 })
	exec(t, c, 1, "CREATE TABLE kept (id int PRIMARY KEY)")
	exec(t, c, 1, "INSERT INTO kept SELECT generate_series(1, 100)")
	replicated(c, 3)
	first, second, third := c.Node(1), c.Node(2), c.Node(3)
	for _, n := range c.Nodes() {
		n.Stop()
	}
	recoverOn(t, third, 1, 2)
	third.Restart()
	eventually.Holds(t, "node 3 serves alone", func() bool { return try(third.URL(), "INSERT INTO kept VALUES (101)") == nil })
	eventually.Holds(t, "the catalog knows the lost nodes", func() bool { return count(t, c, 3, "sherd.nodes WHERE state = 'lost'") == 2 })
	eventually.Holds(t, "the directory does not name them any more", func() bool {
		_, err := os.Stat(filepath.Join(third.Config.Data, "lost-nodes"))
		return errors.Is(err, fs.ErrNotExist)
	})
	endsAsLost(t, c, first)
	endsAsLost(t, c, first, second)
	alone(t, c, 3)

	third.Stop()
	third.Restart() // with the content of its catalog
	eventually.Holds(t, "node 3 serves again", func() bool { return try(third.URL(), "INSERT INTO kept VALUES (102)") == nil })
	endsAsLost(t, c, first)
	c.Add()
	eventually.Holds(t, "node 4 knows the lost nodes", func() bool { return count(t, c, 4, "sherd.nodes WHERE state = 'lost'") == 2 })
	eventually.Holds(t, "replicas are on nodes 3 and 4", func() bool {
		for _, s := range third.Catalog().View().ReplicaSets() {
			if len(s.Nodes) != 2 || len(s.Joining)+len(s.Leaving) > 0 {
				return false
			}
		}
		return true
	})
	exec(t, c, 4, "SELECT sherd.drain_node('n1')") // has no effect
	if err := try(third.URL(), "SELECT sherd.resume_node('n1')"); err == nil || !strings.Contains(err.Error(), "SQLSTATE 55000") {
		t.Errorf("a lost node is resumed: %v", err)
	}
	exec(t, c, 4, "SELECT sherd.remove_node('n1'), sherd.remove_node('n2')")
	refused(t, first, "node n1 (number 1) was removed from the cluster")
	if got := count(t, c, 4, "kept"); got != 102 {
		t.Errorf("%d rows", got)
	}
	if n := count(t, c, 3, "sherd.check() WHERE NOT ok"); n > 0 {
		t.Errorf("sherd.check() finds %d faults", n)
	}
}

// alone returns the groups that have members other than one node.
func alone(t *testing.T, c *Cluster, number uint32) {
	t.Helper()
	n := c.Node(number)
	for _, f := range n.Catalog().View().Database(catalog.PostgresDB).Fragments {
		r, err := n.Store().Replicas.Replica(f.ID)
		if err != nil || !r.Group.Alone() {
			t.Errorf("fragment %d: %v", f.ID, err)
		}
	}
	if v := n.Catalog().Voters(); len(v) != 1 {
		t.Errorf("the catalog's voters: %v", v)
	}
}
