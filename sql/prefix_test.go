package sql_test

import (
	"strings"
	"testing"
)

// prefixWorld has a rule for eu/ in two of three fragments, made before there are documents.
func prefixWorld(t *testing.T) (*world, *client) {
	w := newWorld(t)
	c := w.connect(t)
	c.want("CREATE TABLE customers (id text PRIMARY KEY, doc jsonb); CREATE TABLE orders (id text PRIMARY KEY, doc jsonb) WITH (shard_by = 'Customer'); "+
		"CREATE TABLE stock (region text, n int, v int, PRIMARY KEY (region, n))", "CREATE TABLE\nCREATE TABLE\nCREATE TABLE")
	c.want("SELECT sherd.set_prefix('EU/', '{postgres$1,postgres$2}', buckets => 8, why => 'law')", "0\nSELECT 1")
	return w, c
}

func TestPrefixes(t *testing.T) {
	w, c := prefixWorld(t)
	c.want("SELECT prefix, first_bucket, end_bucket, fragments, elsewhere, documents FROM sherd.prefixes",
		"eu/|1048576|1048584|{postgres$1,postgres$2}|0|0\nSELECT 1")
	c.want("SELECT kind, subject, change, why FROM sherd.changelog WHERE kind = 'prefix'",
		"prefix|eu/|buckets [1048576,1048584) in postgres$1, postgres$2|law\nSELECT 1")
	c.want("INSERT INTO customers SELECT r || '/' || i, '{}' FROM unnest(ARRAY['eu','us']) r, generate_series(1, 40) i", "INSERT 0 80")
	c.want("INSERT INTO orders SELECT 'orders/' || c.id || '$', jsonb_build_object('Customer', c.id) FROM customers c", "INSERT 0 80")
	c.want("INSERT INTO orders SELECT 'more/' || i || '$eu/' || i, jsonb_build_object('Customer', 'EU/' || i) FROM generate_series(1, 40) i", "INSERT 0 40")
	c.want("INSERT INTO stock SELECT r, i, i FROM unnest(ARRAY['eu','us']) r, generate_series(1, 40) i", "INSERT 0 80")
	for _, table := range []string{"customers", "orders"} {
		c.want("SELECT bool_and(sherd.fragment('"+table+"', id) IN ('postgres$1', 'postgres$2')), bool_and(sherd.bucket('"+table+"', id) >= 1048576), count(*) > 39 FROM "+table+
			" WHERE id LIKE 'eu/%' OR doc->>'Customer' ILIKE 'eu/%'", "t|t|t\nSELECT 1")
		c.want("SELECT max(sherd.bucket('"+table+"', id)) < 1048576 FROM "+table+" WHERE id LIKE 'us/%' OR doc->>'Customer' LIKE 'us/%'", "t\nSELECT 1")
	}
	c.want("SELECT count(*) FROM customers", "80\nSELECT 1")
	c.want("SELECT count(*) FROM customers WHERE id = ANY (ARRAY['eu/1', 'eu/2', 'us/3'])", "3\nSELECT 1")
	c.want("SELECT count(*) FROM orders WHERE doc->>'Customer' = 'eu/7'", "1\nSELECT 1")
	c.want("SELECT count(*), sum(v) FROM stock WHERE region = 'eu'", "40|820\nSELECT 1")
	c.want("SELECT v FROM stock WHERE region = 'eu' AND n = 7", "7\nSELECT 1")
	c.want("SELECT count(*) FROM customers c JOIN orders o ON o.doc->>'Customer' = c.id", "80\nSELECT 1")
	c.want("SELECT count(*) FROM orders o JOIN customers c ON c.id = lower(o.doc->>'Customer')", "120\nSELECT 1")
	c.want("SELECT count(*) FROM customers WHERE sherd.slice(id) >= 0 AND sherd.slice(id) < 1048576", "80\nSELECT 1")
	c.want("SELECT (SELECT count(*) FROM orders WHERE sherd.slice(id) >= 0 AND sherd.slice(id) < 500000) + (SELECT count(*) FROM orders WHERE sherd.slice(id) >= 500000)",
		"120\nSELECT 1")
	c.want("UPDATE customers SET id = 'eu/moved' WHERE id = 'us/1'; SELECT sherd.bucket('customers', id) >= 1048576 FROM customers WHERE id = 'eu/moved'", "UPDATE 1\nt\nSELECT 1")
	c.want("UPDATE customers SET id = 'us/1' WHERE id = 'eu/moved'", "UPDATE 1")
	c.want("INSERT INTO customers VALUES ('EU/1', '{}'), ('x$@1048576', '{}')", "INSERT 0 2")
	c.want("SELECT sherd.bucket('customers', 'EU/1') = sherd.bucket('customers', 'eu/1'), sherd.slice('x$@1048577')", "t|1\nSELECT 1")
	c.want("SELECT count(*) FROM customers WHERE sherd.slice(id) = 0", "1\nSELECT 1")
	c.want("SELECT count(*) FROM customers WHERE sherd.slice(id) >= 0 AND sherd.slice(id) < 1048576", "82\nSELECT 1")
	wantPart(c, "INSERT INTO customers VALUES ('x$@1048584', '{}')", "out of range (SQLSTATE 22023)")
	wantPart(c, "INSERT INTO orders VALUES ('wrong/1', '{\"Customer\":\"eu/1\"}')", "SQLSTATE 23514")
	c.want(`SELECT bool_and(ok), count(*) FILTER (WHERE "check" = 'prefixes') FROM sherd.check()`, "t|1\nSELECT 1")
	if got := c.answer("EXPLAIN SELECT * FROM customers WHERE id = 'eu/1'"); !strings.Contains(got, "buckets: 10485") {
		t.Error(got)
	}
	// Another session, and another database.
	d := w.connect(t)
	d.want("CREATE TABLE later (id text PRIMARY KEY, doc jsonb); INSERT INTO later VALUES ('eu/1', '{}'); SELECT sherd.bucket('later', 'eu/1') = sherd.bucket('customers', 'eu/1')",
		"CREATE TABLE\nINSERT 0 1\nt\nSELECT 1")
}

