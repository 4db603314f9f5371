package sql_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/session"
)

// TestFragmentSetting: sherd.fragment is set, shown, reset and inherited like other settings, and
// names existing fragments.
func TestFragmentSetting(t *testing.T) {
	w := newWorld(t)
	c := w.connect(t)
	const show = "SHOW sherd.fragment"
	c.want("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t SELECT generate_series(1, 300)",
		"CREATE TABLE\nINSERT 0 300")
	part := c.one("SELECT count(*) FROM t WHERE sherd.fragment('t', id) = 'postgres$1'")
	count := func(want string) {
		t.Helper()
		c.want("SELECT count(*) FROM t", want+"\nSELECT 1")
	}
	c.want(show, "\nSHOW")
	c.want("SET sherd.fragment = 'postgres$1'; "+show, "SET\npostgres$1\nSHOW")
	count(part)
	c.want("SELECT setting, source, context, vartype FROM pg_settings WHERE name = 'sherd.fragment'",
		"postgres$1|session|user|string\nSELECT 1")
	c.want("SET sherd.fragment = 1; "+show, "SET\n1\nSHOW")
	count(part)
	c.want("SET sherd.fragment = ' postgres$1,2 ,0'; "+show, "SET\npostgres$1, 2, 0\nSHOW")
	count("300")
	const hint = ` (SQLSTATE 22023): Database "postgres" has no fragment "%s". Its fragments are postgres$0, ` +
		`postgres$1, postgres$2.`
	for _, wrong := range []string{"postgres$3", "3", "-1", "x", "01", "orders$1"} {
		c.want("SET sherd.fragment = 'postgres$1, "+wrong+"'",
			`invalid value for parameter "sherd.fragment": "postgres$1, `+wrong+`"`+fmt.Sprintf(hint, wrong))
	}
	c.want("SELECT set_config('sherd.fragment', '9', false)",
		`invalid value for parameter "sherd.fragment": "9"`+fmt.Sprintf(hint, "9"))
	c.want("RESET sherd.fragment", "RESET")
	count("300")
	c.want("BEGIN; SET LOCAL sherd.fragment = 'postgres$1'; SELECT count(*) FROM t; COMMIT; SELECT count(*) FROM t",
		"BEGIN\nSET\n"+part+"\nSELECT 1\nCOMMIT\n300\nSELECT 1")
	c.want("BEGIN; SET sherd.fragment = 'postgres$1'; ROLLBACK; SELECT count(*) FROM t",
		"BEGIN\nSET\nROLLBACK\n300\nSELECT 1")

	c.want("ALTER ROLE postgres SET sherd.fragment = 1", "ALTER ROLE")
	w.connect(t).want("SELECT count(*) FROM t; "+show, part+"\nSELECT 1\n1\nSHOW")
	c.want("ALTER ROLE postgres RESET sherd.fragment; ALTER DATABASE postgres SET sherd.fragment = 'elsewhere$0'",
		"ALTER ROLE\nALTER DATABASE")
	d := w.connect(t)
	d.want("SELECT 1", "1\nSELECT 1")
	d.want("SELECT count(*) FROM t",
		`invalid value for parameter "sherd.fragment": "elsewhere$0"`+fmt.Sprintf(hint, "elsewhere$0"))
	d.want("SET sherd.fragment = ''; SELECT count(*) FROM t", "SET\n300\nSELECT 1")
	c.want("ALTER DATABASE postgres RESET sherd.fragment", "ALTER DATABASE")
	s, err := w.server.NewSession(t.Context(), session.StartupParams{
		User: "postgres", Database: "postgres", PID: w.pids.Add(1),
		Settings: map[string]string{"options": "-c sherd.fragment=postgres$1"},
	})
	must(t, err)
	t.Cleanup(s.Close)
	(&client{t: t, w: w, s: s}).want("SELECT count(*) FROM t", part+"\nSELECT 1")
}

