package sql_test

import (
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
)

// TestStatementOfItself: a prepared statement that executes itself is refused.
func TestStatementOfItself(t *testing.T) {
	ctx, c := t.Context(), newWorldOf(t, 1).connect(t)
	r := &recorder{env: c.s.Env}
	must(t, c.s.Parse(ctx, "x", "EXECUTE x", nil))
	if _, err := c.s.DescribeStatement(ctx, "x"); !pgerr.Is(err, pgerr.StatementTooComplex) {
		t.Errorf("Describe: %v", err)
	}
	must(t, c.s.Bind(ctx, "", "x", nil))
	if _, err := c.s.Execute(ctx, "", 0, r); !pgerr.Is(err, pgerr.StatementTooComplex) {
		t.Errorf("Execute: %v", err)
	}
	must(t, c.s.Sync(ctx))
	for _, text := range []string{"EXECUTE x", "EXPLAIN (COSTS OFF) EXECUTE x", "CREATE TABLE t AS EXECUTE x"} {
		if err := c.s.Simple(ctx, text, r); err == nil {
			t.Errorf("%s succeeds", text)
		}
	}
	must(t, c.s.Parse(ctx, "y", "EXECUTE z", nil))
	must(t, c.s.Parse(ctx, "z", "SELECT 1", nil))
	c.want("EXECUTE y", "1\nSELECT 1")
}

// TestFetchFromBound: FETCH reads a portal that the client has bound, in the same transaction.
// Sync ends the portal, also one that was never executed.
func TestFetchFromBound(t *testing.T) {
	ctx, c := t.Context(), newWorldOf(t, 1).connect(t)
	c.want("CREATE TABLE t AS SELECT generate_series(1, 3) AS n", "SELECT 3")
	must(t, c.s.Parse(ctx, "s", "SELECT n FROM t ORDER BY n", nil))
	bind := func() { must(t, c.s.Bind(ctx, "p", "s", nil)) }
	bind()
	c.want("FETCH 2 FROM p; FETCH p", "1\n2\nFETCH 2\n3\nFETCH 1")
	bind()
	c.want("FETCH p", "1\nFETCH 1")
	const ended = `cursor "p" does not exist (SQLSTATE 34000)`
	c.want("FETCH p", ended)
	bind()
	must(t, c.s.Sync(ctx))
	c.want("FETCH p", ended)
	c.want("BEGIN", "BEGIN")
	bind()
	must(t, c.s.Sync(ctx))
	c.want("FETCH p; COMMIT", "1\nFETCH 1\nCOMMIT")
}
