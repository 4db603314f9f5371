package sql_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
)

// Range tables in SQL: what is asked of a range of the key goes to the segments that hold it, and to no other.
func TestRangeTables(t *testing.T) {
	w := newWorld(t)
	a := w.connect(t)
	a.want("CREATE TABLE r (id int PRIMARY KEY, v text) WITH (shard_by = 'range', shard_splits = '100, 200,300')", "CREATE TABLE")
	a.want("INSERT INTO r SELECT g, 'v' || g FROM generate_series(1, 400) g", "INSERT 0 400")
	a.want("SELECT lower, upper, fragment FROM sherd.segments ORDER BY bucket",
		"null|100|postgres$0\n100|200|postgres$0\n200|300|postgres$1\n300|null|postgres$2\nSELECT 4")
	a.want("SELECT segment FROM sherd.segments WHERE lower IS NULL", "-00000064\nSELECT 1")
	a.want("EXPLAIN (COSTS OFF) SELECT * FROM r WHERE id = 150",
		"Gather  (fragments: postgres$0; segments: 00000064-000000c8)\n  Routed by: primary key\n  ->  Key Lookup on r\n        Key: (id = 150)\nEXPLAIN")
	a.want("EXPLAIN (COSTS OFF) SELECT * FROM r WHERE id BETWEEN 150 AND 250",
		"Gather  (fragments: postgres$0, postgres$1; segments: 00000064-000000c8, 000000c8-0000012c)\n  Routed by: key range\n  ->  Key Range Scan on r\n        Filter: ((id >= 150) AND (id <= 250))\nEXPLAIN")
	a.want("SELECT count(*), min(id), max(id) FROM r WHERE id BETWEEN 150 AND 250", "101|150|250\nSELECT 1")
	a.want("SELECT id FROM r WHERE id > 298 ORDER BY id LIMIT 3", "299\n300\n301\nSELECT 3")
	a.want("SELECT id FROM r WHERE id < 202 ORDER BY id DESC LIMIT 3", "201\n200\n199\nSELECT 3")
	a.want("INSERT INTO r VALUES (250, 'x') ON CONFLICT (id) DO UPDATE SET v = 'x'", "INSERT 0 1")
	a.want("INSERT INTO r VALUES (250, 'x')", `duplicate key value violates unique constraint "r_pkey" (SQLSTATE 23505): Key (id)=(250) already exists.`)
	a.want("UPDATE r SET id = id + 1000 WHERE id <= 10", "UPDATE 10")
	a.want("SELECT count(*), min(id), max(id), count(DISTINCT id) FROM r", "400|11|1010|400\nSELECT 1")
	a.want("CREATE TABLE child (k int PRIMARY KEY, r int REFERENCES r)", "CREATE TABLE")
	a.want("INSERT INTO child VALUES (1, 1005)", "INSERT 0 1")
	a.want("INSERT INTO child VALUES (2, 5)", `insert or update on table "child" violates foreign key constraint "child_r_fkey" (SQLSTATE 23503): Key (r)=(5) is not present in table "r".`)
	a.want("SELECT r.id FROM r JOIN child ON child.k = r.id - 1004", "1005\nSELECT 1")
	a.want("SELECT a.id FROM r a JOIN r b USING (id) WHERE a.id BETWEEN 99 AND 101 ORDER BY 1", "99\n100\n101\nSELECT 3")
	a.want("DELETE FROM child", "DELETE 1")
	a.want("DELETE FROM r WHERE id > 1000", "DELETE 10")
	a.want("SELECT reloptions FROM pg_class WHERE relname = 'r'", "{shard_by=range,\"shard_splits={100,200,300}\"}\nSELECT 1")
	a.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")

	a.want("CREATE TABLE docs (id text PRIMARY KEY, doc jsonb) WITH (shard_by = range, shard_splits = '{orders/5}')", "CREATE TABLE")
	a.want("INSERT INTO docs VALUES ('orders/', '{}'), ('orders/7$x', '{}'), ('users/1', '{}')", "INSERT 0 3")
	a.want("SELECT id FROM docs WHERE id LIKE 'orders/%' ORDER BY id", "orders/1-A\norders/7$x\nSELECT 2")
	a.want("SELECT count(*) FROM docs WHERE id LIKE 'orders/_-A'", "1\nSELECT 1")
	a.want("PREPARE begins AS SELECT count(*) FROM docs WHERE id ^@ $1; EXECUTE begins ('orders/'); EXECUTE begins ('orders/7'); EXECUTE begins (''); EXECUTE begins (NULL)",
		"PREPARE\n2\nSELECT 1\n1\nSELECT 1\n3\nSELECT 1\n0\nSELECT 1")
	if got := a.answer("EXPLAIN EXECUTE begins ('orders/7')"); segmentsRead(got) != "1" {
		t.Errorf("more than a segment is read: %s", got)
	}
	a.want("PREPARE alike AS SELECT count(*) FROM docs WHERE id LIKE $1", "PREPARE")
	for _, x := range []struct{ pattern, rows, segments string }{
		{"'orders/%'", "2", "all"}, {"'orders/7%'", "1", "1"}, {"'orders/7$x'", "1", "1"}, {"'users/_'", "1", "1"}, {"'%'", "3", "all"}, {"'_sers/1'", "1", "all"}, {"''", "0", "all"},
		{`E'orders/\\7%'`, "1", "all"}, {`E'users/\\%'`, "0", "1"}, {"NULL", "0", "0"},
	} {
		a.want("EXECUTE alike ("+x.pattern+")", x.rows+"\nSELECT 1")
		if got := a.answer("EXPLAIN EXECUTE alike (" + x.pattern + ")"); segmentsRead(got) != x.segments {
			t.Errorf("LIKE %s reads other segments than %s: %s", x.pattern, x.segments, got)
		}
	}

	a.want("CREATE TABLE c (a int, b text, n int, PRIMARY KEY (a, b)) WITH (shard_by = 'range', shard_splits = '1/m, 2')", "CREATE TABLE")
	a.want("INSERT INTO c SELECT i % 3, chr(97 + i % 26) || i, i FROM generate_series(1, 300) i", "INSERT 0 300")
	a.want("SELECT count(*) FROM c WHERE a = 1 AND b > 'm'", "52\nSELECT 1")
	a.want("SELECT count(*) FROM c WHERE a IN (0, 2)", "200\nSELECT 1")
	a.want("SELECT count(*) FROM c WHERE (a, b) >= (1, 'm')", "152\nSELECT 1")
	a.want("SELECT count(*) FROM c WHERE (a, b) >= (1, 'm') AND (a, b, n) < (2, 'a', 1)", "52\nSELECT 1")
	for cond, want := range map[string]string{
		"(a, b) >= (1, 'm')": "2", "(a, b) < (1, 'm')": "1", "(a, b) <= (1, 'm')": "2", "(a, b) >= (1, 'm') AND (a, b) <= (1, 'z')": "1", "(a, b) > (2, 'a')": "1",
		"(a, n) > (2, 7)": "1", "a = 1 AND (b, n) > ('n', 7)": "1", "(n, a) > (7, 2)": "all", "(a, b) > (null, 'a')": "0", "(a, b) > (1, null)": "1", "(a, b) < (1, null)": "1",
	} {
		if got := a.answer("EXPLAIN (COSTS OFF) SELECT * FROM c WHERE " + cond); segmentsRead(got) != want {
			t.Errorf("%s reads other than %s segments: %s", cond, want, got)
		}
	}
	a.want("SELECT lower FROM sherd.segments WHERE collection = 'c'::regclass ORDER BY bucket", "null\n1/m\n2\nSELECT 3")

	a.want("ALTER TABLE c DROP CONSTRAINT c_pkey", "ALTER TABLE")
	a.want("SELECT count(*) FROM sherd.segments WHERE collection = 'c'::regclass", "0\nSELECT 1")
	a.want("ALTER TABLE c ADD PRIMARY KEY (a, b)", "ALTER TABLE")
	a.want("SELECT lower FROM sherd.segments WHERE collection = 'c'::regclass ORDER BY bucket", "null\n1/m\n2\nSELECT 3")
	a.want("ALTER TABLE c RESET (shard_by)", "ALTER TABLE")
	a.want("SELECT count(*), sum(n) FROM c", "300|45150\nSELECT 1")
	a.want("SELECT count(*) FROM sherd.segments WHERE collection = 'c'::regclass", "0\nSELECT 1")
	a.want("ALTER TABLE c SET (shard_by = 'range', shard_splits = '{1/x}')", "ALTER TABLE")
	a.want("SELECT count(*), sum(n) FROM c", "300|45150\nSELECT 1")
	a.want("ALTER TABLE c ALTER COLUMN a TYPE text",
		`changing the primary key of range table "c" is not supported (SQLSTATE 0A000)`)
	a.want("CREATE TABLE bad (x int PRIMARY KEY) WITH (shard_splits = '1')", `option "shard_splits" needs shard_by = 'range' (SQLSTATE 22023)`)
	a.want("CREATE TABLE bad (x int PRIMARY KEY) WITH (shard_by = 'range', shard_range = 10)",
		`option "shard_range" has no meaning with shard_by = 'range' (SQLSTATE 22023)`)
	a.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
	a.want("DROP TABLE c, docs", "DROP TABLE")
	a.want("BEGIN", "BEGIN")
	a.want("CREATE TABLE c (a int PRIMARY KEY) WITH (shard_by = 'range', shard_splits = '5')", "CREATE TABLE")
	a.want("INSERT INTO c SELECT generate_series(1, 10)", "INSERT 0 10")
	a.want("SELECT count(*) FROM c WHERE a >= 5", "6\nSELECT 1")
	a.want("COMMIT", "COMMIT")
	a.want("SELECT count(*) FROM c WHERE a >= 5", "6\nSELECT 1")
}

