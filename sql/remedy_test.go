package sql_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql"
	"github.com/sherddb/sherd/sql/session"
	"github.com/sherddb/sherd/sql/sysview"
)

// inflated counts 32 times the bytes of the rows: a bucket that is counted by itself, above 4 MiB,
// is obese.
type inflated struct{ session.Fragments }

// CountRows implements session.Fragments.
func (f inflated) CountRows(
	ctx context.Context, d *catalog.Database, storageID uint32, missing map[uint32]bool,
) ([]sysview.Stat, error) {
	stats, err := f.Fragments.CountRows(ctx, d, storageID, missing)
	for i := range stats {
		stats[i].Bytes *= 32
	}
	return stats, err
}

// fatWorld is a world in which 4 MiB are obese.
func fatWorld(t *testing.T) *world {
	w := newWorld(t)
	w.cfg.Fragments = inflated{w.cfg.Fragments}
	w.server = sql.NewServer(w.cfg)
	return w
}

// remedy returns the remedy and the advice for the one obese bucket of a collection, when buckets
// are counted one by one.
func (c *client) remedy(collection string) (statement, advice string) {
	c.t.Helper()
	var got string
	c.until(func() bool {
		got = c.answer("SELECT remedy, advice FROM sherd.obese_buckets WHERE collection = '" + collection +
			"'::regclass AND end_bucket = first_bucket + 1")
		return strings.HasSuffix(got, "SELECT 1")
	}, func() string { return got })
	row, _, _ := strings.Cut(got, "\nSELECT 1")
	statement, advice, _ = strings.Cut(row, "|")
	return statement, advice
}

// wantRemedy checks the remedy of an obese bucket, and runs it as it is.
func (c *client) wantRemedy(collection, statement, advice, answer string) {
	c.t.Helper()
	got, why := c.remedy(collection)
	if got != statement || !strings.Contains(why, advice) {
		c.t.Fatalf("%s: %s | %s\nwant %s | %s", collection, got, why, statement, advice)
	}
	if statement != "null" {
		c.want(got, answer)
	}
}

// fat fills a bucket with 5 MB in 50 rows.
const fat = "repeat('x', 100000) FROM generate_series(1, 50) g"

// TestObeseRange: the remedy for one content in one bucket is a wider Range of that collection's
// policy, by which new documents spread. The next remedy spreads those that are there, and then no
// bucket is obese any more.
func TestObeseRange(t *testing.T) {
	w := fatWorld(t)
	c := w.connect(t)
	c.want("CREATE TABLE orders (id text PRIMARY KEY, doc jsonb) WITH (shard_by = 'Customer')", "CREATE TABLE")
	c.want("INSERT INTO orders SELECT 'orders/' || g || '$', jsonb_build_object('Customer', 'customers/1-A', "+
		"'Total', 5, 'Pad', p) FROM (SELECT g, "+fat+") AS x(g, p)", "INSERT 0 50")
	for range 3 {
		c.answer("SELECT doc->>'Total' FROM orders WHERE doc->>'Customer' = 'customers/1-A' LIMIT 1")
		c.answer("SELECT doc->'Ship'->>'City' FROM orders WHERE doc->>'Customer' = 'customers/2-B'")
	}
	c.wantRemedy("orders", "ALTER TABLE public.orders SET (shard_range = 10)",
		"new documents of one content spread over 10 buckets", "ALTER TABLE")
	c.counted("SELECT first_bucket, end_bucket, documents, hottest_fields FROM sherd.obese_buckets",
		"982173|982174|50|{Customer,Total}\nSELECT 1")
	c.want("SELECT validated, range FROM sherd.policies", "t|10\nSELECT 1")
	c.want(`INSERT INTO orders SELECT 'new/' || g || '$', '{"Customer": "customers/1-A"}' `+
		`FROM generate_series(1, 50) g`, "INSERT 0 50")
	c.want("SELECT count(DISTINCT sherd.bucket(id)) > 5 FROM orders", "t\nSELECT 1")
	c.want("CREATE TABLE was (n int PRIMARY KEY, id text)", "CREATE TABLE")
	c.want("INSERT INTO was SELECT split_part(split_part(id, '/', 2), '$', 1)::int, id FROM orders "+
		"WHERE id LIKE 'orders/%'", "INSERT 0 50")

	const spread = "SELECT sherd.replace_placement('public.orders', spread => true)"
	statement, advice := c.remedy("orders")
	if statement != spread || !strings.Contains(advice, "over the 10 buckets of their block") {
		t.Fatalf("after the range was raised: %s | %s", statement, advice)
	}
	c.answer(statement)
	c.wantRemedy("orders", "null",
		"spreads documents over the 10 buckets of their block: sherd.jobs shows how far it is", "")
	stop := w.runJobs(t)
	if got := c.ended(); !strings.Contains(got, "documents re-placed, 100% of the buckets looked at|done|null") {
		t.Fatal(got)
	}
	stop()
	c.counted("SELECT * FROM sherd.obese_buckets", "SELECT 0")
	c.want("SELECT count(DISTINCT sherd.bucket(id)) > 5, min(sherd.bucket(id)) >= 982170, "+
		"max(sherd.bucket(id)) < 982180 "+
		"FROM orders WHERE id LIKE 'orders/%'", "t|t|t\nSELECT 1")
	c.want("SELECT count(*) FROM was w JOIN orders o ON o.id = w.id AND o.id LIKE 'orders/' || w.n || '$@%'",
		"50\nSELECT 1")
	c.want("SELECT validated, range FROM sherd.policies", "t|10\nSELECT 1")
	c.want("SELECT count(*) FROM orders WHERE doc->>'Customer' = 'customers/1-A'", "100\nSELECT 1")
	c.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
}

