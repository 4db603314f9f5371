package nodetest

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sherddb/sherd/node"
)

// TestAnyNodeTakesAnyStatement: the first node leads all fragments, the clients are on the others.
func TestAnyNodeTakesAnyStatement(t *testing.T) {
	t.Parallel()
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

// TestHeldOverNodes: a transaction prepared on one node is committed or rolled back on another,
// with rows in fragments that a third one leads.
func TestHeldOverNodes(t *testing.T) {
	t.Parallel()
	c := Start(t, 3, func(n uint32, cfg *node.Config) {
		cfg.Fragments, cfg.Replication, cfg.Gateway = 3, 1, n > 1
	})
	ctx, cancel := context.WithTimeout(t.Context(), Timeout)
	defer cancel()
	one, two := c.Node(2).Connect(t), c.Node(3).Connect(t)
	run := func(db *pgx.Conn, texts ...string) {
		t.Helper()
		for _, text := range texts {
			if _, err := db.Exec(ctx, text); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
		}
	}
	sum := func(db *pgx.Conn) (n int) {
		t.Helper()
		if err := db.QueryRow(ctx, "SELECT sum(n) FROM held").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	run(one, "CREATE TABLE held (id int PRIMARY KEY, n int NOT NULL)", "INSERT INTO held SELECT g, 1 FROM generate_series(1, 60) g")
	run(one, "BEGIN", "UPDATE held SET n = 2 WHERE id <= 30", "PREPARE TRANSACTION 'kept'")
	run(two, "BEGIN", "DELETE FROM held WHERE id > 30", "PREPARE TRANSACTION 'dropped'")
	if n := sum(two); n != 60 {
		t.Fatal("what is held is seen:", n)
	}
	var names string
	if err := one.QueryRow(ctx, "SELECT string_agg(gid, ',' ORDER BY gid) FROM pg_prepared_xacts").Scan(&names); err != nil || names != "dropped,kept" {
		t.Fatal(names, err)
	}
	run(two, "COMMIT PREPARED 'kept'")
	run(one, "ROLLBACK PREPARED 'dropped'")
	if n := sum(one); n != 90 {
		t.Fatal("after COMMIT PREPARED:", n)
	}
	run(one, "BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT count(*) FROM held")
	run(two, "UPDATE held SET n = 0")
	if n := sum(one); n != 90 {
		t.Fatal("a snapshot moves:", n)
	}
	run(one, "ROLLBACK")
	var failed int
	if err := two.QueryRow(ctx, "SELECT count(*) FROM sherd.check() WHERE NOT ok").Scan(&failed); err != nil || failed != 0 {
		t.Fatal("check:", failed, err)
	}
}