// TestPrefixMoves: the buckets of a rule stay in its fragments, and go where these are said to be.
func TestPrefixMoves(t *testing.T) {
	_, c := prefixWorld(t)
	c.want("INSERT INTO customers SELECT 'eu/' || i, '{}' FROM generate_series(1, 40) i", "INSERT 0 40")
	c.want("SELECT sherd.move_anchor('eu/1', 'postgres$0')",
		`buckets [1048576,1048584) are of prefix "eu/", which is to be in postgres$1, postgres$2 (SQLSTATE 55006)`)
	c.want("SELECT sherd.remove_fragment('postgres$1')", `fragment "postgres$1" cannot be removed: ids under prefix "eu/" are to be in it (SQLSTATE 55006)`)
	c.want("SELECT sherd.set_prefix('eu/', '{postgres$0}')", "1\nSELECT 1")
	c.want("SELECT sherd.set_prefix('eu/', '{postgres$0}')", "0\nSELECT 1") // as long as the move is under way, and after it
	c.want("SELECT sherd.set_prefix('eu/', '{postgres$0}', wait => true)", "0\nSELECT 1")
	c.want("SELECT fragments, elsewhere, documents FROM sherd.prefixes", "{postgres$0}|0|40\nSELECT 1")
	c.want("SELECT DISTINCT sherd.fragment('customers', id) FROM customers", "postgres$0\nSELECT 1")
	c.want("SELECT count(*) FROM customers", "40\nSELECT 1")
	c.want("SELECT sherd.set_prefix('eu/', '{postgres$0}', buckets => 9)", `changing the number of buckets of prefix "eu/" is not supported (SQLSTATE 0A000): It has 8.`)
	wantPart(c, "SELECT sherd.set_prefix('eu', '{postgres$0}')", "SQLSTATE 22023")
	wantPart(c, "SELECT sherd.set_prefix('us/', '{postgres$9}')", "SQLSTATE 42704")
	wantPart(c, "SELECT sherd.set_prefix('us/', '{}')", "SQLSTATE 22023")
	wantPart(c, "SELECT sherd.drop_prefix('us/')", "SQLSTATE 42704")
	c.want(`SELECT bool_and(ok) FROM sherd.check()`, "t\nSELECT 1")
}

