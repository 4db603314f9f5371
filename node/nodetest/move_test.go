package nodetest

import (
	"context"
	"strings"
	"testing"

	"github.com/sherddb/sherd/node"
)

// TestMoveBetweenNodes moves buckets between fragments with leaders on different nodes, by a
// statement on a third node.
func TestMoveBetweenNodes(t *testing.T) {
	t.Parallel()
	c := Start(t, 3, func(_ uint32, cfg *node.Config) { cfg.Fragments = 3 })
	ctx, cancel := context.WithTimeout(t.Context(), Timeout)
	defer cancel()
	exec(t, c, 1, "CREATE TABLE acc (id text PRIMARY KEY, n int UNIQUE)")
	exec(t, c, 1, "INSERT INTO acc SELECT 'acc/' || i, i FROM generate_series(1, 2000) i")
	replicated(c, 3)
	for _, to := range []string{"1", "2", "0"} {
		moved(t, c, 2, "postgres$"+to)
		for n := range uint32(3) {
			var count, sum int64
			var owner string
			db := c.Node(n + 1).Connect(t)
			if err := db.QueryRow(ctx, "SELECT count(*), sum(n) FROM acc").Scan(&count, &sum); err != nil || count != 2000 || sum != 2001000 {
				t.Errorf("node %d, to %s: %d, %d, %v", n+1, to, count, sum, err)
			}
			if err := db.QueryRow(ctx, "SELECT fragment FROM sherd.bucket_map WHERE first_bucket = 0").Scan(&owner); err != nil || !strings.HasSuffix(owner, "$"+to) {
				t.Errorf("node %d, to %s: %s, %v", n+1, to, owner, err)
			}
		}
	}
	var bad int
	if err := c.Node(3).Connect(t).QueryRow(ctx, "SELECT count(*) FROM sherd.check() WHERE NOT ok").Scan(&bad); err != nil || bad != 0 {
		t.Errorf("sherd.check(): %d, %v", bad, err)
	}
}
