package sql_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// runJobs runs the jobs about ids until the test ends, or stop is called.
func (w *world) runJobs(t *testing.T) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { w.server.RunJobs(ctx) })
	stop = func() { cancel(); done.Wait() }
	t.Cleanup(stop)
	return stop
}

// ended waits for all jobs about ids, and returns how they ended.
func (c *client) ended() string {
	c.t.Helper()
	for limit := time.Now().Add(testTimeout); time.Now().Before(limit); {
		if !strings.Contains(c.answer("SELECT state FROM sherd.jobs WHERE kind IN ('replace_placement', "+
			"'rewrite_references')"), "running") {
			break
		}
	}
	return c.answer("SELECT kind, progress, state, error FROM sherd.jobs WHERE kind IN ('replace_placement', " +
		"'rewrite_references') ORDER BY id")
}

// badPolicy makes orders that were placed by Customer, and changes the policy to Region. The table
// was has the former ids of the documents.
func (c *client) badPolicy(n int) {
	c.t.Helper()
	c.want(`CREATE TABLE orders (id text PRIMARY KEY, doc jsonb) WITH (shard_by = 'Customer')`, "CREATE TABLE")
	c.want(fmt.Sprintf(`INSERT INTO orders SELECT 'orders/' || i || '-A$', jsonb_build_object('Customer', `+
		`'customers/' || i %% 50, 'Region', 'r' || i %% 7, 'N', i) FROM generate_series(1, %d) i`, n),
		fmt.Sprintf("INSERT 0 %d", n))
	c.want("CREATE TABLE was (n int PRIMARY KEY, id text)", "CREATE TABLE")
	c.want("INSERT INTO was SELECT (doc->>'N')::int, id FROM orders", fmt.Sprintf("INSERT 0 %d", n))
	c.answer("ALTER TABLE orders SET (shard_by = 'Region')")
}

// explains compares a plan, except the name of the table of entries.
func (c *client) explains(text, want string) {
	c.t.Helper()
	got, _, _ := strings.Cut(c.answer(text), "\nEXPLAIN")
	got = regexp.MustCompile(`of_\d+`).ReplaceAllString(got, "entries")
	if got != want {
		c.t.Errorf("%s\ngot:\n%s\nwant:\n%s", text, got, want)
	}
}

func (c *client) one(text string) string {
	c.t.Helper()
	return strings.TrimSuffix(c.answer(text), "\nSELECT 1")
}

