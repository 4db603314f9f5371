package nodetest

import (
	"strings"
	"testing"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/node"
	"github.com/sherddb/sherd/txn"
)

// TestSnapshotOverLeaders: a transaction with one snapshot goes on reading it when fragments have other leaders, though that is older than old versions are kept.
func TestSnapshotOverLeaders(t *testing.T) {
	t.Parallel()
	c := Start(t, 3, func(_ uint32, cfg *node.Config) { cfg.KeepVersions = 8 * time.Second })
	exec(t, c, 1, "CREATE TABLE acc (id int PRIMARY KEY, n int NOT NULL)")
	exec(t, c, 1, "INSERT INTO acc SELECT g, 1 FROM generate_series(1, 300) g")
	exec(t, c, 1, "CREATE DATABASE beside FRAGMENTS 1")
	replicated(c, 3)
	beside := strings.TrimSuffix(c.Node(1).URL(), "postgres") + "beside"
	c.Await("a row in the other database", func() bool {
		return try(beside, "CREATE TABLE IF NOT EXISTS things (n int); INSERT INTO things VALUES (1)") == nil
	})
	led := func(node uint32) (out []txn.FragmentID) {
		for _, f := range c.Node(1).Catalog().View().Database(catalog.PostgresDB).Fragments {
			if r, err := c.Node(node).Host().Replica(f.ID); err == nil && r.Term() != 0 {
				out = append(out, f.ID)
			}
		}
		return out
	}
	c.Await("node 2 leads something", func() bool { return len(led(2)) > 0 })
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
	c.Await("the others lead", func() bool {
		return len(led(1))+len(led(3)) == len(c.Node(1).Catalog().View().Database(catalog.PostgresDB).Fragments)
	})
	id := c.Node(1).Catalog().View().DatabaseByName("beside").Fragments[0].ID
	t.Cleanup(func() {
		for _, n := range []uint32{1, 3} {
			if r, err := c.Node(n).Host().Replica(id); t.Failed() && err == nil {
				t.Logf("node %d: term %d, applied %s, watermark %s", n, r.Term(), r.Applied(), r.Watermark())
			}
		}
	})
	for range 2 { // the second begins when what is done by the way in each fragment was done in the first
		T := c.Node(1).Clock().Now()
		c.Await("old versions to be let go of where nobody holds them", func() bool {
			r, err := c.Node(1).Host().Replica(id)
			return err == nil && r.Watermark() > T
		})
	}
	if n, err := sum(); n != 300 || err != nil {
		t.Errorf("with other leaders the snapshot has %d: %v", n, err)
	}
	if _, err := old.Exec(t.Context(), "COMMIT"); err != nil {
		t.Error(err)
	}
}
