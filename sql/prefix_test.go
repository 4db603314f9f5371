package sql_test

import (
	"strings"
	"testing"
)

// prefixWorld has a rule for eu/ in two of three fragments, made before there are documents.
func prefixWorld(t *testing.T) (*world, *client) {
	w := newWorld(t)
	c := w.connect(t)
	c.want("CREATE TABLE customers (id text PRIMARY KEY, doc jsonb); CREATE TABLE orders (id text PRIMARY KEY, "+
		"doc jsonb) WITH (shard_by = 'Customer'); "+
		"CREATE TABLE stock (region text, n int, v int, PRIMARY KEY (region, n))",
		"CREATE TABLE\nCREATE TABLE\nCREATE TABLE")
	c.want("SELECT sherd.set_prefix('EU/', '{postgres$1,postgres$2}', buckets => 8, why => 'law')", "0\nSELECT 1")
	return w, c
}

func wantPart(c *client, text, part string) {
	c.t.Helper()
	if got := c.answer(text); !strings.Contains(got, part) {
		c.t.Errorf("%s\ngot:\n%s\nwant in it:\n%s", text, got, part)
	}
}

// TestPrefixRoutes: a condition on the beginning of keys routes to the buckets of a rule, and
// returns the same rows as a condition that does not route.
func TestPrefixRoutes(t *testing.T) {
	_, c := prefixWorld(t)
	c.want("SELECT sherd.set_prefix('eu/de/', '{postgres$2}', buckets => 4)", "0\nSELECT 1")
	c.want("CREATE TABLE plain (id text PRIMARY KEY, v int) WITH (anchors = off)", "CREATE TABLE")
	for _, table := range []string{"plain (id, v)", "customers (id)"} {
		values := "r || i, i"
		if table == "customers (id)" {
			values = "r || i"
		}
		c.want("INSERT INTO "+table+" SELECT "+values+" FROM unnest(ARRAY['eu/','EU/','eu/de/','eu/d','us/','eu','e','zz$eu/','eu/x$us/','eu/%']) r, generate_series(1, 12) i", "INSERT 0 120")
	}
	c.want("INSERT INTO orders SELECT 'orders/' || r || i || '$', jsonb_build_object('Customer', r || i) "+
		"FROM unnest(ARRAY['eu/','EU/','eu/de/','us/','-']) r, generate_series(1, 12) i", "INSERT 0 60")
	c.want("INSERT INTO stock SELECT r, i, i FROM unnest(ARRAY['eu','EU','eu/de','us']) r, generate_series(1, 12) i",
		"INSERT 0 48")
	routed := func(table, cond, by string) {
		t.Helper()
		explained := c.answer("EXPLAIN (COSTS OFF) SELECT * FROM " + table + " WHERE " + cond)
		if by == "" && strings.Contains(explained, "Routed by") || by != "" && !strings.Contains(explained, by) {
			t.Errorf("%s WHERE %s, wanted %q:\n%s", table, cond, by, explained)
		}
		all := strings.NewReplacer("id ", "(id || '') ", "(id,", "(id || '',", "region ", "(region || '') ",
			"doc->>'Customer'", "(doc->>'Customer' || '')").Replace(cond)
		if got, want := c.one("SELECT count(*) FROM "+table+" WHERE "+cond), c.one(
			"SELECT count(*) FROM "+table+" WHERE "+all,
		); got != want || got == "0" {
			t.Errorf("%s WHERE %s: %s rows, %s by %s", table, cond, got, want, all)
		}
	}
	const (
		prefix = "Routed by: prefix"
		both   = "fragments: postgres$1, postgres$2; "
		one    = "fragments: postgres$2; "
	)
	routed("plain", "id LIKE 'eu/%'", both)
	routed("plain", "id LIKE 'eu/%'", prefix)
	routed("plain", "id LIKE 'EU/%'", both)
	routed("plain", `id LIKE 'eu/\%%'`, both)
	routed("plain", `id LIKE 'eu\/1_'`, both)
	routed("plain", "id LIKE 'eu/!%%' ESCAPE '!'", both)
	routed("plain", "id LIKE 'eu/de/%'", one)
	routed("plain", "id LIKE 'eu/d%'", both)
	routed("plain", "id LIKE 'eu%'", "")
	routed("plain", "id ILIKE 'eu/%'", "")
	routed("plain", "id NOT LIKE 'eu/%'", "")
	routed("plain", "id LIKE 'eu/%' OR id LIKE 'us/%'", "")
	routed("plain", "id ^@ 'eu/de/'", one)
	routed("plain", "starts_with(id, 'eu/de/')", one)
	routed("plain", "id >= 'eu/' AND id < 'eu0'", both)
	routed("plain", "id >= 'eu/de/' AND id < 'eu/de0'", one)
	routed("plain", "id >= 'eu/de/' AND id <= 'eu/de0'", both)
	routed("plain", "id >= 'eu/de/1' AND id < 'eu/de/2'", one)
	routed("plain", "id > 'eu/' AND id < 'v'", "")
	routed("customers", "id LIKE 'eu/%'", "") // eu/x$us/1 is with us/1
	routed("customers", "id LIKE 'eu/%' AND id NOT LIKE '%$%'", both)
	routed("orders", "doc->>'Customer' LIKE 'eu/%'", both)
	routed("orders", "doc->>'Customer' ^@ 'eu/de/'", one)
	routed("orders", "doc->>'Customer' LIKE '-%'", "")
	routed("stock", "region = 'eu'", both)
	routed("stock", "region IN ('eu', 'EU')", both)
	routed("stock", "region = 'eu/de'", one)
	routed("stock", "region LIKE 'eu/%'", both)
	routed("stock", "region IN ('eu', 'us')", "")
	c.want("PREPARE p (text) AS SELECT count(*) FROM stock WHERE region = $1; EXECUTE p ('eu'); EXECUTE p ('us'); "+
		"EXECUTE p (NULL)", "PREPARE\n12\nSELECT 1\n12\nSELECT 1\n0\nSELECT 1")
	c.want("UPDATE plain SET v = -v WHERE id LIKE 'eu/de/%'", "UPDATE 12")
	c.want("DELETE FROM stock WHERE region = 'eu'", "DELETE 12")
	c.want("SELECT count(*) FROM plain a JOIN plain b USING (id) WHERE a.id LIKE 'eu/de/%'", "12\nSELECT 1")
	c.want("SELECT id FROM plain WHERE id LIKE 'eu/de/%' ORDER BY id LIMIT 2", "eu/de/1\neu/de/10\nSELECT 2")
}

