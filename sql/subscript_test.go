package sql_test

import "testing"

// TestSubscriptedExpressions: what a subscript applies to is spelled in parentheses unless it is a
// column, as PostgreSQL 15 does. Without them the text of the definition could not be parsed again.
func TestSubscriptedExpressions(t *testing.T) {
	c := newWorld(t).connect(t)
	c.want("CREATE TABLE s (a int[], b int, d jsonb, CHECK ((ARRAY[b, 1])[1] > 0))", "CREATE TABLE")
	for _, x := range []struct{ key, want string }{
		{"((ARRAY[b, 1])[1])", "((ARRAY[b, 1])[1])"},
		{"((ARRAY[b, 1])[1:2])", "((ARRAY[b, 1])[1:2])"},
		{"(a[1])", "(a[1])"},
		{"((d -> 'x')['y'])", "(((d -> 'x'::text))['y'::text])"},
		{"((coalesce(a, '{1}'))[1])", "((COALESCE(a, '{1}'::integer[]))[1])"},
	} {
		c.want("CREATE INDEX i ON s ("+x.key+")", "CREATE INDEX")
		got := c.one("SELECT pg_get_indexdef('i'::regclass)")
		if want := "CREATE INDEX i ON public.s USING btree (" + x.want + ")"; got != want {
			t.Errorf("%s\ngot  %s\nwant %s", x.key, got, want)
		}
		c.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
		c.want("DROP INDEX i", "DROP INDEX")
	}
	c.want("SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 's'::regclass",
		"CHECK (((ARRAY[b, 1])[1] > 0))\nSELECT 1")
}