// TestReadsOfOneFragment: statements see only the rows of the fragment, however they find them; all
// fragments together have every row once.
func TestReadsOfOneFragment(t *testing.T) {
	w := newWorld(t)
	c, all := w.connect(t), w.connect(t)
	all.want(`CREATE TABLE acc (id text PRIMARY KEY, n int UNIQUE, doc jsonb); CREATE INDEX ON acc ((doc->>'a'));
		CREATE TABLE item (id text PRIMARY KEY, n int, acc text)`, "CREATE TABLE\nCREATE INDEX\nCREATE TABLE")
	all.want("INSERT INTO acc SELECT 'acc/' || i, i, jsonb_build_object('a', i % 10) FROM generate_series(1, 600) i",
		"INSERT 0 600")
	all.want("INSERT INTO item SELECT 'item/' || i || '$acc/' || i % 600 + 1, i, 'acc/' || i % 600 + 1 "+
		"FROM generate_series(1, 900) i", "INSERT 0 900")
	const in = "sherd.fragment('acc', id) = "
	queries := map[string]string{ // by sherd.fragment, and by a condition
		"SELECT count(*), sum(n) " +
			"FROM acc": "SELECT count(*), sum(n) FROM acc WHERE " + in + "$F",
		"SELECT id FROM acc " +
			"ORDER BY id LIMIT 7": "SELECT id FROM acc WHERE " + in + "$F ORDER BY id LIMIT 7",
		"SELECT id FROM acc WHERE n IN (1, 2, 3, 4) " +
			"ORDER BY 1": "SELECT id FROM acc WHERE n IN (1, 2, 3, 4) AND " + in + "$F ORDER BY 1",
		"SELECT n FROM acc " +
			"WHERE id = 'acc/17'": "SELECT n FROM acc WHERE id = 'acc/17' AND " + in + "$F",
		"SELECT count(*) FROM acc WHERE id IN ('acc/1', 'acc/2', 'acc/3')": "SELECT count(*) " +
			"FROM acc WHERE id IN ('acc/1', 'acc/2', 'acc/3') AND " + in + "$F",
		"SELECT count(*) FROM acc WHERE doc->>'a' = '3'": "SELECT count(*) " +
			"FROM acc WHERE doc->>'a' = '3' AND " + in + "$F",
		"SELECT n % 3, count(*) FROM acc GROUP BY 1 " +
			"ORDER BY 1": "SELECT n % 3, count(*) FROM acc WHERE " + in + "$F GROUP BY 1 ORDER BY 1",
		"WITH x AS (SELECT * FROM acc) SELECT count(*) FROM x": "SELECT count(*) " +
			"FROM acc WHERE " + in + "$F",
		"SELECT (SELECT max(n) FROM acc), EXISTS (SELECT " +
			"FROM acc)": "SELECT max(n), count(*) > 0 FROM acc WHERE " + in + "$F",
		"SELECT count(*) FROM acc JOIN item ON item.acc = acc.id": "SELECT count(*) " +
			"FROM acc JOIN item ON item.acc = acc.id WHERE sherd.fragment('acc', acc.id) = $F " +
			"AND sherd.fragment('item', item.id) = $F",
		"SELECT count(*) FROM acc JOIN item ON item.n = acc.n": "SELECT count(*) " +
			"FROM acc JOIN item ON item.n = acc.n WHERE sherd.fragment('acc', acc.id) = $F " +
			"AND sherd.fragment('item', item.id) = $F",
		"SELECT count(*) FROM (SELECT n FROM acc UNION SELECT n FROM item) x": "SELECT count(*) " +
			"FROM (SELECT n FROM acc WHERE " + in +
			"$F UNION SELECT n FROM item WHERE sherd.fragment('item', id) = $F) x",
		"SELECT count(*) FROM acc a, LATERAL (SELECT FROM acc b WHERE b.id = 'acc/' || a.n + 1) x": "SELECT count(*) " +
			"FROM acc a JOIN acc b ON b.n = a.n + 1 WHERE sherd.fragment('acc', a.id) = $F AND sherd.fragment('acc', " +
			"b.id) = $F",
		"COPY (SELECT id FROM acc ORDER BY n) TO STDOUT": "COPY (SELECT id " +
			"FROM acc WHERE " + in + "$F ORDER BY n) TO STDOUT",
	}
	all.want("PREPARE p AS SELECT count(*) FROM acc", "PREPARE")
	c.want("PREPARE p AS SELECT count(*) FROM acc", "PREPARE")
	c.want("EXECUTE p", "600\nSELECT 1")
	seen := map[string]int{}
	for i := range 3 {
		name := fmt.Sprintf("'postgres$%d'", i)
		c.want("SET sherd.fragment = "+name, "SET")
		for restricted, condition := range queries {
			if got, want := c.answer(restricted), all.answer(strings.ReplaceAll(condition, "$F", name)); got != want {
				t.Errorf("%s: %s\ngot:\n%s\nwant:\n%s", name, restricted, got, want)
			}
		}
		c.want("EXECUTE p", all.answer("SELECT count(*) FROM acc WHERE "+in+name))
		rows, _, _ := strings.Cut(c.answer("SELECT id FROM acc"), "\nSELECT ")
		for _, id := range strings.Split(rows, "\n") {
			seen[id]++
		}
		c.want("SELECT count(*) FROM pg_class WHERE relname IN ('acc', 'item')", "2\nSELECT 1")
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("%s was read %d times", id, n)
		}
	}
	if len(seen) != 600 {
		t.Errorf("%d rows were read, want 600", len(seen))
	}
	c.want("SET sherd.fragment = 'postgres$0'; BEGIN; DECLARE k CURSOR FOR SELECT count(*) FROM acc; "+
		"SET sherd.fragment = 'postgres$1'; FETCH ALL FROM k; COMMIT",
		"SET\nBEGIN\nDECLARE CURSOR\nSET\n"+all.one("SELECT count(*) "+
			"FROM acc WHERE "+in+"'postgres$0'")+"\nFETCH 1\nCOMMIT")
}

