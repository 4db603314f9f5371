package sql_test

import (
	"strings"
	"testing"
)

// TestExplainNames: EXPLAIN prints the names of reg* constants, with the schema if it is not in the
// search path.
func TestExplainNames(t *testing.T) {
	c := newWorld(t).connect(t)
	c.want("CREATE TABLE orders (id text PRIMARY KEY, doc jsonb); CREATE SEQUENCE numbers; CREATE SCHEMA hidden; "+
		"CREATE SEQUENCE hidden.more",
		"CREATE TABLE\nCREATE SEQUENCE\nCREATE SCHEMA\nCREATE SEQUENCE")
	for sequence, cond := range map[string]string{
		"numbers":     "Cond: (id = (nextval('numbers'::regclass))::text)",
		"hidden.more": "Cond: (id = (nextval('hidden.more'::regclass))::text)",
	} {
		got := c.answer("EXPLAIN (COSTS OFF) SELECT FROM orders WHERE id = nextval('" + sequence + "')::text")
		if !strings.Contains(got, cond) {
			t.Errorf("%s: want %s", got, cond)
		}
	}
}