// Random ranges of a range table, against a table that is hashed.
func TestRangesAgainstHashes(t *testing.T) {
	w := newWorld(t)
	a := w.connect(t)
	a.want("CREATE TABLE r (a int, b text, n int, PRIMARY KEY (a, b)) WITH (shard_by = 'range', shard_splits = '2,3/k,5,7/c')", "CREATE TABLE")
	a.want("CREATE TABLE h (a int, b text, n int, PRIMARY KEY (a, b))", "CREATE TABLE")
	a.want("INSERT INTO h SELECT i % 9, chr(97 + i * 7 % 26) || i, i FROM generate_series(1, 500) i", "INSERT 0 500")
	a.want("INSERT INTO r SELECT * FROM h", "INSERT 0 500")
	rnd := rand.New(rand.NewPCG(7, 11))
	for range 200 {
		cond := randomRange(rnd)
		want := a.answer("SELECT a, b, n FROM h WHERE " + cond + " ORDER BY a, b")
		if got := a.answer("SELECT a, b, n FROM r WHERE " + cond + " ORDER BY a, b"); got != want {
			t.Fatalf("%s:\n%s\nwant\n%s", cond, got, want)
		}
	}
}

// Segments are split and merged while snapshots are open, and what random ranges give stays the same.
func TestSplitAndMerge(t *testing.T) {
	w := newWorld(t)
	a, old := w.connect(t), w.connect(t)
	a.want("CREATE TABLE r (a int, b text, n int UNIQUE, PRIMARY KEY (a, b)) WITH (shard_by = 'range')", "CREATE TABLE")
	a.want("CREATE INDEX ON r (n, b)", "CREATE INDEX")
	a.want("CREATE TABLE h (a int, b text, n int, PRIMARY KEY (a, b))", "CREATE TABLE")
	a.reshaped("split_segment('r', '4')") // of an empty table
	a.want("INSERT INTO h SELECT i % 9, chr(97 + i * 7 % 26) || i, i FROM generate_series(1, 300) i", "INSERT 0 300")
	a.want("INSERT INTO r SELECT * FROM h", "INSERT 0 300")
	a.want("SELECT sherd.split_segment('h', '4')", `table "h" has no segments (SQLSTATE 42809)`)
	a.want("SELECT sherd.split_segment('r', '4')", `a segment begins at "4" already (SQLSTATE 42710)`)
	a.want("SELECT sherd.split_segment('r', 'x')", `invalid input syntax for type integer: "x" (SQLSTATE 22P02): "x" is read as column "a" of the primary key, where a segment is to begin.`)
	a.want("SELECT sherd.merge_segments('r', '5')", `no two segments meet at "5" (SQLSTATE 42704)`)
	for table, before := range map[string]string{"r": "ALTER TABLE r ADD COLUMN more int", "made": "CREATE TABLE made (a int PRIMARY KEY) WITH (shard_by = 'range')"} {
		a.answer("BEGIN; " + before)
		a.want("SELECT sherd.split_segment('"+table+"', '6')", "sherd.split_segment() of a table that the transaction has made or changed is not supported (SQLSTATE 0A000)")
		a.want("ROLLBACK", "ROLLBACK")
	}
	a.want("SELECT sherd.move_segment('r', '5', 'nowhere$1')", `fragment "nowhere$1" of database "postgres" does not exist (SQLSTATE 42704)`)
	old.want("BEGIN ISOLATION LEVEL REPEATABLE READ", "BEGIN")
	old.want("SELECT count(*) FROM h", "300\nSELECT 1")
	rnd := rand.New(rand.NewPCG(3, 5))
	same := func() {
		t.Helper()
		for range 12 {
			cond := randomRange(rnd)
			want := a.answer("SELECT a, b, n FROM h WHERE " + cond + " ORDER BY a, b")
			if got := a.answer("SELECT a, b, n FROM r WHERE " + cond + " ORDER BY a, b"); got != want {
				t.Fatalf("%s:\n%s\nwant\n%s", cond, got, want)
			}
		}
		a.want("SELECT count(*), sum(n), count(DISTINCT n) FROM r WHERE n > 0", "300|45150|300\nSELECT 1")
	}
	same()
	for _, at := range []string{"2", "2/k", "7/c", "8"} {
		a.reshaped("split_segment('r', '" + at + "')")
		same()
	}
	a.want("SELECT string_agg(lower, ' ' ORDER BY lower) FROM sherd.segments", "2 2/k 4 7/c 8\nSELECT 1")
	a.want("SELECT count(DISTINCT fragment) FROM sherd.segments", "3\nSELECT 1")
	old.want("SELECT count(*), sum(n), count(DISTINCT n) FROM r WHERE n > 0", "300|45150|300\nSELECT 1") // the new segments have the past too
	old.want("SELECT count(*) FROM r WHERE a = 2 AND b > 'k'", a.answer("SELECT count(*) FROM h WHERE a = 2 AND b > 'k'"))
	old.want("COMMIT", "COMMIT")
	for _, at := range []string{"2/k", "4", "8"} {
		a.reshaped("merge_segments('r', '" + at + "')")
		same()
	}
	a.want("SELECT count(*) FROM sherd.segments", "3\nSELECT 1")
	a.want("BEGIN", "BEGIN")
	a.reshaped("split_segment('r', '5')")
	a.want("SELECT count(*) FROM r", "300\nSELECT 1")
	a.want("ROLLBACK", "ROLLBACK")
	same()
	a.want("SELECT count(*) FROM sherd.segments", "4\nSELECT 1") // as all moves, it is no part of the transaction
	a.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
}