// TestNoWritesByPartsOfTables: while only a part is read, statements that write or lock by what
// they read are refused. Writes that read nothing are allowed, and reads of the server itself see
// everything.
func TestNoWritesByPartsOfTables(t *testing.T) {
	w := newWorld(t)
	c := w.connect(t)
	c.want("CREATE TABLE p (id int PRIMARY KEY, u int UNIQUE); CREATE TABLE f (id int PRIMARY KEY, p int "+
		"REFERENCES p ON DELETE CASCADE)", "CREATE TABLE\nCREATE TABLE")
	c.want("INSERT INTO p SELECT i, i FROM generate_series(1, 50) i", "INSERT 0 50")
	for i := range 3 {
		c.want(fmt.Sprintf("SET sherd.fragment = %d", i), "SET")
		refused := fmt.Sprintf(`rows cannot be written or locked by what is read in some fragments only (SQLSTATE `+
			`0A000): sherd.fragment is "%d".`, i)
		for _, text := range []string{
			"UPDATE p SET u = 0 WHERE id = 1", "DELETE FROM p", "INSERT INTO f SELECT id, id FROM p",
			"SELECT * FROM p FOR UPDATE", "SELECT * FROM p ORDER BY id LIMIT 1 FOR SHARE",
			"WITH x AS (DELETE FROM f RETURNING id) SELECT * FROM x", "CREATE TABLE copied AS SELECT * FROM p",
			"SELECT * INTO copied FROM p",
			"INSERT INTO f VALUES (1, (SELECT min(id) FROM p))", "EXPLAIN (COSTS OFF) UPDATE p SET u = 0",
		} {
			c.want(text, refused)
		}
		c.want("BEGIN; DECLARE k CURSOR FOR SELECT * FROM p FOR UPDATE", "BEGIN\n"+refused)
		c.want("ROLLBACK", "ROLLBACK")
		for n := 1; n <= 9; n++ { // parents in all fragments
			c.want(fmt.Sprintf("INSERT INTO f VALUES (%d, %d)", 10*i+n, n), "INSERT 0 1")
		}
		if got := c.answer("INSERT INTO f VALUES (99, 99)"); !strings.Contains(got, pgerr.ForeignKeyViolation) {
			t.Error(got)
		}
		if got := c.answer("INSERT INTO p VALUES (60, 7)"); !strings.Contains(got, pgerr.UniqueViolation) {
			t.Error(got)
		}
		c.want("INSERT INTO p VALUES (7, 7) ON CONFLICT DO NOTHING", "INSERT 0 0")
		c.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
	}
	c.want("CREATE INDEX ON f (p); ALTER TABLE f ADD CHECK (p < 10)", "CREATE INDEX\nALTER TABLE")
	c.want("ALTER TABLE f ADD CHECK (p < 9)",
		`check constraint "f_p_check1" of relation "f" is violated by some row (SQLSTATE 23514)`)
	c.want("SET sherd.fragment = ''; SELECT count(*) FROM f WHERE p = 3", "SET\n3\nSELECT 1")
	c.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
}