// TestObesePlaced: documents whose ids happen to fold to one bucket of a block would stay if they
// were spread. Their bucket is isolated, and has no remedy after that.
func TestObesePlaced(t *testing.T) {
	c := fatWorld(t).connect(t)
	c.want("CREATE TABLE orders (id text PRIMARY KEY, doc jsonb) WITH (shard_by = 'Customer', shard_range = 10)",
		"CREATE TABLE")
	c.want(`INSERT INTO orders SELECT 'o/' || g || '$', jsonb_build_object('Customer', 'customers/1-A', 'Pad', repeat('x', 1000000))
		FROM generate_series(1, 200) g WHERE sherd.bucket('o/' || g) % 10 = 3 LIMIT 5`, "INSERT 0 5")
	statement, _ := c.remedy("orders")
	if !strings.HasPrefix(statement, "SELECT sherd.isolate_anchor('") || !strings.HasSuffix(statement, "$@982173')") {
		t.Fatal(statement)
	}
	c.want(statement, "postgres$3\nSELECT 1")
	c.settled()
	c.want("SELECT first_bucket, end_bucket, fragment FROM sherd.pins", "982173|982174|postgres$3\nSELECT 1")
	c.wantRemedy("orders", "null", "the bucket is isolated: fragment postgres$3", "")
	c.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
}

// until waits for something that happens in the background.
func (c *client) until(done func() bool, got func() string) {
	c.t.Helper()
	for end := time.Now().Add(testTimeout); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			c.t.Fatalf("it does not come about: %s", got())
		}
	}
}

// counted waits until a query of sherd.obese_buckets has an answer: buckets are counted one by one
// in the background, and a group of them stands for its buckets until then.
func (c *client) counted(query, want string) {
	c.t.Helper()
	var got string
	c.until(func() bool { got = c.answer(query); return got == want }, func() string { return query + ": " + got })
}

// settled waits until no move and no plan is going on.
func (c *client) settled() {
	c.t.Helper()
	var got string
	c.until(func() bool {
		got = c.answer("SELECT * FROM sherd.moves") + c.answer("SELECT * FROM sherd.jobs")
		return got == "SELECT 0SELECT 0"
	}, func() string { return got })
}

// TestObeseTable: a table whose policy is columns of its key is stored by the wider Range at once,
// and has no obese bucket afterwards.
func TestObeseTable(t *testing.T) {
	c := fatWorld(t).connect(t)
	c.want("CREATE TABLE lines (tenant text, n int, body text, PRIMARY KEY (tenant, n)) WITH (shard_by = 'tenant')",
		"CREATE TABLE")
	c.want("INSERT INTO lines SELECT 'it''s', g, "+fat, "INSERT 0 50")
	c.wantRemedy("lines", "ALTER TABLE public.lines SET (shard_range = 10)", "the table is locked", "ALTER TABLE")
	c.counted("SELECT count(*) FROM sherd.obese_buckets WHERE collection = 'lines'::regclass", "0\nSELECT 1")
	c.want("CREATE TABLE blobs (k text PRIMARY KEY, body text)", "CREATE TABLE")
	c.want("INSERT INTO blobs VALUES ('a', repeat('x', 5000000))", "INSERT 0 1")
	c.wantRemedy("blobs", "null", "one row has all the bytes", "")
	c.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
}

