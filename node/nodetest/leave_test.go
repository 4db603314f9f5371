package nodetest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/node"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// TestLeadershipWhileLeaving: a node that shuts down waits for a transaction in one fragment, and
// meanwhile becomes the leader of another, for which it is the preferred leader. Clients of that
// fragment lose nothing when the node is gone.
func TestLeadershipWhileLeaving(t *testing.T) {
	t.Parallel()
	c := Start(t, 3, func(_ uint32, cfg *node.Config) { cfg.Fragments = 6 })
	exec(t, c, 1, "CREATE TABLE acc (id text PRIMARY KEY, doc jsonb)")
	replicated(c, 3)
	const leaves, stays = 3, 1
	var led []txn.FragmentID
	replica := func(node uint32, f txn.FragmentID) *storage.Replica {
		r, err := c.Node(node).Store().Replicas.Replica(f)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	eventually.Holds(t, "node 3 leads what it is wanted to", func() bool {
		led = nil
		for _, f := range c.Node(stays).Catalog().View().Database(catalog.PostgresDB).Fragments {
			if f.Nodes[0] == leaves {
				led = append(led, f.ID)
			}
		}
		return len(led) == 2 && !slices.ContainsFunc(led, func(f txn.FragmentID) bool { return replica(leaves, f).Group.Term() == 0 })
	})
	row := func(f txn.FragmentID) string {
		for _, r := range c.Node(stays).Catalog().View().Database(catalog.PostgresDB).Map.Ranges() {
			if r.Fragment == f {
				return fmt.Sprintf("row$@%d", r.Lo)
			}
		}
		t.Fatal("a fragment without buckets")
		return ""
	}
	busy, back := led[0], led[1]
	exec(t, c, stays, "INSERT INTO acc VALUES ($1, '0'), ($2, '0')", row(busy), row(back))

	ctx, one, two := c.context(), c.Node(stays).Connect(t), c.Node(stays).Connect(t)
	run := func(text string, args ...any) {
		t.Helper()
		if _, err := one.Exec(ctx, text, args...); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	run("BEGIN")
	run("UPDATE acc SET doc = '1' WHERE id = $1", row(busy))
	before := replica(leaves, back).Group.Term()
	if err := replica(leaves, back).Group.HandOver(ctx, true); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.Node(leaves).StopWithin(Timeout)
	}()
	there := replica(leaves, back)
	// If it still led now, it would wait for the transaction below, which ends after it.
	eventually.Holds(t, "the node that leaves does not lead and admits no transaction", func() bool {
		return there.Group.Term() == 0 && there.Group.Yielding()
	})
	eventually.Holds(t, "the node that leaves is handed the lead again", func() bool { return there.Group.Term() > before })
	if _, err := two.Exec(ctx, "BEGIN"); err != nil {
		t.Fatal(err)
	}
	if _, err := two.Exec(ctx, "UPDATE acc SET doc = '1' WHERE id = $1", row(back)); err != nil {
		t.Fatal(err)
	}
	run("COMMIT")
	<-ended
	if _, err := two.Exec(ctx, "COMMIT"); err != nil {
		t.Errorf("of a fragment that was led by the node that left: %v", err)
	}
}
