package sql_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sherddb/sherd/sql"
)

// quarter is as many buckets as a quarter of those of a database.
const quarter = "262144"

// TestMoveBuckets moves a quarter of a database to another fragment and back.
func TestMoveBuckets(t *testing.T) {
	w := newWorld(t)
	c := w.connect(t)
	c.want(`CREATE TABLE acc (id text PRIMARY KEY, n int, doc jsonb, UNIQUE (n)); CREATE INDEX acc_doc ON acc ((doc->>'a'))`, "CREATE TABLE\nCREATE INDEX")
	c.want(`INSERT INTO acc SELECT 'acc/' || i, i, jsonb_build_object('a', i % 10) FROM generate_series(1, 3000) i`, "INSERT 0 3000")
	const all = "SELECT count(*), sum(n), count(*) FILTER (WHERE doc->>'a' = '3') FROM acc"
	same := func() {
		t.Helper()
		c.want(all, "3000|4501500|300\nSELECT 1")
		c.want("SELECT n FROM acc WHERE id = 'acc/17'", "17\nSELECT 1")
		c.want("SELECT id FROM acc WHERE n = 2999", "acc/2999\nSELECT 1")
		c.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
	}
	same()
	c.answer("SELECT sherd.move_buckets('postgres', 0, " + quarter + ", 'postgres$2', wait => true)")
	c.want("SELECT string_agg(DISTINCT fragment, ',') FROM sherd.bucket_map WHERE end_bucket <= "+quarter, "postgres$2\nSELECT 1")
	same()
	c.want("UPDATE acc SET n = -n WHERE id = 'acc/17'", "UPDATE 1")
	c.want("UPDATE acc SET n = -n WHERE id = 'acc/17'", "UPDATE 1")
	c.answer("SELECT sherd.move_buckets('postgres', 0, " + quarter + ", 'postgres$0', wait => true, why => 'back')")
	same()
	c.want("SELECT target, outcome, first_bucket, end_bucket, who, why, documents > 0, bytes > 0, blocked_ms > 0 FROM sherd.move_history ORDER BY id",
		"postgres$2|done|0|262144|postgres|null|t|t|t\npostgres$0|done|0|262144|postgres|back|t|t|t\nSELECT 2")
	c.want("SELECT count(*) FROM sherd.moves", "0\nSELECT 1")
}

// TestMoveFilledIndex: the entries of an index that was filled after its rows were written are younger than these. When a bucket comes back, what it had left
// behind hides none that it has now, nor in a snapshot of before.
func TestMoveFilledIndex(t *testing.T) {
	w := newWorld(t)
	c, old := w.connect(t), w.connect(t)
	c.want("CREATE TABLE acc (id text PRIMARY KEY, n int, doc jsonb)", "CREATE TABLE")
	c.want(`INSERT INTO acc SELECT 'acc/' || i, i % 50, '{}' FROM generate_series(1, 2000) i`, "INSERT 0 2000")
	c.want("CREATE INDEX ON acc (n)", "CREATE INDEX")
	c.want("CREATE UNIQUE INDEX ON acc (id, n)", "CREATE INDEX")
	c.want("CREATE INDEX twice ON acc ((n * 2)) WHERE n < 200", "CREATE INDEX")
	c.want("CREATE UNIQUE INDEX ON acc (id, lower(id))", "CREATE INDEX")
	if got := c.answer("EXPLAIN SELECT * FROM acc WHERE n * 2 = 6 AND n < 200"); !strings.Contains(got, "Index Scan using twice") {
		t.Errorf("not by the index of an expression: %s", got)
	}
	c.want("UPDATE acc SET n = 60 WHERE n = 7", "UPDATE 40")
	old.want("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM acc WHERE n = 60", "BEGIN\n40\nSELECT 1")
	c.want("UPDATE acc SET n = 7 WHERE n = 60", "UPDATE 40")
	for range 2 {
		c.answer("SELECT sherd.move_buckets('postgres', 0, " + quarter + ", 'postgres$2', wait => true)")
		c.want("UPDATE acc SET n = n + 100 WHERE n IN (8, 9)", "UPDATE 80")
		c.answer("SELECT sherd.move_buckets('postgres', 0, " + quarter + ", 'postgres$0', wait => true)")
		c.want("SELECT count(*) FROM acc WHERE n = 3", "40\nSELECT 1")
		c.want("SELECT count(*) FROM acc WHERE n = 7", "40\nSELECT 1")
		c.want("SELECT count(*) FROM acc WHERE n * 2 = 6 AND n < 200", "40\nSELECT 1")
		c.want("SELECT count(*), count(DISTINCT id) FROM acc WHERE n * 2 BETWEEN 14 AND 240 AND n < 200", "1720|1720\nSELECT 1")
		c.want("SELECT count(*) FROM acc WHERE n * 2 = 216 AND n < 200", "40\nSELECT 1")
		c.want("UPDATE acc SET n = n - 100 WHERE n IN (108, 109)", "UPDATE 80")
		old.want("SELECT count(*) FROM acc WHERE n = 60", "40\nSELECT 1")
		old.want("SELECT count(*) FROM acc WHERE n = 3", "40\nSELECT 1")
		old.want("SELECT count(*) FROM acc WHERE n * 2 = 120 AND n < 200", "40\nSELECT 1")
		c.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
	}
	old.want("COMMIT", "COMMIT")
}

