package sql_test

import "testing"

// TestCreateTableAsNames: the query means what it meant before its table was there.
func TestCreateTableAsNames(t *testing.T) {
	w := newWorld(t)
	c := w.connect(t)
	c.want("CREATE SCHEMA first; CREATE SCHEMA second; CREATE TABLE second.t AS SELECT generate_series(1, 3) AS n", "CREATE SCHEMA\nCREATE SCHEMA\nSELECT 3")
	c.want("SET search_path = first, second", "SET")
	c.want("CREATE TABLE t AS SELECT n + 10 AS n FROM t", "SELECT 3")
	c.want("SELECT n FROM first.t ORDER BY n", "11\n12\n13\nSELECT 3")
	c.want("SELECT count(*) AS n INTO u FROM t; SELECT n FROM u", "SELECT 1\n3\nSELECT 1")
	c.want("SELECT subject, detail FROM sherd.check() WHERE NOT ok", "SELECT 0")
	// All or nothing.
	c.want("CREATE TABLE v AS SELECT 1 / (3 - n) FROM second.t", "division by zero (SQLSTATE 22012)")
	c.want("SELECT * FROM v", `relation "v" does not exist (SQLSTATE 42P01)`)
	// Through other ways of sending it.
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
