package sql_test

import (
	"testing"

	"github.com/sherddb/sherd/sql/types"
)

// TestCreateTableAsNames: names in the query mean what they meant before the new table existed.
func TestCreateTableAsNames(t *testing.T) {
	w := newWorld(t)
	c := w.connect(t)
	c.want("CREATE SCHEMA first; CREATE SCHEMA second; CREATE TABLE second.t AS SELECT generate_series(1, 3) AS n",
		"CREATE SCHEMA\nCREATE SCHEMA\nSELECT 3")
	c.want("SET search_path = first, second", "SET")
	c.want("CREATE TABLE t AS SELECT n + 10 AS n FROM t", "SELECT 3")
	c.want("SELECT n FROM first.t ORDER BY n", "11\n12\n13\nSELECT 3")
	c.want("SELECT count(*) AS n INTO u FROM t; SELECT n FROM u", "SELECT 1\n3\nSELECT 1")
	c.want("SELECT subject, detail FROM sherd.check() WHERE NOT ok", "SELECT 0")
	// All or nothing.
	c.want("CREATE TABLE v AS SELECT 1 / (3 - n) FROM second.t", "division by zero (SQLSTATE 22012)")
	c.want("SELECT * FROM v", `relation "v" does not exist (SQLSTATE 42P01)`)
	// The same by other ways to send it.
	if err := c.s.Parse(t.Context(), "", "CREATE TABLE w AS SELECT 5 AS five", nil); err != nil {
		t.Fatal(err)
	}
	if d, err := c.s.DescribeStatement(t.Context(), ""); err != nil || d.Columns != nil {
		t.Errorf("described as %+v, %v", d, err)
	}
	must(t, c.s.Bind(t.Context(), "", "", nil))
	r := &recorder{env: c.s.Env}
	if _, err := c.s.Execute(t.Context(), "", 0, r); err != nil || r.out.String() != "SELECT 1\n" {
		t.Errorf("%q, %v", r.out.String(), err)
	}
	must(t, c.s.Sync(t.Context()))
	c.want("SELECT five FROM w", "5\nSELECT 1")
}

// TestContainedParameters: statements that contain a query take values for its parameters, as in
// PostgreSQL.
func TestContainedParameters(t *testing.T) {
	w := newWorldOf(t, 3)
	c := w.connect(t)
	c.want("CREATE TABLE src (id int PRIMARY KEY, v text); INSERT INTO src SELECT g, 'r' || g "+
		"FROM generate_series(1, 10) g", "CREATE TABLE\nINSERT 0 10")
	for _, s := range []struct{ text, want string }{
		{"CREATE TABLE a AS SELECT * FROM src WHERE id <= $1", "SELECT 3\n"},
		{"SELECT id, $1::int * 2 AS twice INTO b FROM src WHERE id = $1", "SELECT 1\n"},
		{"DECLARE h CURSOR WITH HOLD FOR SELECT v FROM src WHERE id < $1 ORDER BY id", "DECLARE CURSOR\n"},
		{"EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF) DELETE FROM a WHERE id = $1", ""},
	} {
		must(t, c.s.Parse(t.Context(), "", s.text, nil))
		d, err := c.s.DescribeStatement(t.Context(), "")
		if err != nil || len(d.Params) != 1 || d.Params[0] != types.Int4 {
			t.Errorf("%s: described as %+v, %v", s.text, d, err)
		}
		must(t, c.s.Bind(t.Context(), "", "", []types.Datum{types.NewInt(3)}))
		r := &recorder{env: c.s.Env, columns: d.Columns}
		if _, err := c.s.Execute(t.Context(), "", 0, r); err != nil || s.want != "" && r.out.String() != s.want {
			t.Errorf("%s: %q, %v", s.text, r.out.String(), err)
		}
		must(t, c.s.Sync(t.Context()))
	}
	c.want("SELECT count(*), max(id) FROM a; SELECT * FROM b", "2|2\nSELECT 1\n3|6\nSELECT 1")
	c.want("FETCH ALL FROM h", "r1\nr2\nFETCH 2")
	for _, s := range []string{"CREATE TABLE d AS SELECT $1::int", "SELECT $1::int INTO d",
		"DECLARE d CURSOR WITH HOLD FOR SELECT $1::int", "EXPLAIN SELECT $1::int"} {
		c.want(s, "there is no parameter $1 (SQLSTATE 42P02)")
	}
}