// TestPartsWhileBucketsMove: sessions that share a snapshot and read one fragment each read every
// row once, even if buckets move between their reads. A new snapshot follows the rows.
func TestPartsWhileBucketsMove(t *testing.T) {
	w := newWorld(t)
	c := w.connect(t)
	c.want("CREATE TABLE acc (id int PRIMARY KEY, n int)", "CREATE TABLE")
	c.want("INSERT INTO acc SELECT i, i FROM generate_series(1, 900) i", "INSERT 0 900")
	exporter := w.connect(t)
	exporter.want("BEGIN ISOLATION LEVEL REPEATABLE READ", "BEGIN")
	id := exporter.one("SELECT pg_export_snapshot()")
	count := func(i int) string {
		t.Helper()
		return c.one(fmt.Sprintf("SELECT count(*) FROM acc WHERE sherd.fragment('acc', id) = 'postgres$%d'", i))
	}
	was := []string{count(0), count(1), count(2)}
	moved := 0
	for i := range 3 {
		r := w.connect(t)
		r.want(fmt.Sprintf("SET sherd.fragment = %d; BEGIN ISOLATION LEVEL REPEATABLE READ; "+
			"SET TRANSACTION SNAPSHOT '%s'", i, id), "SET\nBEGIN\nSET")
		r.want("SELECT count(*) FROM acc", was[i]+"\nSELECT 1")
		c.answer(fmt.Sprintf("SELECT sherd.move_buckets('postgres', 0, 262144, 'postgres$%d', wait => true)", (i+1)%3))
		if count(i) != was[i] {
			moved++
		}
		c.want("UPDATE acc SET n = n + 1 WHERE n % 10 = 3",
			c.one("SELECT 'UPDATE ' || count(*) FROM acc WHERE n % 10 = 3"))
		r.want("SELECT count(*), count(DISTINCT id), count(*) FILTER (WHERE n = id) FROM acc",
			strings.Join([]string{was[i], was[i], was[i]}, "|")+"\nSELECT 1")
		r.want("COMMIT; SELECT count(*) FROM acc", "COMMIT\n"+count(i)+"\nSELECT 1")
	}
	if moved == 0 {
		t.Error("no row has moved")
	}
	exporter.want("SET sherd.fragment = 0; SELECT count(*) FROM acc; COMMIT", "SET\n"+was[0]+"\nSELECT 1\nCOMMIT")
}