// TestPrefixRoutesOfParameters: values for the beginning of a key that are only known when the
// statement runs prune like constants.
func TestPrefixRoutesOfParameters(t *testing.T) {
	_, c := prefixWorld(t)
	c.want("SELECT sherd.set_prefix('eu/de/', '{postgres$2}', buckets => 4)", "0\nSELECT 1")
	c.want("CREATE TABLE plain (id text PRIMARY KEY, v int) WITH (anchors = off)", "CREATE TABLE")
	c.want("INSERT INTO plain SELECT r || i, i "+
		"FROM unnest(ARRAY['eu/','EU/','eu/de/','eu/d','us/','eu','e','eu/%','-']) r, generate_series(1, 12) i",
		"INSERT 0 108")
	c.want("INSERT INTO orders SELECT 'orders/' || r || i || '$', jsonb_build_object('Customer', r || i) "+
		"FROM unnest(ARRAY['eu/','eu/de/','us/','-']) r, generate_series(1, 12) i", "INSERT 0 48")
	c.want("INSERT INTO stock SELECT r, i, i FROM unnest(ARRAY['eu','eu/de','us']) r, generate_series(1, 12) i",
		"INSERT 0 36")
	const (
		both = "fragments: postgres$1, postgres$2; "
		one  = "fragments: postgres$2; "
		all  = "fragments: postgres$0, postgres$1, postgres$2; "
		none = "fragments: none"
	)
	for _, x := range []struct{ table, cond, args, fragments string }{
		{"plain", "id LIKE $1", "'eu/%'", both}, {"plain", "id LIKE $1", "'eu/de/%'", one},
		{"plain", "id LIKE $1", "'eu/d%'", both}, {"plain", "id LIKE $1", `E'eu/\\%%'`, both},
		{"plain", "id LIKE $1", "'eu%'", all}, {"plain", "id LIKE $1", "'%'", all},
		{"plain", "id LIKE $1", "'-%'", all}, {"plain", "id LIKE $1", "NULL", none},
		{"plain", "id LIKE $1 || '%'", "'EU/'", both}, {"plain", "id LIKE $1 AND v > 3", "'us/%'", all},
		{"plain", "id LIKE $1 AND id LIKE 'eu/de/%'", "'%1'", one},
		{"plain", "id ^@ $1", "'eu/de/'", one}, {"plain", "id ^@ $1", "'e'", all},
		{"plain", "starts_with(id, $1)", "'eu/'", both}, {"plain", "id ^@ $1", "''", all},
		{"plain", "id >= $1 AND id < $2", "'eu/', 'eu0'", both},
		{"plain", "id >= $1 AND id < $2", "'eu/de/', 'eu/de0'", one},
		{"plain", "id BETWEEN $1 AND $2", "'eu/de/', 'eu/de0'", both},
		{"plain", "id >= $1 AND id < 'v'", "'eu/'", all}, {"plain", "id > 'eu/de/' AND id < $1", "'eu/de/2'", one},
		{"plain", "id >= $1 AND id < $2", "'eu/', NULL", none},
		{"customers", "id LIKE $1", "'eu/%'", all}, {"stock", "region LIKE $1", "'eu/%'", both},
		{"orders", "doc->>'Customer' LIKE $1", "'eu/%'", both},
		{"plain", "(id LIKE $1 OR id LIKE $2)", "'eu/de/%', 'eu/d%'", both},
		{"plain", "(id LIKE $1 OR id LIKE $2)", "'eu/de/%', 'eu/de/1_'", one},
		{"plain", "(id LIKE $1 OR id LIKE $2)", "'eu/%', 'us/%'", all},
		{"plain", "(id LIKE 'eu/de/%' OR id ^@ $1 OR id LIKE $2)", "'eu/de/1', NULL", one},
		{"plain", "(id LIKE 'eu/de/%' OR v = $1)", "3", all}, {"plain", "(id LIKE $1 OR id ^@ $2)", "NULL, NULL", none},
		{"plain", "(id LIKE $1 OR id LIKE $2)", `E'eu/de/\\%', '-%'`, all},
		{"plain", "(id LIKE 'eu/de/%' OR id LIKE 'eu/d%') AND v < $1", "100", both},
		{"orders", "(doc->>'Customer' LIKE 'eu/de/%' OR doc->>'Customer' LIKE $1)", "'eu/de/1%'", one},
		{"orders", "doc->>'Customer' ^@ $1", "'eu/de/'", one}, {"orders", "doc->>'Customer' LIKE $1", "'-%'", all},
	} {
		c.want("PREPARE q AS SELECT count(*) FROM "+x.table+" WHERE "+x.cond, "PREPARE")
		if got := c.answer("EXPLAIN (COSTS OFF) EXECUTE q (" + x.args + ")"); !strings.Contains(got, x.fragments) {
			t.Errorf("%s WHERE %s (%s), wanted %q:\n%s", x.table, x.cond, x.args, x.fragments, got)
		}
		whole := strings.NewReplacer("id ", "(id || '') ", "(id,", "(id || '',", "region ", "(region || '') ",
			"doc->>'Customer'", "(doc->>'Customer' || '')").Replace(x.cond)
		c.want("PREPARE w AS SELECT count(*) FROM "+x.table+" WHERE "+whole, "PREPARE")
		if got, want := c.one("EXECUTE q ("+x.args+")"), c.one("EXECUTE w ("+x.args+")"); got != want ||
			got == "0" && x.fragments != none && x.table != "customers" {
			t.Errorf("%s WHERE %s (%s): %s rows, %s of all", x.table, x.cond, x.args, got, want)
		}
		c.want("DEALLOCATE q; DEALLOCATE w", "DEALLOCATE\nDEALLOCATE")
	}
	c.want("SELECT count(*), count(p.id) FROM (VALUES ('eu/de/%'), ('us/1'), ('zz')) x (pattern) LEFT "+
		"JOIN LATERAL (SELECT id FROM plain WHERE id LIKE x.pattern) p ON true", "14|13\nSELECT 1")
}