// Segments move between fragments while their table is written to, and every row is where it should be.
func TestSegmentsMove(t *testing.T) {
	w := newWorld(t)
	a := w.connect(t)
	a.want("CREATE TABLE r (id int PRIMARY KEY, n int) WITH (shard_by = 'range', shard_splits = '100,200')", "CREATE TABLE")
	a.want("INSERT INTO r SELECT g, g FROM generate_series(1, 300) g", "INSERT 0 300")
	d := w.cfg.Catalog.View().Database(catalog.PostgresDB)
	m := &mover{w: w}
	for i, r := range d.Map.Ranges() {
		if r.Lo < shardmap.BucketCount {
			continue
		}
		target := d.Fragments[i%len(d.Fragments)].ID
		if target == r.Fragment {
			target = d.Fragments[(i+1)%len(d.Fragments)].ID
		}
		moved, err := m.move(t.Context(), r.Interval, r.Fragment, target)
		if err != nil || !moved {
			t.Fatalf("segment %v is not moved: %v", r.Interval, err)
		}
		a.want("UPDATE r SET n = n + 1 WHERE id BETWEEN 90 AND 210", "UPDATE 121")
		a.want("SELECT count(*), sum(id) FROM r", "300|45150\nSELECT 1")
	}
	a.want("SELECT sum(n) FROM r WHERE id >= 100 AND id < 201", "15453\nSELECT 1")
	a.want("SELECT id FROM r WHERE id > 198 ORDER BY id LIMIT 3", "199\n200\n201\nSELECT 3")
	a.reshaped("split_segment('r', '150')")
	a.want("SELECT count(*), sum(id) FROM r", "300|45150\nSELECT 1")
	a.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
}