// TestPrefixOverDocuments makes and drops rules where documents are under them.
func TestPrefixOverDocuments(t *testing.T) {
	_, c := prefixWorld(t)
	c.want("INSERT INTO customers SELECT r || i, '{}' FROM unnest(ARRAY['eu/','eu/de/','us/']) r, generate_series(1, 20) i", "INSERT 0 60")
	c.want("INSERT INTO orders SELECT 'orders/' || c.id || '$', jsonb_build_object('Customer', c.id) FROM customers c WHERE id LIKE 'us/%'", "INSERT 0 20")
	wantPart(c, "SELECT sherd.set_prefix('us/', '{postgres$0}', buckets => 4)", `table "customers" has ids under prefix "us/" (SQLSTATE 55000)`)
	c.want("SELECT count(*) FROM sherd.prefixes", "1\nSELECT 1")
	c.want("SELECT sherd.set_prefix('us/', '{postgres$0}', buckets => 4, rewrite => true)",
		"0\nNOTICE: the sharding policy of \"orders\" is not validated any more: documents lie elsewhere than their content belongs now\nSELECT 1")
	c.want("SELECT DISTINCT sherd.fragment('customers', id) FROM customers WHERE id LIKE 'us/%'", "postgres$0\nSELECT 1")
	c.want("SELECT count(*), count(*) FILTER (WHERE sherd.bucket('customers', id) >= 1048576) FROM customers", "60|60\nSELECT 1")
	c.want("SELECT count(*) FROM orders WHERE doc->>'Customer' = 'us/3'", "1\nSELECT 1") // by a scan: the policy is not trusted
	c.want("INSERT INTO orders VALUES ('new$', '{\"Customer\":\"us/3\"}') RETURNING sherd.fragment('orders', id)", "postgres$0\nINSERT 0 1")
	c.want("SELECT count(*) FROM orders WHERE doc->>'Customer' = 'us/3'", "2\nSELECT 1")
	c.want("SELECT sherd.set_prefix('eu/de/', '{postgres$2}', rewrite => true)", "0\nSELECT 1")
	c.want("SELECT DISTINCT sherd.fragment('customers', id) FROM customers WHERE id LIKE 'eu/de/%'", "postgres$2\nSELECT 1")
	c.want("INSERT INTO customers VALUES ('x$@1048576', '{}')", "INSERT 0 1")
	wantPart(c, "SELECT sherd.drop_prefix('eu/')", "SQLSTATE 55000")
	wantPart(c, "SELECT sherd.drop_prefix('eu/', rewrite => true)", "has an id that names a bucket of prefix")
	c.want("DELETE FROM customers WHERE id = 'x$@1048576'", "DELETE 1")
	c.want("SELECT sherd.drop_prefix('eu/', rewrite => true)", "\nSELECT 1")
	c.want("SELECT prefix FROM sherd.prefixes ORDER BY 1", "eu/de/\nus/\nSELECT 2")
	c.want("SELECT count(*) FILTER (WHERE sherd.bucket('customers', id) < 1048576), count(*) FROM customers WHERE id LIKE 'eu/%'", "20|40\nSELECT 1")
	c.want(`SELECT bool_and(ok) FROM sherd.check()`, "t\nSELECT 1")
	c.want("BEGIN; SELECT sherd.drop_prefix('eu/de/', rewrite => true); SELECT count(*) FROM customers WHERE id LIKE 'eu/de/%'; ROLLBACK", "BEGIN\n\nSELECT 1\n20\nSELECT 1\nROLLBACK")
	c.want("SELECT count(*), max(sherd.fragment('customers', id)) FROM customers WHERE id LIKE 'eu/de/%'", "20|postgres$2\nSELECT 1")
}