// A refused rule leaves no buckets behind.
func TestRefusedPrefixTakesNoBuckets(t *testing.T) {
	w := newWorld(t)
	c := w.connect(t)
	c.want("CREATE TABLE customers (id text PRIMARY KEY, doc jsonb); "+
		"INSERT INTO customers VALUES ('customers/1', '{}')", "CREATE TABLE\nINSERT 0 1")
	c.want("SELECT sherd.pin_anchors('customers', '{eu/9}', 'postgres$0', wait => true) > 0", "t\nSELECT 1")
	wantPart(c, "SELECT sherd.set_prefix('customers/', '{postgres$0}')", "SQLSTATE 55000")
	wantPart(c, "SELECT sherd.set_prefix('eu/', '{postgres$1}')", `anchor "eu/9" is pinned to fragment "postgres$0"`)
	wantPart(c, "SELECT sherd.set_prefix('eu/', '{postgres$1}', rewrite => true)",
		`anchor "eu/9" is pinned to fragment "postgres$0"`)
	c.want("SELECT max(end_bucket) FROM sherd.bucket_map", "1048576\nSELECT 1")
	c.want("SELECT sherd.unpin_anchors('customers', '{eu/9}'); SELECT sherd.set_prefix('eu/', '{postgres$1}')",
		"1\nSELECT 1\n0\nSELECT 1")
	c.want("SELECT max(end_bucket) FROM sherd.bucket_map", "1049600\nSELECT 1")
}
