package sql_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestSpreadPlacement: sherd.replace_placement(…, spread => true) changes the ids of documents that
// lie where the policy allows to those that they would be inserted with under its wider Range. It
// goes on at another leader, and after it was cancelled, and a further run changes nothing. Without
// spread such documents stay.
func TestSpreadPlacement(t *testing.T) {
	w := newWorld(t)
	c := w.connect(t)
	const documents = 400
	c.want("CREATE TABLE orders (id text PRIMARY KEY, doc jsonb) WITH (shard_by = 'Customer')", "CREATE TABLE")
	// The client has named the anchor of every second one.
	c.want(fmt.Sprintf(`INSERT INTO orders SELECT 'orders/' || i || '$' || CASE WHEN i %% 2 = 0 THEN 'customers/' || i %% 4 ELSE '' END,
		jsonb_build_object('Customer', 'customers/' || i %% 4, 'N', i) FROM generate_series(1, %d) i`, documents), fmt.Sprintf("INSERT 0 %d", documents))
	c.want("CREATE TABLE was (n int PRIMARY KEY, id text)", "CREATE TABLE")
	c.want("INSERT INTO was SELECT (doc->>'N')::int, id FROM orders", fmt.Sprintf("INSERT 0 %d", documents))
	c.want("CREATE TABLE invoices (n int PRIMARY KEY, order_id text REFERENCES orders)", "CREATE TABLE")
	c.want("INSERT INTO invoices SELECT n, id FROM was", fmt.Sprintf("INSERT 0 %d", documents))
	c.want("SELECT count(DISTINCT sherd.bucket(id)) FROM orders", "4\nSELECT 1")
	c.want("ALTER TABLE orders SET (shard_range = 10)", "ALTER TABLE")

	const elsewhere = `SELECT count(*) FROM orders
		WHERE sherd.bucket(id) <> sherd.bucket(doc->>'Customer') / 10 * 10 + sherd.bucket(split_part(id, '$', 1)) % 10`
	left := func() string { return c.one(elsewhere) }
	unspread := left()
	stop := w.runJobs(t)
	c.answer("SELECT sherd.replace_placement('orders')")
	c.answer("SELECT sherd.replace_placement('orders', NULL)") // null arguments do nothing
	if got := c.ended(); got != "replace_placement|0 documents re-placed, "+
		"100% of the buckets looked at|done|null\nSELECT 1" || left() != unspread {
		t.Fatal(unspread, left(), got)
	}
	stop()

	c.want("ALTER SYSTEM SET sherd.replace_rate = 300", "ALTER SYSTEM")
	someLeft := func(than string) func() bool {
		return func() bool { now := left(); return now != than && now != "0" }
	}
	c.answer("SELECT sherd.replace_placement('orders', spread => true)")
	stop = w.runJobs(t)
	c.until(someLeft(unspread), left)
	stop() // the process dies
	halfway := left()
	stop = w.another().runJobs(t) // another node leads
	c.until(someLeft(halfway), left)
	c.answer("SELECT sherd.cancel_job(id) FROM sherd.jobs WHERE state = 'running'")
	stop()
	c.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")

	c.want("ALTER SYSTEM RESET sherd.replace_rate", "ALTER SYSTEM")
	w.runJobs(t)
	c.answer("SELECT sherd.replace_placement('orders', true)")
	if got := c.ended(); !strings.Contains(got, "|cancelled|null") ||
		!strings.HasSuffix(got, "% of the buckets looked at|done|null\nSELECT 3") || left() != "0" {
		t.Fatal(left(), got)
	}
	c.want("SELECT count(*) FROM orders o JOIN was x USING (id) WHERE o.doc->>'N' = x.n::text "+
		"AND o.id LIKE 'orders/' || x.n || '$%'", fmt.Sprintf("%d\nSELECT 1", documents))
	c.want("SELECT count(*) FROM invoices i JOIN orders o ON o.id = i.order_id", fmt.Sprintf("%d\nSELECT 1", documents))
	c.want("SELECT validated, range FROM sherd.policies WHERE collection = 'orders'::regclass", "t|10\nSELECT 1")
	c.want("SELECT count(*) FROM orders WHERE doc->>'Customer' = 'customers/3'",
		fmt.Sprintf("%d\nSELECT 1", documents/4))
	c.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")

	const all = "SELECT string_agg(id, ',' ORDER BY id) FROM orders"
	before := c.one(all)
	c.answer("SELECT sherd.replace_placement(collection => 'orders', spread => true)")
	if got := c.ended(); !strings.HasSuffix(got,
		"\nreplace_placement|0 documents re-placed, 100% of the buckets looked at|done|null\nSELECT 4") ||
		c.one(all) != before {
		t.Error("a second run:", got)
	}
}

// TestSpreadLeaves: documents whose other id is taken, whose counters are split or whose base makes
// no id stay where the policy allows them, and the job counts them.
func TestSpreadLeaves(t *testing.T) {
	w := newWorld(t)
	w.runJobs(t)
	c := w.connect(t)
	c.want("CREATE TABLE orders (id text PRIMARY KEY, doc jsonb) WITH (shard_by = 'C', shard_range = 1048576, "+
		"counters = 'N')", "CREATE TABLE")
	c.want(`INSERT INTO orders VALUES ('a$@1', '{"C": 1, "N": 0}'), ('a$@2', '{"C": 1, "N": 0}'), ('b$@3', '{"C": 1, `+
		`"N": 0}'), ('c$$d', '{"C": 1, "N": 0}'), ('e$f', '{"C": 1, "N": 0}')`, "INSERT 0 5")
	c.want("SELECT sherd.hot_split('orders', 'b$@3', 4)", "4\nSELECT 1")
	for i, want := range []string{"2 documents re-placed, 3 stay as they are",
		"0 documents re-placed, 3 stay as they are"} {
		c.answer("SELECT sherd.replace_placement('orders', spread => true)")
		if got := c.ended(); !strings.Contains(got, want) || !strings.HasSuffix(got, fmt.Sprintf("SELECT %d", i+1)) {
			t.Error(got)
		}
	}
	at := c.one("SELECT sherd.bucket('a')")
	c.want("SELECT id IN ('a$@1', 'a$@2', 'a$@"+at+"') FROM orders WHERE id LIKE 'a$%'", "t\nt\nSELECT 2")
	c.want("SELECT id = 'e$@' || sherd.bucket('e') FROM orders WHERE id = 'e$f'", "t\nSELECT 1")
	c.want("SELECT id FROM orders WHERE id IN ('b$@3', 'c$$d') ORDER BY id", "b$@3\nc$$d\nSELECT 2")
	c.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
}