// TestPartsOfRangeTables: a part consists of segments. A snapshot that is older than a split does
// not know which fragment had which part of it, so the read is refused.
func TestPartsOfRangeTables(t *testing.T) {
	w := newWorld(t)
	c := w.connect(t)
	c.want("CREATE TABLE r (id int PRIMARY KEY) WITH (shard_by = 'range'); CREATE TABLE h (id int PRIMARY KEY)",
		"CREATE TABLE\nCREATE TABLE")
	c.want("INSERT INTO h SELECT generate_series(1, 300)", "INSERT 0 300")
	for at := 100; at < 900; at += 100 {
		c.reshaped(fmt.Sprintf("split_segment('r', '%d')", at))
	}
	c.want("INSERT INTO r SELECT generate_series(1, 900)", "INSERT 0 900")
	total := 0
	for i := range 3 {
		c.want(fmt.Sprintf("SET sherd.fragment = %d", i), "SET")
		n := 0
		_, err := fmt.Sscan(c.one("SELECT count(*) FROM r"), &n)
		must(t, err)
		c.want("SET sherd.fragment = ''; "+fmt.Sprintf("SELECT count(*) FROM r WHERE sherd.fragment('r', "+
			"id) = 'postgres$%d'", i), fmt.Sprintf("SET\n%d\nSELECT 1", n))
		total += n
	}
	if total != 900 {
		t.Errorf("%d rows were read, want 900", total)
	}
	old := w.connect(t)
	old.want("SET sherd.fragment = 0", "SET")
	old.want("BEGIN ISOLATION LEVEL REPEATABLE READ", "BEGIN")
	n, hashed := old.answer("SELECT count(*) FROM r"), old.answer("SELECT count(*) FROM h")
	old.want("SELECT count(*) FROM r", n)
	c.reshaped("split_segment('r', '150')")
	old.want("SELECT count(*) FROM h", hashed)
	old.want("SELECT count(*) FROM r",
		`the part of table "r" in the fragments of sherd.fragment is not known any more (SQLSTATE 55000): `+
			"Segments were split or merged, or rules for prefixes changed, after the snapshot was taken.")
	c.want("SET sherd.fragment = ''", "SET")
	old.want("ROLLBACK", "ROLLBACK")
	old.want("SELECT count(*) FROM r", c.answer("SELECT count(*) FROM r WHERE sherd.fragment('r', id) = 'postgres$0'"))
}

// TestPartsAndWhatTheServerKeeps: split documents have correct counters and former ids lead to
// documents, wherever the server keeps the data for this.
func TestPartsAndWhatTheServerKeeps(t *testing.T) {
	w := newWorld(t)
	w.runJobs(t)
	c := w.connect(t)
	c.want("CREATE TABLE counters (id text PRIMARY KEY, n bigint NOT NULL DEFAULT 0) WITH (counters = 'n')",
		"CREATE TABLE")
	c.want("INSERT INTO counters SELECT 'counters/' || i, 5 FROM generate_series(1, 20) i", "INSERT 0 20")
	c.want("SELECT sherd.hot_split('counters/7', 16)", "16\nSELECT 1")
	for range 40 {
		c.want("UPDATE counters SET n = n + 1 WHERE id = 'counters/7'", "UPDATE 1")
	}
	c.badPolicy(120)
	c.answer("SELECT sherd.replace_placement('orders')")
	c.ended()
	found, sum := map[string]int{}, 0
	for i := range 3 {
		c.want(fmt.Sprintf("SET sherd.fragment = %d", i), "SET")
		n := 0
		_, err := fmt.Sscan(c.one("SELECT coalesce(sum(n), 0) FROM counters"), &n)
		must(t, err)
		sum += n
		c.want("SET sherd.fragment = ''", "SET")
		for n := 1; n <= 120; n += 17 {
			was := c.one(fmt.Sprintf("SELECT id FROM was WHERE n = %d", n))
			c.want(fmt.Sprintf("SET sherd.fragment = %d", i), "SET")
			if got := c.answer(
				"SELECT doc->>'N' FROM orders WHERE id = '" + was + "'",
			); got == fmt.Sprintf("%d\nSELECT 1", n) {
				found[was]++
			} else if got != "SELECT 0" {
				t.Errorf("%s: %s", was, got)
			}
			c.want("SET sherd.fragment = ''", "SET")
		}
	}
	if sum != 140 {
		t.Errorf("the counters of all fragments are %d, want 140", sum)
	}
	for was, n := range found {
		if n != 1 {
			t.Errorf("%s was found in %d fragments", was, n)
		}
	}
	if len(found) != 8 {
		t.Errorf("%d documents were found by their former ids, want 8", len(found))
	}
}

