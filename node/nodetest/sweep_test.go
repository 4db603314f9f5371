package nodetest

import (
	"strings"
	"testing"

	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/node"
)

// TestLeftoversOfReplicas: entries of local indexes that buckets left behind are removed on all
// replicas alike, while other transactions write, and rows that come back are found on each
// replica.
func TestLeftoversOfReplicas(t *testing.T) {
	t.Parallel()
	var kept versions
	c := Start(t, 3, func(_ uint32, cfg *node.Config) { kept.config(cfg); cfg.Fragments = 2 })
	exec(t, c, 1, "CREATE TABLE acc (id int PRIMARY KEY, k int NOT NULL)")
	exec(t, c, 1, "CREATE INDEX ON acc (k)")
	exec(t, c, 1, "INSERT INTO acc SELECT g, g % 10 FROM generate_series(1, 400) g")
	replicated(c, 3)
	ctx, db := c.context(), c.Node(2).Connect(t)
	removed := func() bool {
		exec(t, c, 3, "UPDATE acc SET k = (k + 1) % 10")
		kept.forget(c, "postgres")
		for _, n := range c.Nodes() {
			if err := n.Store().Rebalancer.RemoveLeftovers(ctx); err != nil {
				return false
			}
		}
		got, err := rows(ctx, db, "SELECT subject, detail FROM sherd.check() WHERE detail LIKE '%moves have left%'")
		return err == nil && len(got) == 0
	}
	for _, to := range []string{"postgres$1", "postgres$0", "postgres$1"} {
		moved(t, c, 2, to)
		eventually.Holds(t, "after the move to "+to+" nothing is left", removed)
		for n := uint32(1); n <= 3; n++ {
			if got, err := rows(ctx, followed(t, c, n, "SELECT count(*) FROM acc WHERE k = 3"), "SELECT count(*) FROM acc WHERE k = 3"); err != nil || got[0] != "40" {
				t.Errorf("in %s, node %d answers %v, %v", to, n, got, err)
			}
		}
		eventually.Holds(t, "all is right, and the replicas are compared", func() bool {
			got, err := rows(ctx, db, `SELECT concat_ws(' ', "check", subject, ok, detail) FROM sherd.check()`)
			all := strings.Join(got, "\n")
			if strings.Contains(all, " f ") {
				t.Fatalf("in %s: %s", to, all)
			}
			return err == nil && strings.Count(all, "3 replicas") == 2
		})
	}
}
