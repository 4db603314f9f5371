package nodetest

import (
	"testing"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/eventually"
)

// TestClockJumps: one node's clock jumps ahead by an hour. No such time gets into the logs, the
// other nodes take over its leaders and continue, and it serves again once its clock is correct. A
// clock that jumps back changes nothing.
func TestClockJumps(t *testing.T) {
	t.Parallel()
	c := Start(t, 3)
	exec(t, c, 1, "CREATE TABLE acc (id int PRIMARY KEY, n int NOT NULL)")
	exec(t, c, 1, "INSERT INTO acc SELECT g, 0 FROM generate_series(1, 200) g")
	replicated(c, 3)
	jumped := uint32(2)
	eventually.Holds(t, "node 2 leads something", func() bool {
		for _, f := range c.Node(1).Catalog().View().Database(catalog.PostgresDB).Fragments {
			if r, err := c.Node(jumped).Store().Replicas.Replica(f.ID); err == nil && r.Group.Term() != 0 {
				return true
			}
		}
		return false
	})
	added := 0
	add := func(node uint32) { // applied once, even if the answer of an attempt is lost
		t.Helper()
		exec(t, c, node, "UPDATE acc SET n = n + 1 WHERE n = $1", added)
		added++
	}
	c.Node(jumped).SetClock(time.Hour)
	add(1)
	add(3)
	for _, n := range []uint32{1, 3} {
		if last := c.Node(n).Clock().Last().Time(); time.Until(last) > 20*time.Second {
			t.Errorf("the clock of node %d went along, to %s", n, last)
		}
	}
	err := try(c.Node(jumped).URL(), "UPDATE acc SET n = n + 1")
	t.Logf("the node itself: %v", err)
	if err == nil {
		t.Error("the node with the jumped clock wrote")
	}
	c.Node(jumped).SetClock(0)
	add(jumped)
	c.Node(jumped).SetClock(-time.Hour)
	add(jumped)
	add(1)
	var sum int
	if err := c.Node(3).Connect(t).QueryRow(t.Context(), "SELECT sum(n) FROM acc").Scan(&sum); err != nil || sum != 1000 {
		t.Fatal(sum, err)
	}
}
