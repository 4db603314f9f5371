package sql_test

import (
	"strings"
	"testing"
)

// TestRouteByKeyColumns checks that the functions that return where a row lies take one argument
// for each column of its key, of any type.
func TestRouteByKeyColumns(t *testing.T) {
	c := newWorld(t).connect(t)
	c.want(`CREATE TABLE ts (id text, at timestamptz, v int, PRIMARY KEY (id, at)); CREATE TABLE texts (a text, b text, PRIMARY KEY (a, b));
		CREATE TABLE n (n bigint PRIMARY KEY); CREATE TABLE docs (id text PRIMARY KEY, doc jsonb); CREATE TABLE none (n int)`,
		"CREATE TABLE\nCREATE TABLE\nCREATE TABLE\nCREATE TABLE\nCREATE TABLE")
	c.want("INSERT INTO texts VALUES ('orders/1-A', 'b/c'), ('orders', '1-A/b/c')", "INSERT 0 2")
	c.want("INSERT INTO ts SELECT 'orders/' || g || '-A', '2026-01-01Z'::timestamptz + g * interval '1 s' "+
		"FROM generate_series(1, 20) g", "INSERT 0 20")
	const where = "SELECT count(*) FROM ts WHERE sherd.fragment('ts', id, at) = "
	c.want("SELECT ("+where+"'postgres$0') + ("+where+"'postgres$1') + ("+where+"'postgres$2')", "20\nSELECT 1")
	for call, where := range map[string]string{
		"'ts', 'orders/1-A', '2026-01-01Z'": "ts WHERE id = 'orders/1-A' AND at = '2026-01-01Z'",
		"'texts', 'orders/1-A', 'b/c'":      "texts WHERE a = 'orders/1-A' AND b = 'b/c'",
		"'n', 17":                           "n WHERE n = 17",
	} {
		bucket, _, _ := strings.Cut(c.answer("SELECT sherd.bucket("+call+")"), "\n")
		if got := c.answer("EXPLAIN (COSTS OFF) SELECT * FROM " + where); !strings.Contains(got, "buckets: "+bucket+")") {
			t.Errorf("%s: bucket %s, %s", call, bucket, got)
		}
	}
	for _, q := range []struct{ text, want string }{
		{
			"SELECT sherd.route('ts', 'orders/1-A', '2026-01-01Z') = sherd.route('ts', 'orders/1-A', " +
				"'2026-01-01 01:00+01'::timestamptz)", "t",
		},
		{
			"SELECT sherd.bucket('ts', 'orders/1-A', '2026-01-01Z') = sherd.bucket('ts', 'orders/1-A'::text, " +
				"'2026-01-01 01:00+01'::timestamptz)", "t",
		},
		{"SELECT sherd.bucket('texts', 'a', 'b') = sherd.bucket('texts', 'a/b')", "t"},
		{"SELECT sherd.bucket('texts', VARIADIC ARRAY['a', 'b']) = sherd.bucket('texts', 'a/b')", "t"},
		{
			"SELECT sherd.bucket('n', 5) = sherd.bucket('n', '5') AND sherd.bucket('n', " +
				"5::numeric) = sherd.bucket('n', 5::smallint)", "t",
		},
		{
			"SELECT sherd.bucket('docs', 'orders/1-A$customers/1-A'), sherd.fragment('docs', " +
				"'orders/1-A$customers/1-A')", "982173|postgres$2",
		},
		{"SELECT sherd.route('texts', 'a', NULL) IS NULL AND sherd.route('n', NULL::int) IS NULL", "t"},
		{
			"PREPARE p AS SELECT sherd.bucket('texts', $1, $2) = sherd.bucket('texts', 'a/b'); EXECUTE p('a', 'b')",
			"PREPARE\nt",
		},
	} {
		c.want(q.text, q.want+"\nSELECT 1")
	}
	for _, q := range []struct{ text, want string }{
		{
			"SELECT sherd.route('texts', 'a', 'b', 'c')",
			`the primary key of table "texts" has 2 columns, but 3 values were given (SQLSTATE 22023)`,
		},
		{
			"SELECT sherd.route('texts', 'a')",
			`the primary key of table "texts" has 2 columns, but 1 values were given (SQLSTATE 22023)`,
		},
		{
			"SELECT sherd.route('ts', 'orders/1-A/2026-01-01Z')",
			`invalid input syntax for type timestamp with time zone: "1-A/2026-01-01Z" (SQLSTATE 22007)`,
		},
		{"SELECT sherd.route('none', 1)", `table "none" has no primary key (SQLSTATE 55000)`},
		{"SELECT sherd.route('n', 'x'::text)", `invalid input syntax for type bigint: "x" (SQLSTATE 22P02)`},
	} {
		c.want(q.text, q.want)
	}
}
