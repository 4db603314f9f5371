package nodetest

import (
	"context"
	"testing"
	"time"

	"github.com/sherddb/sherd/node"
)

// TestAnyNodeTakesAnyStatement has the first node lead everything, and clients at the others.
func TestAnyNodeTakesAnyStatement(t *testing.T) {
	c := Start(t, 2, func(_ uint32, cfg *node.Config) { cfg.Fragments = 3 })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	db := c.Node(2).Connect(t)
	run := func(text string, args ...any) {
		t.Helper()
		if _, err := db.Exec(ctx, text, args...); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	run("CREATE TABLE acc (id int PRIMARY KEY, n int NOT NULL)")
	run("INSERT INTO acc SELECT g, 10 FROM generate_series(1, 100) g")
	run("UPDATE acc SET n = n + 1 WHERE id <= 50")
	run("BEGIN")
	run("UPDATE acc SET n = n - 5 WHERE id = 1")
	run("SAVEPOINT s")
	run("DELETE FROM acc")
	run("ROLLBACK TO s")
	run("UPDATE acc SET n = n + 5 WHERE id = 2")
	run("COMMIT")
	var n, sum int
	if err := db.QueryRow(ctx, "SELECT count(*), sum(n) FROM acc").Scan(&n, &sum); err != nil || n != 100 || sum != 1050 {
		t.Fatal(n, sum, err)
	}
	if err := c.Node(1).Connect(t).QueryRow(ctx, "SELECT count(*), sum(n) FROM acc").Scan(&n, &sum); err != nil || n != 100 || sum != 1050 {
		t.Fatal(n, sum, err)
	}
}