// TestMoveBeneathFill: an index that was filled in a transaction lacks the entries of what has moved before its commit, which therefore fails. Alone, the
// statement is run again.
func TestMoveBeneathFill(t *testing.T) {
	w := newWorld(t)
	c, mover := w.connect(t), w.connect(t)
	c.want("CREATE TABLE acc (id text NOT NULL, n int NOT NULL)", "CREATE TABLE")
	c.want("INSERT INTO acc SELECT 'acc/' || i, i FROM generate_series(1, 1000) i", "INSERT 0 1000")
	at := 0
	move := func() {
		t.Helper()
		at = 2 - at
		if got := mover.answer(fmt.Sprintf("SELECT sherd.move_buckets('postgres', 0, %s, 'postgres$%d', wait => true) > 0", quarter, at)); !strings.HasSuffix(got, "t\nSELECT 1") {
			t.Errorf("move to %d: %s", at, got)
		}
	}
	const refused = "could not serialize access: rows have moved to another fragment (SQLSTATE 40001): An index was filled in this transaction before they moved."
	for _, statement := range []string{"CREATE INDEX filled ON acc (n)", "CREATE UNIQUE INDEX filled ON acc (n, id)", "ALTER TABLE acc ADD CONSTRAINT filled UNIQUE (n)"} {
		for _, end := range []string{"COMMIT", "PREPARE TRANSACTION 'filling'"} {
			c.want("BEGIN", "BEGIN")
			c.answer(statement)
			move()
			c.want(end, refused)
			c.want("SELECT count(*) FROM pg_class WHERE relname = 'filled'", "0\nSELECT 1")
		}
	}
	c.want("BEGIN; CREATE TABLE made (id text PRIMARY KEY, n int); CREATE INDEX ON made (n); INSERT INTO made VALUES ('a', 1)", "BEGIN\nCREATE TABLE\nCREATE INDEX\nINSERT 0 1")
	c.want("COMMIT", "COMMIT")
	c.want("BEGIN; CREATE TABLE told (id text PRIMARY KEY, n int UNIQUE); INSERT INTO told SELECT 't/' || i, i FROM generate_series(1, 200) i", "BEGIN\nCREATE TABLE\nINSERT 0 200")
	c.want("SELECT count(*) FROM told a WHERE n IN (SELECT n FROM told)", "200\nSELECT 1")
	c.want("COMMIT; SELECT id FROM told WHERE n = 77", "COMMIT\nt/77\nSELECT 1")
	c.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0") // entries whose buckets have arrived, by definitions that the fragments did not know
	var over atomic.Bool
	var done sync.WaitGroup
	done.Go(func() {
		for !over.Load() && !t.Failed() {
			move()
		}
	})
	for i := range 4 {
		c.want(fmt.Sprintf("ALTER TABLE acc ADD CONSTRAINT u%d UNIQUE (n)", i), "ALTER TABLE")
		c.want(fmt.Sprintf("CREATE INDEX i%d ON acc (n, id)", i), "CREATE INDEX")
		c.want("SELECT count(*) FROM acc WHERE n BETWEEN 1 AND 100", "100\nSELECT 1")
		c.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
		c.want(fmt.Sprintf("ALTER TABLE acc DROP CONSTRAINT u%d; DROP INDEX i%d", i, i), "ALTER TABLE\nDROP INDEX")
	}
	over.Store(true)
	done.Wait()
}