// TestReplacePlacement changes ids of documents after a change of their policy: both ids find them.
func TestReplacePlacement(t *testing.T) {
	w := newWorld(t)
	w.runJobs(t)
	c := w.connect(t)
	c.badPolicy(300)
	c.want("CREATE TABLE invoices (n int PRIMARY KEY, order_id text REFERENCES orders, doc jsonb)", "CREATE TABLE")
	c.want("INSERT INTO invoices SELECT n, id, jsonb_build_object('Order', jsonb_build_object('Id', id)) FROM was",
		"INSERT 0 300")
	if got := c.one("SELECT count(*) > 200 FROM sherd.validate_policy('orders')"); got != "t" {
		t.Fatal(got)
	}
	c.answer("SELECT sherd.replace_placement('orders')")
	if got := c.ended(); !strings.Contains(got, "100% of the buckets looked at|done|null") {
		t.Fatal(got)
	}
	c.want("SELECT count(*) FROM sherd.validate_policy('orders')", "0\nSELECT 1")
	c.want("SELECT count(*), sum((doc->>'N')::int) FROM orders", "300|45150\nSELECT 1")
	c.want("SELECT count(*) FROM orders o JOIN was USING (id)", "300\nSELECT 1")
	c.want("SELECT count(*) FROM orders o, was x WHERE o.id = x.id AND o.doc->>'N' = x.n::text", "300\nSELECT 1")
	old, now := c.one("SELECT id FROM was WHERE n = 17"), c.one("SELECT id FROM orders WHERE doc->>'N' = '17'")
	if old == now || !strings.HasPrefix(now, "orders/17-A$@") {
		t.Fatal(old, now)
	}
	sub := func(text string) string { return strings.NewReplacer("OLD", old, "NOW", now).Replace(text) }
	for _, x := range [][2]string{
		{"SELECT id FROM orders WHERE id = 'OLD'", "NOW\nSELECT 1"},
		{"SELECT id FROM orders WHERE id = 'NOW'", "NOW\nSELECT 1"},
		{"SELECT id FROM orders WHERE id = 'none'", "SELECT 0"},
		{"SELECT id FROM orders WHERE 'OLD' = id AND doc->>'N' = '17'", "NOW\nSELECT 1"},
		{"SELECT id FROM orders WHERE id IN ('OLD', 'NOW', 'none')", "NOW\nSELECT 1"},
		{"SELECT id FROM orders WHERE id = ANY (ARRAY['OLD'])", "NOW\nSELECT 1"},
		{"SELECT id FROM orders WHERE id IN (SELECT id FROM was WHERE n = 17)", "NOW\nSELECT 1"},
		{"SELECT id FROM orders WHERE id IN (VALUES ('OLD'), ('x'))", "NOW\nSELECT 1"},
		{"SELECT id FROM orders WHERE id = (SELECT id FROM was WHERE n = 17)", "NOW\nSELECT 1"},
		{"SELECT id FROM orders WHERE id = ANY (ARRAY(SELECT id FROM was WHERE n = 17))", "NOW\nSELECT 1"},
		{"SELECT id FROM orders WHERE id = 'OLD' OR id = 'none'", "NOW\nSELECT 1"},
		{"SELECT count(*) FROM orders WHERE id <> 'OLD'", "299\nSELECT 1"},
		{"SELECT count(*) FROM orders WHERE id NOT IN ('OLD', 'none')", "299\nSELECT 1"},
		{"SELECT count(*) FROM orders WHERE NOT id = 'OLD'", "299\nSELECT 1"},
		{"SELECT count(*) FROM orders WHERE id IS DISTINCT FROM 'OLD'", "299\nSELECT 1"},
		{"SELECT count(*) FROM orders WHERE CASE id WHEN 'OLD' THEN true ELSE false END", "1\nSELECT 1"},
		{"SELECT count(NULLIF(id, 'OLD')) FROM orders", "299\nSELECT 1"},
		{"SELECT s.k FROM (SELECT id AS k FROM orders) s WHERE s.k = 'OLD'", "NOW\nSELECT 1"},
		{"SELECT count(*) FROM was w FULL JOIN orders o USING (id) WHERE id = 'OLD'", "1\nSELECT 1"},
		{
			"SELECT count(*) FROM was w LEFT JOIN orders o ON o.id = w.id WHERE coalesce(w.id, o.id) = 'NOW'",
			"1\nSELECT 1",
		},
		{
			"SELECT id FROM (SELECT id FROM orders UNION ALL SELECT id FROM was) s WHERE id = 'OLD' ORDER BY 1",
			"OLD\nNOW\nSELECT 2",
		},
		{"SELECT count(*) FROM orders o, was w WHERE 'OLD' IN (o.id, w.id) AND w.id = o.id", "1\nSELECT 1"},
		{
			"SELECT count(*) FROM orders o JOIN (SELECT id FROM orders UNION ALL SELECT id FROM was) s ON s.id = o.id",
			"600\nSELECT 1",
		},
		{"WITH s AS MATERIALIZED (SELECT id FROM orders) SELECT id FROM s WHERE id = 'OLD'", "NOW\nSELECT 1"},
		{"SELECT id FROM (SELECT id FROM orders UNION ALL SELECT 'z') s WHERE id = 'OLD'", "NOW\nSELECT 1"},
		{"SELECT x.n, o.id FROM was x LEFT JOIN orders o ON o.id = x.id WHERE x.n = 17", "17|NOW\nSELECT 1"},
		{"SELECT x.n, o.id FROM orders o RIGHT JOIN was x ON o.id = x.id WHERE x.n = 17", "17|NOW\nSELECT 1"},
		{"SELECT count(*) FROM orders o LEFT JOIN was x ON o.id = x.id WHERE x.id IS NULL", "0\nSELECT 1"},
		{"SELECT count(*) FROM was x WHERE EXISTS (SELECT FROM orders o WHERE o.id = x.id)", "300\nSELECT 1"},
		{"SELECT count(*) FROM was x WHERE NOT EXISTS (SELECT FROM orders o WHERE o.id = x.id)", "0\nSELECT 1"},
		{"SELECT count(*) FROM was x WHERE x.id IN (SELECT id FROM orders)", "300\nSELECT 1"},
		{"SELECT count(*) FROM was x WHERE x.id NOT IN (SELECT id FROM orders)", "0\nSELECT 1"},
		{"SELECT (SELECT o.id FROM orders o WHERE o.id = x.id) FROM was x WHERE n = 17", "NOW\nSELECT 1"},
		{"SELECT o.id FROM orders o JOIN invoices i ON o.id = i.doc#>>'{Order,Id}' WHERE i.n = 17", "NOW\nSELECT 1"},
		{"SELECT count(*) FROM orders a JOIN orders b ON a.id = b.id", "300\nSELECT 1"},
		{"SELECT count(*) FROM orders o JOIN was x ON o.id = coalesce(x.id, 'none')", "300\nSELECT 1"},
		{"SELECT id FROM orders WHERE id = 'OLD' FOR UPDATE", "NOW\nSELECT 1"},
		{"PREPARE p(text) AS SELECT id FROM orders WHERE id = $1; EXECUTE p('OLD')", "PREPARE\nNOW\nSELECT 1"},
		{
			"PREPARE q(text[]) AS SELECT id FROM orders WHERE id = ANY ($1); EXECUTE q('{OLD,x}')",
			"PREPARE\nNOW\nSELECT 1",
		},
		{"UPDATE orders SET doc = doc || '{\"a\": 1}' WHERE id = 'OLD' RETURNING id", "NOW\nUPDATE 1"},
		{
			"UPDATE orders o SET doc = doc || '{\"b\": 1}' FROM was x WHERE o.id = x.id AND x.n = 17 RETURNING o.id",
			"NOW\nUPDATE 1",
		},
		{"UPDATE was x SET n = x.n FROM orders o WHERE o.id = x.id AND x.n = 17", "UPDATE 1"},
		{"INSERT INTO orders VALUES ('OLD', '{\"Region\": \"r3\"}') ON CONFLICT DO NOTHING", "INSERT 0 0"},
		{
			"INSERT INTO orders VALUES ('OLD', '{\"Region\": \"r3\"}') ON CONFLICT (id) DO UPDATE " +
				"SET doc = orders.doc || '{\"c\": 1}' RETURNING id", "NOW\nINSERT 0 1",
		},
		{"SELECT doc->'a', doc->'b', doc->'c' FROM orders WHERE id = 'OLD'", "1|1|1\nSELECT 1"},
		{"INSERT INTO invoices VALUES (1000, 'OLD')", "INSERT 0 1"},
		{"INSERT INTO invoices VALUES (1001, 'NOW')", "INSERT 0 1"},
		{"INSERT INTO invoices SELECT 2000 + n, id FROM was WHERE n < 5", "INSERT 0 4"},
	} {
		c.want(sub(x[0]), sub(x[1]))
	}
	c.want("CREATE TABLE names (id text PRIMARY KEY)", "CREATE TABLE")
	for text, want := range map[string]string{
		"INSERT INTO orders VALUES ('OLD', '{\"Region\": \"r3\"}')": "23514",
		"INSERT INTO invoices VALUES (1002, 'none')": "violates foreign " +
			"key constraint",
		"DELETE FROM orders WHERE id = 'OLD'": "violates foreign " +
			"key constraint",
		"DELETE FROM orders WHERE id = 'NOW'": "violates foreign " +
			"key constraint",
		"SELECT id FROM orders INTERSECT (SELECT id FROM orders UNION ALL SELECT id " +
			"FROM was)": "INTERSECT and EXCEPT of ids",
		"SELECT id FROM was EXCEPT SELECT id " +
			"FROM orders": "INTERSECT and EXCEPT of ids",
		"ALTER TABLE orders ADD FOREIGN KEY (id) REFERENCES names": "makes them those of " +
			"other documents",
		"SELECT id FROM orders " +
			"WHERE id = 'OLD'::name": "another type than text",
		"SELECT sherd.rewrite_references('orders', 'invoices', 'n')": "does not hold ids",
		"SELECT * FROM sherd.rewrite_references('was')":              "have no former ids",
		"SELECT sherd.replace_placement('was')":                      "is not a collection",
		"SELECT sherd.pause_job(999999)":                             "there is no job 999999",
	} {
		if got := c.answer(sub(text)); !strings.Contains(got, want) {
			t.Errorf("%s\n%s\nwant %s", sub(text), got, want)
		}
	}
	c.want("SELECT referrer, path, by_former_id > 290 FROM sherd.rewrite_references('orders')",
		"invoices|order_id|t\nSELECT 1")
	c.explains(sub("EXPLAIN (COSTS OFF) SELECT id FROM orders WHERE id = 'OLD'"), `Gather  (fragments: by the row, of 3)
  Routed by: primary key
  InitPlan 1 (returns $1)
    ->  Nested Loop Left
          ->  Result
          ->  Gather  (fragments: by the row, of 3)
                Routed by: primary key
                ->  Key Lookup on entries f
                      Key: (f.old = s.c)
  ->  Key Lookup on orders
        Key: (id = $1)`)
	c.explains("EXPLAIN (COSTS OFF) SELECT o.doc FROM was x JOIN orders o ON o.id = x.id WHERE x.n = 1", `Nested Loop
  ->  Nested Loop Left
        ->  Gather  (fragments: postgres$1; buckets: 353492)
              Routed by: primary key
              ->  Key Lookup on was x
                    Key: (x.n = 1)
        ->  Gather  (fragments: by the row, of 3)
              Routed by: primary key
              ->  Key Lookup on entries f
                    Key: (f.old = x.id)
  ->  Gather  (fragments: by the row, of 3)
        Routed by: primary key
        ->  Key Lookup on orders o
              Key: (o.id = COALESCE(sherd.forwarded('16384'::oid, x.id, f.new), x.id))`)
	if got := c.one(
		sub("SELECT sum(hits) > 10, count(*) FROM sherd.forwarding_hits WHERE old = 'OLD' AND new = 'NOW'"),
	); got != "t|1" {
		t.Error(got)
	}
	c.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
	c.answer("SELECT sherd.rewrite_references('orders', 'invoices', 'order_id')")
	c.ended()
	c.answer("SELECT sherd.rewrite_references('orders', 'invoices', 'Order.Id')")
	if got := c.ended(); strings.Count(got, "done|null") != 3 {
		t.Error(got)
	}
	c.want("SELECT referrer, path, by_former_id FROM sherd.rewrite_references('orders')",
		"invoices|order_id|0\nSELECT 1")
	c.want("SELECT count(*) FROM invoices i WHERE EXISTS (SELECT FROM pg_forwarding.of_16384 f "+
		"WHERE f.old = i.doc#>>'{Order,Id}')", "0\nSELECT 1")
	c.want(sub("DELETE FROM invoices WHERE order_id = 'NOW'; DELETE FROM orders WHERE id = 'OLD' RETURNING id"),
		sub("DELETE 3\nNOW\nDELETE 1"))
	c.want(sub("SELECT count(*) FROM orders WHERE id IN ('OLD', 'NOW')"), "0\nSELECT 1")
	c.want("SELECT detail FROM sherd.check() WHERE \"check\" = 'former ids'", "299 former ids\nSELECT 1")
	c.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
	c.want("SELECT sherd.drop_forwarding('orders')", "\nSELECT 1")
	c.want("SELECT count(*) < 50 FROM orders JOIN was USING (id)", "t\nSELECT 1")
	c.want("DROP TABLE invoices; DROP TABLE orders", "DROP TABLE\nDROP TABLE")
}
