package nodetest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/node"
)

// replicated waits until each fragment has its replicas, on n nodes.
func replicated(c *Cluster, n int) {
	c.t.Helper()
	eventually.Holds(c.t, fmt.Sprintf("%d replicas of each fragment", n), func() bool {
		for d := range c.Running().Catalog().View().Databases() {
			for _, f := range d.Fragments {
				if len(f.Nodes) != n || len(f.Joining)+len(f.Leaving) > 0 {
					return false
				}
			}
		}
		return true
	})
}

// exec runs a statement on a node, and repeats it while the fragments that it needs have no leader.
// If an answer was lost, the statement may have run: then an error that its rows or its object
// exist counts as success.
func exec(t *testing.T, c *Cluster, node uint32, sql string, args ...any) {
	t.Helper()
	lost := false
	eventually.Succeeds(t, fmt.Sprintf("node %d: %s", node, sql), func() error {
		err := try(c.Node(node).URL(), sql, args...)
		if err == nil || lost && refusedWith(err, "23505", "42P04", "42P07", "42710") {
			return nil
		}
		lost = lost || code(err) == "" || code(err) == "40003"
		return err
	})
}

// moved moves the first quarter of the buckets and waits for the move. An attempt that timed out
// may have started the move.
func moved(t *testing.T, c *Cluster, node uint32, to string) {
	t.Helper()
	exec(t, c, node, `SELECT CASE WHEN bool_and(fragment = $1) THEN 0 ELSE sherd.move_buckets('postgres', 0, 262144, $1, wait => true) END
		FROM sherd.bucket_map WHERE first_bucket < 262144`, to)
}

func try(url, sql string, args ...any) error {
	ctx, cancel := context.WithTimeout(context.Background(), Timeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sql, args...)
	return err
}

func count(t *testing.T, c *Cluster, node uint32, table string) (n int) {
	t.Helper()
	if err := c.Node(node).Connect(t).QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n); err != nil {
		t.Fatalf("node %d: %v", node, err)
	}
	return n
}

// TestGrowAndLoseANode: a cluster grows from one node to three. Every fragment gets three replicas,
// leaders are spread, and all nodes accept statements. After the loss of one node no data is lost.
func TestGrowAndLoseANode(t *testing.T) {
	t.Parallel()
	c := Start(t, 1)
	exec(t, c, 1, "CREATE TABLE orders (id bigint PRIMARY KEY, note text)")
	exec(t, c, 1, "INSERT INTO orders SELECT i, 'n' || i FROM generate_series(1, 300) i")
	c.Add()
	c.Add()
	replicated(c, 3)
	eventually.Holds(t, "leaders are spread", func() bool {
		var lead []uint32
		for _, f := range c.Node(2).Catalog().View().Database(catalog.PostgresDB).Fragments {
			lead = append(lead, f.Nodes[0])
		}
		slices.Sort(lead)
		return slices.Equal(lead, []uint32{1, 2, 3})
	})
	for _, n := range []uint32{1, 2, 3} {
		if got, want := count(t, c, n, "orders"), 300+int(n)-1; got != want {
			t.Fatalf("node %d counts %d, not %d", n, got, want)
		}
		exec(t, c, n, "INSERT INTO orders VALUES ($1, 'x')", 1000+int(n))
	}
	c.Node(3).Stop()
	exec(t, c, 1, "INSERT INTO orders SELECT i, 'y' FROM generate_series(2001, 2100) i")
	if got := count(t, c, 2, "orders"); got != 403 {
		t.Fatalf("%d rows", got)
	}
	c.Node(3).Restart()
	if got := count(t, c, 3, "orders"); got != 403 {
		t.Fatalf("%d rows", got)
	}
}