// TestTopologyRefusals is who may change where buckets lie, and what is said where it cannot be.
func TestTopologyRefusals(t *testing.T) {
	w := newWorld(t)
	c := w.connect(t)
	c.want("CREATE ROLE topo_bob LOGIN", "CREATE ROLE")
	bob := w.connectAs(t, "topo_bob", sql.Handle{})
	for _, call := range []string{
		"move_buckets('postgres', 0, 1, 'postgres$1')", "move_anchor('a/1', 'postgres$1')", "isolate_anchor('a/1')",
		"add_fragment('postgres')", "remove_fragment('postgres$0')", "split_range('postgres', 7)", "merge_ranges('postgres', 7)",
		"pin('postgres', 0, 1, 'postgres$0')", "unpin('postgres', 0, 1)", "pause_move(1)", "resume_move(1)", "cancel_move(1)",
	} {
		name, _, _ := strings.Cut(call, "(")
		bob.want("SELECT sherd."+call, "permission denied for function "+name+" (SQLSTATE 42501)")
	}
	for _, x := range [][2]string{
		{"move_buckets('nowhere', 0, 1, 'postgres$1')", `database "nowhere" does not exist (SQLSTATE 3D000)`},
		{"move_buckets('postgres', 0, 1, 'postgres$9')", `fragment "postgres$9" of database "postgres" does not exist (SQLSTATE 42704)`},
		{"move_buckets('postgres', 5, 5, 'postgres$1')", "there are no buckets from 5 to before 5 (SQLSTATE 22023)"},
		{"move_buckets('postgres', -5, 5, 'postgres$1')", "there are no buckets from -5 to before 5 (SQLSTATE 22023)"},
		{"move_buckets('postgres', 0, 1, 'postgres$0')", `bucket 0 is in fragment "postgres$0" already (SQLSTATE 55000)`},
		{"remove_fragment('postgres')", `fragment "postgres" does not exist (SQLSTATE 42704)`},
		{"merge_ranges('postgres', 7)", "no ranges meet at bucket 7 (SQLSTATE 22023)"},
		{"pin('postgres', 0, 9, 'postgres$2')", `buckets [0,9) are not in fragment "postgres$2" (SQLSTATE 55000)`},
		{"unpin('postgres', 0, 9)", "no buckets of [0,9) are pinned (SQLSTATE 42704)"},
		{"cancel_move(999)", "move 999 does not exist (SQLSTATE 42704)"},
	} {
		c.want("SELECT sherd."+x[0], x[1])
	}
	c.want("CREATE TABLE t (id text PRIMARY KEY, doc jsonb)", "CREATE TABLE")
	c.want("SELECT sherd.pin('postgres', 0, 9, 'postgres$0', why => 'stays')", "\nSELECT 1")
	c.want("SELECT * FROM sherd.pins", "0|9|postgres$0|{}\nSELECT 1")
	c.want("SELECT sherd.move_buckets('postgres', 0, 20, 'postgres$1')", `buckets [0,9) are pinned to fragment "postgres$0" (SQLSTATE 55006)`)
	c.want("SELECT sherd.split_range('postgres', 100)", "\nSELECT 1")
	c.want("SELECT count(*) FROM sherd.bucket_map", "4\nSELECT 1")
	c.want("SELECT sherd.merge_ranges('postgres', 100)", "\nSELECT 1")
	c.want("SELECT sherd.unpin('postgres', 0, 9)", "\nSELECT 1")
	c.want("SELECT kind, database, subject, change, who, why FROM sherd.changelog ORDER BY at",
		"pin|postgres|[0,9)|pinned to postgres$0|postgres|stays\nrange|postgres|100|split|postgres|null\nrange|postgres|100|merged|postgres|null\n"+
			"pin|postgres|[0,9)|unpinned|postgres|null\nSELECT 4")
	c.want("SELECT pg_get_function_arguments('sherd.pause_move'::regproc)", "move bigint, why text DEFAULT ''::text\nSELECT 1")
	c.want("SELECT sherd.pin_anchors('t', '{a/1}', sherd.fragment('t', 'a/1'))", "0\nSELECT 1")
	if got := c.answer("SELECT sherd.isolate_anchor('a/1')"); !strings.Contains(got, "is pinned to fragment") {
		t.Error(got)
	}
	c.want("SELECT count(*) FROM sherd.fragments", "3\nSELECT 1") // none is left without anything in it
}