// randomRange is a condition on the key of r and h.
func randomRange(r *rand.Rand) string {
	a := func() int { return r.IntN(10) }
	b := func() string { return fmt.Sprintf("'%c%d'", 'a'+rune(r.IntN(26)), r.IntN(500)) }
	op := func() string { return []string{"<", "<=", ">", ">=", "="}[r.IntN(5)] }
	order := func() string { return []string{"<", "<=", ">", ">="}[r.IntN(4)] }
	row := func() string {
		return []string{
			fmt.Sprintf("(a, b) %s (%d, %s)", order(), a(), b()), fmt.Sprintf("(%d, %s) %s (a, b)", a(), b(), order()),
			fmt.Sprintf("(a, b, n) %s (%d, %s, %d)", order(), a(), b(), r.IntN(500)), fmt.Sprintf("(a, n) %s (%d, %d)", order(), a(), r.IntN(500)),
			fmt.Sprintf("(a, b) %s (%d, null)", order(), a()), fmt.Sprintf("(n, a) %s (%d, %d)", order(), r.IntN(500), a()),
			fmt.Sprintf("(b, n) %s (%s, %d)", order(), b(), r.IntN(500)), fmt.Sprintf("(a, b) %s (null, %s)", order(), b()),
		}[r.IntN(8)]
	}
	switch r.IntN(10) {
	case 7:
		return row()
	case 8:
		return row() + " AND " + row()
	case 9:
		return fmt.Sprintf("a = %d AND %s", a(), row())
	case 0:
		return fmt.Sprintf("a %s %d", op(), a())
	case 1:
		return fmt.Sprintf("a BETWEEN %d AND %d", a(), a())
	case 2:
		return fmt.Sprintf("a = %d AND b %s %s", a(), op(), b())
	case 3:
		return fmt.Sprintf("a IN (%d, %d) AND b >= %s AND b < %s", a(), a(), b(), b())
	case 4:
		return fmt.Sprintf("a = %d AND b LIKE '%c%%'", a(), 'a'+rune(r.IntN(26)))
	case 5:
		return fmt.Sprintf("(a, b) = (%d, %s) OR a = %d", a(), b(), a())
	}
	return fmt.Sprintf("a > %d AND b LIKE '%c_%%' AND a <= %d", a(), 'a'+rune(r.IntN(26)), a())
}

// reshaped has a function split or merge segments. It gives notices of how far it is where it takes long.
func (c *client) reshaped(call string) {
	c.t.Helper()
	if got := c.answer("SELECT sherd." + call); !reshapes(got) {
		c.t.Errorf("%s: %s", call, got)
	}
}

func reshapes(answer string) bool { return strings.HasSuffix(answer, "\nSELECT 1") }

// segmentsRead counts the segments that an explained statement reads; "all" of all.
func segmentsRead(explained string) string {
	_, list, _ := strings.Cut(explained, "segments: ")
	list, _, _ = strings.Cut(list, ")")
	if list == "all" || list == "" {
		return cmp.Or(list, "0")
	}
	return fmt.Sprint(len(strings.Split(list, ", ")))
}