// TestExplainParts: EXPLAIN shows which fragments are read, and why.
func TestExplainParts(t *testing.T) {
	c := newWorld(t).connect(t)
	c.want("CREATE TABLE orders (id text PRIMARY KEY, n int UNIQUE, doc jsonb)", "CREATE TABLE")
	c.want("SET sherd.fragment = 'postgres$1, postgres$2'", "SET")
	const restricted = "Restricted to: postgres$1, postgres$2  (sherd.fragment)\n"
	c.explains("EXPLAIN (COSTS OFF) SELECT count(*) FROM orders", `Finalize Aggregate
  ->  Gather  (fragments: postgres$1, postgres$2; buckets: [349525,1048576))
        `+restricted+`        ->  Partial Aggregate
              ->  Seq Scan on orders`)
	c.explains("EXPLAIN (COSTS OFF) SELECT * FROM orders WHERE id = 'orders/1-A'", `Gather  (fragments: none)
  Routed by: primary key
  `+restricted+`  ->  Key Lookup on orders
        Key: (id = 'orders/1-A'::text)`)
	c.explains("EXPLAIN (COSTS OFF) SELECT * FROM orders WHERE id = 'orders/1-A$@1048575'", `Gather  (fragments: postgres$2; buckets: 1048575)
  Routed by: primary key
  `+restricted+`  ->  Key Lookup on orders
        Key: (id = 'orders/1-A$@1048575'::text)`)
	c.explains("EXPLAIN (COSTS OFF) SELECT * FROM orders WHERE n = 7", `Gather  (fragments: by the row, of 2)
  Routed by: global index orders_n_key  (fragments: postgres$2; buckets: 943019)
  `+restricted+`  ->  Index Scan using orders_n_key on orders
        Index Cond: (n = 7)`)
	c.explains("EXPLAIN (COSTS OFF) SELECT * FROM orders a, LATERAL (SELECT * FROM orders b WHERE b.id = a.doc->>'x' LIMIT 9) x", `Nested Loop
  ->  Gather  (fragments: postgres$1, postgres$2; buckets: [349525,1048576))
        `+restricted+`        ->  Seq Scan on orders a
  ->  Limit
        ->  Gather  (fragments: by the row, of 2)
              Routed by: primary key
              Batched by: a.doc
              `+restricted+`              ->  Limit
                    ->  Key Lookup on orders b
                          Key: (id = (a.doc ->> 'x'::text))`)
	c.explains("EXPLAIN (COSTS OFF) INSERT INTO orders VALUES ('orders/1-A', 1, '{}')", `Insert on orders
  ->  Values Scan on "*VALUES*"`)
	if got := c.answer("EXPLAIN ANALYZE SELECT FROM orders"); !strings.Contains(got, restricted) ||
		strings.Contains(got, "postgres$0") {
		t.Error(got)
	}
}

// TestPartSetsNothing: a sequence cannot be set by what is read in some fragments only.
func TestPartSetsNothing(t *testing.T) {
	w := newWorld(t)
	c := w.connect(t)
	c.want("CREATE SEQUENCE s; CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t SELECT generate_series(1, 300)",
		"CREATE SEQUENCE\nCREATE TABLE\nINSERT 0 300")
	c.want("SET sherd.fragment = 'postgres$1'", "SET")
	for _, text := range []string{
		"SELECT setval('s', (SELECT max(id) FROM t))", "SELECT setval('s', max(id), true) FROM t",
		"WITH x AS (SELECT setval('s', max(id)) FROM t) SELECT * FROM x",
		"SELECT (SELECT setval('s', max(id)) FROM t)", "SELECT * FROM (SELECT setval('s', max(id)) FROM t) x",
		"SELECT * FROM setval('s', (SELECT max(id) FROM t))", "SELECT 1 UNION ALL SELECT setval('s', max(id)) FROM t",
		"SELECT 1 WHERE EXISTS (SELECT 1 FROM t HAVING setval('s', max(id)) > 0)",
	} {
		if got := c.answer(text); !strings.Contains(got, "SQLSTATE 0A000") {
			t.Errorf("%s\n%s", text, got)
		}
	}
	c.want("SELECT setval('s', 7)", "7\nSELECT 1")
	c.want("SET sherd.fragment = ''; SELECT setval('s', (SELECT max(id) FROM t))", "SET\n300\nSELECT 1")
}
