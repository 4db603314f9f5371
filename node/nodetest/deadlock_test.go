package nodetest

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sherddb/sherd/node"
)

// TestDeadlockOverNodes: two transactions of the second node wait for each other, one for a row on
// the first node, one for a table on its own.
func TestDeadlockOverNodes(t *testing.T) {
	t.Parallel()
	c := Start(t, 2, func(_ uint32, cfg *node.Config) { cfg.Fragments = 1 })
	ctx, cancel := context.WithTimeout(t.Context(), Timeout)
	defer cancel()
	a, b := c.Node(2).Connect(t), c.Node(2).Connect(t)
	run := func(db *pgx.Conn, text string) {
		t.Helper()
		if _, err := db.Exec(ctx, text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	run(a, "CREATE TABLE rows (id int PRIMARY KEY, n int)")
	run(a, "CREATE TABLE other (id int PRIMARY KEY)")
	run(a, "INSERT INTO rows VALUES (1, 0)")
	run(a, "BEGIN")
	run(a, "LOCK TABLE other")
	run(b, "BEGIN")
	run(b, "UPDATE rows SET n = 1")
	errs := make(chan error, 2)
	wait := func(db *pgx.Conn, text string) {
		_, err := db.Exec(ctx, text)
		if err != nil {
			_, rollback := db.Exec(ctx, "ROLLBACK")
			err = errors.Join(err, rollback)
		}
		errs <- err
	}
	go wait(a, "UPDATE rows SET n = 2")
	go wait(b, "SELECT FROM other")
	x, y := <-errs, <-errs
	if x == nil {
		x, y = y, x
	}
	var pg *pgconn.PgError
	if !errors.As(x, &pg) || pg.Code != "40P01" || y != nil {
		t.Fatalf("one must end, and the other go on: %v; %v", x, y)
	}
	t.Log(pg.Detail)
}