// TestDeadNodeIsReplaced: if a node is silent for sherd.dead_node_after, its replicas move
// elsewhere. When it comes back it has none of them, and gets some again.
func TestDeadNodeIsReplaced(t *testing.T) {
	t.Parallel()
	c := Start(t, 4)
	exec(t, c, 1, "CREATE TABLE orders (id bigint PRIMARY KEY, note text)")
	exec(t, c, 1, "INSERT INTO orders SELECT i, 'n' || i FROM generate_series(1, 300) i")
	replicated(c, 3)
	if _, err := c.Node(1).Catalog().Update(c.context(), func(_ *catalog.View, ch *catalog.Change) error {
		return ch.PutSetting(catalog.Setting{Name: "sherd.dead_node_after", Value: "3"})
	}); err != nil {
		t.Fatal(err)
	}
	held := func(node uint32) (n int) {
		for d := range c.Running().Catalog().View().Databases() {
			for _, f := range d.Fragments {
				if slices.Contains(f.Nodes, node) {
					n++
				}
			}
		}
		return n
	}
	eventually.Holds(t, "node 3 has replicas", func() bool { return held(3) > 0 })
	c.Node(3).Stop()
	eventually.Holds(t, "node 3 has none", func() bool { return held(3) == 0 })
	replicated(c, 3)
	exec(t, c, 2, "UPDATE orders SET note = note || '!'")
	c.Node(3).Restart()
	eventually.Holds(t, "node 3 has replicas again", func() bool { return held(3) > 0 })
	replicated(c, 3)
	eventually.Holds(t, "all rows are there", func() bool {
		var n int
		err := c.Node(3).Connect(t).QueryRow(t.Context(), "SELECT count(*) FROM orders WHERE note LIKE '%!'").Scan(&n)
		return err == nil && n == 300
	})
}

// TestDeadNodeIsAdvised: if the balancer only advises, the replicas of a dead node are replaced
// when a user applies the plan.
func TestDeadNodeIsAdvised(t *testing.T) {
	t.Parallel()
	c := Start(t, 4, func(_ uint32, cfg *node.Config) { cfg.Fragments = 3 })
	exec(t, c, 1, "ALTER SYSTEM SET sherd.replace_dead_nodes = 'advise'")
	exec(t, c, 1, "ALTER SYSTEM SET sherd.dead_node_after = '1s'")
	replicated(c, 3)
	held := func() (n int) {
		for d := range c.Node(1).Catalog().View().Databases() {
			for _, f := range d.Fragments {
				if slices.Contains(f.Nodes, 3) {
					n++
				}
			}
		}
		return n
	}
	eventually.Holds(t, "node 3 has replicas", func() bool { return held() > 0 })
	c.Node(3).Stop()
	db, ctx := c.Node(1).Connect(t), c.context()
	var remedy string
	eventually.Holds(t, "there is advice", func() bool {
		err := db.QueryRow(ctx, "SELECT remedy FROM sherd.advice WHERE subject = 'node n3'").Scan(&remedy)
		return err == nil
	})
	if held() == 0 {
		t.Error("the replicas were replaced without being asked")
	}
	if _, err := db.Exec(ctx, remedy); err != nil {
		t.Fatalf("%s: %v", remedy, err)
	}
	eventually.Holds(t, "node 3 has none", func() bool { return held() == 0 })
}

// TestReplicationFactorOnline changes the number of replicas online, of a database and of one
// fragment, which may be bound to nodes.
func TestReplicationFactorOnline(t *testing.T) {
	t.Parallel()
	c := Start(t, 3, func(_ uint32, cfg *node.Config) { cfg.Fragments = 2 })
	exec(t, c, 1, "CREATE TABLE orders (id bigint PRIMARY KEY, note text)")
	exec(t, c, 1, "INSERT INTO orders SELECT i, 'n' || i FROM generate_series(1, 300) i")
	replicated(c, 3)
	await := func(what string, want ...func(f *catalog.Fragment) bool) {
		t.Helper()
		eventually.Holds(t, what, func() bool {
			d := c.Node(1).Catalog().View().Database(catalog.PostgresDB)
			for i := range d.Fragments {
				f := &d.Fragments[i]
				if len(f.Joining)+len(f.Leaving) > 0 || !want[i](f) {
					return false
				}
			}
			return true
		})
		if got := count(t, c, 2, "orders"); got != 300 {
			t.Fatalf("%s: %d rows", what, got)
		}
	}
	number := func(n int) func(*catalog.Fragment) bool {
		return func(f *catalog.Fragment) bool { return len(f.Nodes) == n }
	}
	exec(t, c, 2, "SELECT sherd.set_replication_factor('postgres', 1, 'postgres$0', nodes => '{n3}')")
	await("one replica, on node 3", func(f *catalog.Fragment) bool { return slices.Equal(f.Nodes, []uint32{3}) }, number(3))
	exec(t, c, 3, "SELECT sherd.set_replication_factor('postgres', 2)")
	await("two of the other", func(f *catalog.Fragment) bool { return slices.Equal(f.Nodes, []uint32{3}) }, number(2))
	exec(t, c, 1, "SELECT sherd.set_replication_factor('postgres', 0, 'postgres$0')")
	await("two of each", number(2), number(2))
}