// TestObeseAnchor: the bucket of an anchor is isolated by that anchor's name. A hot document in it
// is split afterwards, by the counters to which statements add.
func TestObeseAnchor(t *testing.T) {
	c := fatWorld(t).connect(t)
	c.want("CREATE TABLE invoices (id text PRIMARY KEY, doc jsonb)", "CREATE TABLE")
	c.want("INSERT INTO invoices SELECT 'invoices/' || g || '$customers/1-A', jsonb_build_object('Pad', p) "+
		"FROM (SELECT g, "+fat+") AS x(g, p)", "INSERT 0 50")
	c.wantRemedy("invoices", "SELECT sherd.isolate_anchor('customers/1-A')",
		"the bucket moves to a new fragment", "postgres$3\nSELECT 1")
	c.settled()
	c.want("SELECT anchors, fragment FROM sherd.pins", "{customers/1-A}|postgres$3\nSELECT 1")
	c.want(`INSERT INTO invoices VALUES ('hot$customers/1-A', '{"Seen": {"By": 0}}')`, "INSERT 0 1")
	for range 400 {
		c.answer(`UPDATE invoices SET doc = jsonb_set(doc, '{Seen,By}', to_jsonb((doc #>> '{Seen,By}')::int + 1)) ` +
			`WHERE id = 'hot$customers/1-A'`)
	}
	c.counted("SELECT hottest_fields FROM sherd.obese_buckets", "{Seen.By}\nSELECT 1")
	const split = "SELECT sherd.hot_split('public.invoices', 'hot$customers/1-A', 16, ARRAY['Seen.By'])"
	c.want("SELECT remedy FROM sherd.hot_keys WHERE key = 'hot$customers/1-A'", split+"\nSELECT 1")
	c.wantRemedy("invoices", split,
		"the bucket is isolated: fragment postgres$3 has nothing else; what is added to the counters", "16\nSELECT 1")
	c.want("SELECT id, parts, counters FROM sherd.hot_documents", "hot$customers/1-A|16|{Seen.By}\nSELECT 1")
	c.wantRemedy("invoices", "null", "the bucket is isolated", "")
	c.want("SELECT doc FROM invoices WHERE id = 'hot$customers/1-A'", `{"Seen": {"By": 400}}`+"\nSELECT 1")
	c.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
}

// TestObeseSegment: the remedy for a segment splits it in two halves, also if sherd.segment_size is
// off, so that no plan would split it, and if each new key lies behind all others.
func TestObeseSegment(t *testing.T) {
	c := fatWorld(t).connect(t)
	c.want("ALTER SYSTEM SET sherd.segment_size = 0", "ALTER SYSTEM")
	c.want("CREATE TABLE events (device text, at int, what text, PRIMARY KEY (device, at)) WITH (shard_by = 'range', "+
		"shard_splits = 'm')", "CREATE TABLE")
	c.want("INSERT INTO events SELECT 'a/b', g, "+fat, "INSERT 0 50")
	name := c.one("SELECT segment FROM sherd.segments WHERE documents = 50")
	c.want("SELECT count(*) FROM sherd.plan_rebalance() WHERE ranges LIKE 'events: split%'", "0\nSELECT 1")
	c.wantRemedy("events", "SELECT sherd.halve_segment('public.events', '"+name+"')",
		"at the key that divides its bytes", "\nSELECT 1")
	c.settled()
	c.counted("SELECT count(*) FROM sherd.obese_buckets", "0\nSELECT 1")
	c.counted("SELECT documents BETWEEN 20 AND 30 FROM sherd.segments WHERE documents > 0", "t\nt\nSELECT 2")
	c.want("SELECT count(*), sum(at) FROM events", "50|1275\nSELECT 1")
	c.want("CREATE TABLE plain (id int PRIMARY KEY)", "CREATE TABLE")
	for text, want := range map[string]string{
		"SELECT sherd.halve_segment('events', 'none')": `table "events" has ` +
			`no segment "none" (SQLSTATE 42704)`,
		"SELECT sherd.halve_segment('events', segment) FROM sherd.segments WHERE documents = 0": "cannot be split " +
			"(SQLSTATE 55000): It has fewer than two rows.",
		"SELECT sherd.halve_segment(collection => 'plain', segment => '-')": `table "plain" has ` +
			`no segments (SQLSTATE 42809)`,
	} {
		if got := c.answer(text); !strings.Contains(got, want) {
			t.Errorf("%s\n%s\nwant %s", text, got, want)
		}
	}
	c.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
}

