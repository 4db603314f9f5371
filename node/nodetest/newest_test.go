package nodetest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/sherddb/sherd/node"
)

// TestDefinitionsAreKnownEverywhere changes definitions on one node and uses them on others at
// once, as the connections of a pool do.
func TestDefinitionsAreKnownEverywhere(t *testing.T) {
	t.Parallel()
	c := Start(t, 3, func(_ uint32, cfg *node.Config) { cfg.Fragments = 1 })
	ctx, cancel := context.WithTimeout(t.Context(), Timeout)
	defer cancel()
	conns := []*pgx.Conn{c.Node(1).Connect(t), c.Node(2).Connect(t), c.Node(3).Connect(t)}
	exec := func(at *pgx.Conn, text string) {
		t.Helper()
		if _, err := at.Exec(ctx, text); err != nil {
			t.Fatal(text, err)
		}
	}
	for i := range 12 {
		a, b, d := conns[i%3], conns[(i+1)%3], conns[(i+2)%3]
		exec(a, fmt.Sprintf("CREATE TABLE t%d (id int PRIMARY KEY)", i))
		exec(b, fmt.Sprintf("INSERT INTO t%d VALUES (1)", i))
		exec(b, fmt.Sprintf("ALTER TABLE t%d ADD COLUMN n int", i))
		exec(d, fmt.Sprintf("UPDATE t%d SET n = 2", i))
		exec(d, fmt.Sprintf("CREATE SCHEMA s%d", i))
		exec(a, fmt.Sprintf("CREATE TABLE s%d.t (id int)", i))
		exec(b, fmt.Sprintf("COPY s%d.t TO STDOUT", i))
		exec(d, fmt.Sprintf("SELECT 's%d.t'::regclass", i))
		exec(d, fmt.Sprintf("CREATE ROLE r%d LOGIN SUPERUSER", i))
		role, err := pgx.Connect(ctx, strings.Replace(c.Node(uint32((i+1)%3+1)).URL(), "postgres@", fmt.Sprintf("r%d@", i), 1))
		if err != nil {
			t.Fatal(err)
		}
		exec(role, fmt.Sprintf("TABLE t%d", i))
		if _, err := role.Exec(ctx, "TABLE nothing"); err == nil || !strings.Contains(err.Error(), "42P01") {
			t.Error(err)
		}
		role.Close(ctx)
	}
}