// TestDroppedPrefix: documents under a rule that is dropped lie where they would without it, and nothing of it is left in the way: not the pins of its buckets, nor what
// kept its fragments.
func TestDroppedPrefix(t *testing.T) {
	_, c := prefixWorld(t)
	c.want("SELECT sherd.set_prefix('us/', '{postgres$2}', buckets => 4)", "0\nSELECT 1")
	c.want("INSERT INTO customers SELECT r || i, '{}' FROM unnest(ARRAY['eu/','us/','x/']) r, generate_series(1, 20) i", "INSERT 0 60")
	c.want("SELECT sherd.pin('postgres', 1048576, 1048578, 'postgres$1')", "\nSELECT 1")
	c.want("SELECT sherd.pin('postgres', 1048582, 1048586, 'postgres$2')", "\nSELECT 1") // of both rules
	c.want("SELECT sherd.pin('postgres', 5, 6, sherd.fragment('customers', 'a$@5'))", "\nSELECT 1")
	c.want("SELECT sherd.drop_prefix('eu/', rewrite => true, why => 'moved')", "\nSELECT 1")
	c.want("SELECT first_bucket, end_bucket FROM sherd.pins ORDER BY 1", "5|6\n1048584|1048586\nSELECT 2")
	c.want("SELECT change FROM sherd.changelog WHERE kind = 'prefix' AND why = 'moved'", "dropped, with the pins of its buckets\nSELECT 1")
	c.want("SELECT count(*) FILTER (WHERE sherd.bucket('customers', id) < 1048576), count(*) FROM customers WHERE id NOT LIKE 'us/%'", "40|40\nSELECT 1")
	c.want("SELECT count(*) FROM generate_series(1, 20) i JOIN customers ON id = 'eu/' || i", "20\nSELECT 1")
	c.want("SELECT sherd.move_buckets('postgres', 1048576, 1048584, 'postgres$0', wait => true) > 0", "t\nSELECT 1")
	c.want("SELECT sherd.drop_prefix('us/', rewrite => true)", "\nSELECT 1")
	c.want("SELECT first_bucket, end_bucket FROM sherd.pins", "5|6\nSELECT 1")
	c.want("SELECT count(*) FILTER (WHERE sherd.bucket('customers', id) < 1048576), count(*) FROM customers", "60|60\nSELECT 1")
	c.want("SELECT sherd.drop_prefix('us/')", `there is no rule for prefix "us/" (SQLSTATE 42704)`)
	c.want("SELECT bool_and(ok) FROM sherd.check()", "t\nSELECT 1")
}

// TestPrefixSnapshots: who has a snapshot from before a rule does not look for the documents of that time by it.
func TestPrefixSnapshots(t *testing.T) {
	w, c := prefixWorld(t)
	c.want("INSERT INTO customers VALUES ('us/1', '{}')", "INSERT 0 1")
	old := w.connect(t)
	old.want("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM stock", "BEGIN\n0\nSELECT 1")
	old.want("SAVEPOINT a", "SAVEPOINT")
	c.want("SET lock_timeout = '50ms'", "SET")
	wantPart(c, "SELECT sherd.set_prefix('us/', '{postgres$0}')", "SQLSTATE 55P03") // it holds a lock on stock
	old.want("COMMIT", "COMMIT")
	c.want("RESET lock_timeout; DELETE FROM customers", "RESET\nDELETE 1")
	c.want("CREATE TABLE alone (n int)", "CREATE TABLE")
	before := c.one("SELECT clock_timestamp()")
	c.want("SELECT sherd.set_prefix('us/', '{postgres$0}')", "0\nSELECT 1")
	wantPart(c, "SET sherd.as_of = '"+before+"'; SELECT count(*) FROM customers WHERE id = 'us/1'", "SQLSTATE 72000")
	c.want("RESET sherd.as_of", "RESET")
}

func wantPart(c *client, text, part string) {
	c.t.Helper()
	if got := c.answer(text); !strings.Contains(got, part) {
		c.t.Errorf("%s\ngot:\n%s\nwant in it:\n%s", text, got, part)
	}
}