// TestHotRemedies: every remedy of sherd.hot_keys runs as it is, and afterwards the key has no
// remedy.
func TestHotRemedies(t *testing.T) {
	c := newWorld(t).connect(t)
	remedy := func(key string) string {
		row, _, _ := strings.Cut(c.answer(fmt.Sprintf("SELECT remedy, advice FROM sherd.hot_keys WHERE key = '%s' "+
			"ORDER BY share DESC LIMIT 1", key)), "\nSELECT 1")
		return row
	}
	hot := func(n int, statement string) {
		for range n {
			c.answer(statement)
		}
	}
	for _, x := range []struct{ table, row, add, id, remedy string }{
		{"CREATE TABLE declared (id text PRIMARY KEY, v bigint) WITH (counters = 'v')",
			"INSERT INTO declared VALUES ('it''s', 0)", "UPDATE declared SET v = v + 1 WHERE id = 'it''s'",
			"it''s", "SELECT sherd.hot_split('public.declared', 'it''s')"},
		{`CREATE TABLE named (id int PRIMARY KEY, "Views" int, other text)`, "INSERT INTO named VALUES (7, 0)",
			`UPDATE named SET "Views" = "Views" + 1 WHERE id = 7`,
			"7", "SELECT sherd.hot_split('public.named', '7', 16, ARRAY['Views'])"},
		{`CREATE TABLE "Docs" (id text PRIMARY KEY, doc jsonb)`, `INSERT INTO "Docs" VALUES ('d', '{"a.b": {"c": 0}}')`,
			`UPDATE "Docs" SET doc = jsonb_set(doc, '{a.b,c}', to_jsonb((doc->'a.b'->>'c')::bigint + 2)) ` +
				`WHERE id = 'd'`,
			"d", `SELECT sherd.hot_split('public."Docs"', 'd', 16, ARRAY['"a.b".c'])`},
	} {
		c.want(x.table, "CREATE TABLE")
		c.want(x.row, "INSERT 0 1")
		hot(600, x.add)
		statement, advice, _ := strings.Cut(remedy(x.id), "|")
		if statement != x.remedy || !strings.HasPrefix(advice, "what is added to the counters") {
			t.Fatalf("%s\n%s | %s", x.add, statement, advice)
		}
		c.want(statement, "16\nSELECT 1")
		hot(300, x.add)
		if got := remedy(x.id); strings.HasPrefix(got, "SELECT") {
			t.Errorf("after %s: %s", statement, got)
		}
	}
	hot(600,
		`UPDATE "Docs" SET doc = jsonb_set(doc, '{a.b,c}', to_jsonb((doc->'a.b'->>'c')::bigint + 2)) WHERE id = 'd'`)
	if got := c.answer(
		"SELECT DISTINCT advice FROM sherd.hot_keys WHERE key = 'd' AND advice LIKE 'its counters are split%'",
	); !strings.Contains(got, `SELECT sherd.hot_join('public."Docs"', 'd')`) {
		t.Errorf("of parts: %s", got)
	}
	c.want(`SELECT sherd.hot_join('public."Docs"', 'd')`, "\nSELECT 1")

	c.want("CREATE TABLE unsplit (id text PRIMARY KEY, v int CHECK (v >= 0))", "CREATE TABLE")
	c.want("INSERT INTO unsplit VALUES ('u', 0), ('r', 0)", "INSERT 0 2")
	hot(1500, "UPDATE unsplit SET v = v + 1 WHERE id = 'u'")
	if got := remedy("u"); !strings.HasPrefix(got,
		`null|counter "v" of table "unsplit" cannot be split: constraint "unsplit_v_check" uses it`) {
		t.Errorf("of a counter with a constraint: %s", got)
	}
	hot(3000, "SELECT v FROM unsplit WHERE id = 'r'")
	statement, _, _ := strings.Cut(remedy("r"), "|")
	c.want(statement, "SET")
	c.want("SHOW sherd.read_staleness", "1s\nSHOW")
	c.want("RESET sherd.read_staleness; SELECT * FROM sherd.check() WHERE NOT ok", "RESET\nSELECT 0")
}
