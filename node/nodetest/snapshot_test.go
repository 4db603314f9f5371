package nodetest

import (
	"testing"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/node"
	"github.com/sherddb/sherd/txn"
)

// TestSnapshotOverLeaders: a transaction with one snapshot can read it when fragments get other
// leaders, though it is older than the time for which old versions are kept.
func TestSnapshotOverLeaders(t *testing.T) {
	t.Parallel()
	var kept versions
	// A busy machine may stand still for a second. The leader elected then does not know the
	// snapshot yet.
	c := Start(t, 3, func(_ uint32, cfg *node.Config) { kept.config(cfg); cfg.Knobs.Election = 5 * time.Second })
	exec(t, c, 1, "CREATE TABLE acc (id int PRIMARY KEY, n int NOT NULL)")
	exec(t, c, 1, "INSERT INTO acc SELECT g, 1 FROM generate_series(1, 300) g")
	exec(t, c, 1, "CREATE DATABASE beside FRAGMENTS 1")
	replicated(c, 3)
	ledBy := func(node uint32) (out []txn.FragmentID) {
		for _, f := range c.Node(1).Catalog().View().Database(catalog.PostgresDB).Fragments {
			if r, err := c.Node(node).Store().Replicas.Replica(f.ID); err == nil && r.Group.Term() != 0 {
				out = append(out, f.ID)
			}
		}
		return out
	}
	eventually.Holds(t, "node 2 leads something", func() bool { return len(ledBy(2)) > 0 })
	old := c.Node(1).Connect(t)
	sum := func() (n int, err error) {
		err = old.QueryRow(t.Context(), "SELECT sum(n) FROM acc").Scan(&n)
		return n, err
	}
	if _, err := old.Exec(t.Context(), "BEGIN ISOLATION LEVEL REPEATABLE READ"); err != nil {
		t.Fatal(err)
	}
	if n, err := sum(); n != 300 || err != nil {
		t.Fatal(n, err)
	}
	exec(t, c, 3, "UPDATE acc SET n = 2")
	c.Node(2).Stop()
	eventually.Holds(t, "the others lead", func() bool {
		return len(ledBy(1))+len(ledBy(3)) == len(c.Node(1).Catalog().View().Database(catalog.PostgresDB).Fragments)
	})
	held(c, "postgres", 1)
	kept.forget(c, "postgres", "beside")
	if n, err := sum(); n != 300 || err != nil {
		t.Errorf("with other leaders the snapshot has %d: %v", n, err)
	}
	if _, err := old.Exec(t.Context(), "COMMIT"); err != nil {
		t.Error(err)
	}
}