// TestPrefixRoutes: what a condition says of the beginning of keys names the buckets of a rule, and the rows that it gives are those of a condition that names none.
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
	c.want("INSERT INTO orders SELECT 'orders/' || r || i || '$', jsonb_build_object('Customer', r || i) FROM unnest(ARRAY['eu/','EU/','eu/de/','us/','-']) r, generate_series(1, 12) i", "INSERT 0 60")
	c.want("INSERT INTO stock SELECT r, i, i FROM unnest(ARRAY['eu','EU','eu/de','us']) r, generate_series(1, 12) i", "INSERT 0 48")
	routed := func(table, cond, by string) {
		t.Helper()
		explained := c.answer("EXPLAIN SELECT * FROM " + table + " WHERE " + cond)
		if by == "" && strings.Contains(explained, "Routed by") || by != "" && !strings.Contains(explained, by) {
			t.Errorf("%s WHERE %s, wanted %q:\n%s", table, cond, by, explained)
		}
		all := strings.NewReplacer("id ", "(id || '') ", "(id,", "(id || '',", "region ", "(region || '') ", "doc->>'Customer'", "(doc->>'Customer' || '')").Replace(cond)
		if got, want := c.one("SELECT count(*) FROM "+table+" WHERE "+cond), c.one("SELECT count(*) FROM "+table+" WHERE "+all); got != want || got == "0" {
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
	c.want("PREPARE p (text) AS SELECT count(*) FROM stock WHERE region = $1; EXECUTE p ('eu'); EXECUTE p ('us'); EXECUTE p (NULL)", "PREPARE\n12\nSELECT 1\n12\nSELECT 1\n0\nSELECT 1")
	c.want("UPDATE plain SET v = -v WHERE id LIKE 'eu/de/%'", "UPDATE 12")
	c.want("DELETE FROM stock WHERE region = 'eu'", "DELETE 12")
	c.want("SELECT count(*) FROM plain a JOIN plain b USING (id) WHERE a.id LIKE 'eu/de/%'", "12\nSELECT 1")
	c.want("SELECT id FROM plain WHERE id LIKE 'eu/de/%' ORDER BY id LIMIT 2", "eu/de/1\neu/de/10\nSELECT 2")
}

// TestPrefixRoutesOfParameters: what only the running statement knows of the beginning of what is hashed prunes as constants do.
func TestPrefixRoutesOfParameters(t *testing.T) {
	_, c := prefixWorld(t)
	c.want("SELECT sherd.set_prefix('eu/de/', '{postgres$2}', buckets => 4)", "0\nSELECT 1")
	c.want("CREATE TABLE plain (id text PRIMARY KEY, v int) WITH (anchors = off)", "CREATE TABLE")
	c.want("INSERT INTO plain SELECT r || i, i FROM unnest(ARRAY['eu/','EU/','eu/de/','eu/d','us/','eu','e','eu/%','-']) r, generate_series(1, 12) i", "INSERT 0 108")
	c.want("INSERT INTO orders SELECT 'orders/' || r || i || '$', jsonb_build_object('Customer', r || i) FROM unnest(ARRAY['eu/','eu/de/','us/','-']) r, generate_series(1, 12) i", "INSERT 0 48")
	c.want("INSERT INTO stock SELECT r, i, i FROM unnest(ARRAY['eu','eu/de','us']) r, generate_series(1, 12) i", "INSERT 0 36")
	const (
		both = "fragments: postgres$1, postgres$2; "
		one  = "fragments: postgres$2; "
		all  = "fragments: postgres$0, postgres$1, postgres$2; "
		none = "fragments: none"
	)
	for _, x := range []struct{ table, cond, args, fragments string }{
		{"plain", "id LIKE $1", "'eu/%'", both}, {"plain", "id LIKE $1", "'eu/de/%'", one}, {"plain", "id LIKE $1", "'eu/d%'", both}, {"plain", "id LIKE $1", `E'eu/\\%%'`, both},
		{"plain", "id LIKE $1", "'eu%'", all}, {"plain", "id LIKE $1", "'%'", all}, {"plain", "id LIKE $1", "'-%'", all}, {"plain", "id LIKE $1", "NULL", none},
		{"plain", "id LIKE $1 || '%'", "'EU/'", both}, {"plain", "id LIKE $1 AND v > 3", "'us/%'", all}, {"plain", "id LIKE $1 AND id LIKE 'eu/de/%'", "'%1'", one},
		{"plain", "id ^@ $1", "'eu/de/'", one}, {"plain", "id ^@ $1", "'e'", all}, {"plain", "starts_with(id, $1)", "'eu/'", both}, {"plain", "id ^@ $1", "''", all},
		{"plain", "id >= $1 AND id < $2", "'eu/', 'eu0'", both}, {"plain", "id >= $1 AND id < $2", "'eu/de/', 'eu/de0'", one}, {"plain", "id BETWEEN $1 AND $2", "'eu/de/', 'eu/de0'", both},
		{"plain", "id >= $1 AND id < 'v'", "'eu/'", all}, {"plain", "id > 'eu/de/' AND id < $1", "'eu/de/2'", one}, {"plain", "id >= $1 AND id < $2", "'eu/', NULL", none},
		{"customers", "id LIKE $1", "'eu/%'", all}, {"stock", "region LIKE $1", "'eu/%'", both}, {"orders", "doc->>'Customer' LIKE $1", "'eu/%'", both},
		{"plain", "(id LIKE $1 OR id LIKE $2)", "'eu/de/%', 'eu/d%'", both}, {"plain", "(id LIKE $1 OR id LIKE $2)", "'eu/de/%', 'eu/de/1_'", one}, {"plain", "(id LIKE $1 OR id LIKE $2)", "'eu/%', 'us/%'", all},
		{"plain", "(id LIKE 'eu/de/%' OR id ^@ $1 OR id LIKE $2)", "'eu/de/1', NULL", one}, {"plain", "(id LIKE 'eu/de/%' OR v = $1)", "3", all}, {"plain", "(id LIKE $1 OR id ^@ $2)", "NULL, NULL", none},
		{"plain", "(id LIKE $1 OR id LIKE $2)", `E'eu/de/\\%', '-%'`, all}, {"plain", "(id LIKE 'eu/de/%' OR id LIKE 'eu/d%') AND v < $1", "100", both}, {"orders", "(doc->>'Customer' LIKE 'eu/de/%' OR doc->>'Customer' LIKE $1)", "'eu/de/1%'", one},
		{"orders", "doc->>'Customer' ^@ $1", "'eu/de/'", one}, {"orders", "doc->>'Customer' LIKE $1", "'-%'", all},
	} {
		c.want("PREPARE q AS SELECT count(*) FROM "+x.table+" WHERE "+x.cond, "PREPARE")
		if got := c.answer("EXPLAIN EXECUTE q (" + x.args + ")"); !strings.Contains(got, x.fragments) {
			t.Errorf("%s WHERE %s (%s), wanted %q:\n%s", x.table, x.cond, x.args, x.fragments, got)
		}
		whole := strings.NewReplacer("id ", "(id || '') ", "(id,", "(id || '',", "region ", "(region || '') ", "doc->>'Customer'", "(doc->>'Customer' || '')").Replace(x.cond)
		c.want("PREPARE w AS SELECT count(*) FROM "+x.table+" WHERE "+whole, "PREPARE")
		if got, want := c.one("EXECUTE q ("+x.args+")"), c.one("EXECUTE w ("+x.args+")"); got != want || got == "0" && x.fragments != none && x.table != "customers" {
			t.Errorf("%s WHERE %s (%s): %s rows, %s of all", x.table, x.cond, x.args, got, want)
		}
		c.want("DEALLOCATE q; DEALLOCATE w", "DEALLOCATE\nDEALLOCATE")
	}
	c.want("SELECT count(*), count(p.id) FROM (VALUES ('eu/de/%'), ('us/1'), ('zz')) x (pattern) LEFT JOIN LATERAL (SELECT id FROM plain WHERE id LIKE x.pattern) p ON true", "14|13\nSELECT 1")
}

// A rule that is refused leaves no buckets behind.
func TestRefusedPrefixTakesNoBuckets(t *testing.T) {
	w := newWorld(t)
	c := w.connect(t)
	c.want("CREATE TABLE customers (id text PRIMARY KEY, doc jsonb); INSERT INTO customers VALUES ('customers/1', '{}')", "CREATE TABLE\nINSERT 0 1")
	c.want("SELECT sherd.pin_anchors('customers', '{eu/9}', 'postgres$0', wait => true) > 0", "t\nSELECT 1")
	wantPart(c, "SELECT sherd.set_prefix('customers/', '{postgres$0}')", "SQLSTATE 55000")
	wantPart(c, "SELECT sherd.set_prefix('eu/', '{postgres$1}')", `anchor "eu/9" is pinned to fragment "postgres$0"`)
	wantPart(c, "SELECT sherd.set_prefix('eu/', '{postgres$1}', rewrite => true)", `anchor "eu/9" is pinned to fragment "postgres$0"`)
	c.want("SELECT max(end_bucket) FROM sherd.bucket_map", "1048576\nSELECT 1")
	c.want("SELECT sherd.unpin_anchors('customers', '{eu/9}'); SELECT sherd.set_prefix('eu/', '{postgres$1}')", "1\nSELECT 1\n0\nSELECT 1")
	c.want("SELECT max(end_bucket) FROM sherd.bucket_map", "1049600\nSELECT 1")
}
