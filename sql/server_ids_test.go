package sql_test

import (
	"strings"
	"testing"
)

// TestPolicyPlacesServerIDs checks that a policy that validates documents accepts the ids that the
// server completes: it chooses their buckets by content.
func TestPolicyPlacesServerIDs(t *testing.T) {
	a := newWorld(t).connect(t)
	a.want(`CREATE TABLE orders (id text PRIMARY KEY, doc jsonb) WITH (shard_by = 'Customer')`, "CREATE TABLE")
	for _, c := range []struct{ text, want string }{
		{
			`INSERT INTO orders (doc) VALUES ('{"Customer": "customers/1-A"}') RETURNING id`,
			"orders/1-A$@982173\nINSERT 0 1",
		},
		{
			`INSERT INTO orders VALUES ('orders/', '{"Customer": "customers/1-A"}') RETURNING id`,
			"orders/2-A$@982173\nINSERT 0 1",
		},
		{
			`INSERT INTO orders VALUES ('orders/$', '{"Customer": "customers/2-B"}') RETURNING id`,
			"orders/3-A$@2423\nINSERT 0 1",
		},
		{`INSERT INTO orders SELECT 'o/', '{"Customer": "customers/2-B"}' RETURNING id`, "o/4-A$@2423\nINSERT 0 1"},
		{
			`INSERT INTO orders (doc) VALUES ('{"Customer": "customers/2-B"}') ON CONFLICT DO NOTHING RETURNING id`,
			"orders/5-A$@2423\nINSERT 0 1",
		},
		{
			`INSERT INTO orders VALUES ('orders/', '{"Customer": "customers/2-B"}') ON CONFLICT (id) DO UPDATE ` +
				`SET doc = excluded.doc RETURNING id`,
			"orders/6-A$@2423\nINSERT 0 1",
		},
		{
			`INSERT INTO orders VALUES ('orders/9$x/', '{"Customer": "customers/2-B"}') RETURNING id`,
			"orders/9$x/7-A$@2423\nINSERT 0 1",
		},
	} {
		a.want(c.text, c.want)
	}
	r := &recorder{
		env: a.s.Env, lines: []string{`c/	{"Customer": "customers/1-A"}`, `\N	{"Customer": "customers/2-B"}`},
	}
	must(t, a.s.Simple(t.Context(), "COPY orders FROM STDIN", r))
	a.want(`SELECT id FROM orders WHERE id LIKE '%8-A%' OR id LIKE '%9-A%' ORDER BY 1`,
		"c/8-A$@982173\norders/9-A$@2423\nSELECT 2")
	a.want("SET sherd.explicit_buckets = off", "SET")
	a.want(`INSERT INTO orders (doc) VALUES ('{"Customer": "customers/1-A"}') RETURNING id`,
		"orders/10-A$@982173\nINSERT 0 1")
	if got := a.answer(`INSERT INTO orders (doc) VALUES ('{}')`); !strings.Contains(got, "SQLSTATE 23514") {
		t.Error(got)
	}
}
