package sql_test

import (
	"strings"
	"testing"
	"time"
)

// TestSplitUnderOlderDefinitions: transactions and statements that began before a split see all
// rows, or get 40001. None misses rows, and none writes where no reader looks.
func TestSplitUnderOlderDefinitions(t *testing.T) {
	const late = "(SQLSTATE 40001)"
	for _, level := range []string{"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"} {
		t.Run(level, func(t *testing.T) {
			w := newWorld(t)
			c := w.connect(t)
			c.want("CREATE TABLE r (id int PRIMARY KEY, n int, k int UNIQUE) WITH (shard_by = 'range', "+
				"shard_splits = '200')", "CREATE TABLE")
			c.want("CREATE INDEX r_n ON r (n)", "CREATE INDEX")
			c.want("INSERT INTO r SELECT i, i % 10, -i FROM generate_series(1, 300) i", "INSERT 0 300")
			const all = "SELECT count(*), count(DISTINCT id), sum(id), sum(k) FROM r"
			begin := func() *client {
				x := w.another().connect(t)
				x.want("BEGIN ISOLATION LEVEL "+level, "BEGIN")
				x.want("SELECT id FROM r WHERE id = 150", "150\nSELECT 1")
				return x
			}
			reader, writer, wide, lost, cursor := begin(), begin(), begin(), begin(), begin()
			lost.want("UPDATE r SET n = 77 WHERE id = 120", "UPDATE 1")
			cursor.want("DECLARE c CURSOR FOR SELECT id FROM r ORDER BY n, id", "DECLARE CURSOR")
			prepared := w.another().connect(t)
			prepared.want("PREPARE p AS SELECT count(*) FROM r WHERE id > $1; EXECUTE p(0)", "PREPARE\n300\nSELECT 1")
			c.reshaped("split_segment('r', '100')")
			c.reshaped("split_segment('r', '150')")
			c.reshaped("merge_segments('r', '200')")
			either := func(x *client, text, want string) {
				t.Helper()
				if got := x.answer(text); got != want && !strings.Contains(got, late) {
					t.Errorf("%s: %s", text, got)
				}
			}
			// What it has read has another name, so it cannot be proved.
			if level == "SERIALIZABLE" {
				either(reader, all, "300|300|45150|-45150\nSELECT 1")
				reader.answer("ROLLBACK")
			} else {
				reader.want(all, "300|300|45150|-45150\nSELECT 1")
				reader.want("SELECT count(*) FROM r WHERE n = 7", "30\nSELECT 1")
				reader.want("SELECT id FROM r WHERE k = -130", "130\nSELECT 1")
				reader.want("SELECT count(*) FROM r WHERE id BETWEEN 90 AND 210", "121\nSELECT 1")
				reader.want("COMMIT", "COMMIT")
			}
			either(writer, "UPDATE r SET n = 1000 WHERE id = 160", "UPDATE 1")
			if end := writer.answer("COMMIT"); end != "COMMIT" && end != "ROLLBACK" && !strings.Contains(end, late) {
				t.Errorf("COMMIT: %s", end)
			}
			either(wide, "UPDATE r SET n = n + 100", "UPDATE 300")
			wide.answer("ROLLBACK")
			if got := lost.answer("COMMIT"); !strings.Contains(got, late) {
				t.Errorf("what was written to a segment that is gone: %s", got)
			}
			if got := cursor.answer("FETCH ALL FROM c"); !strings.HasSuffix(got, "FETCH 300") &&
				!strings.Contains(got, late) {
				t.Errorf("the cursor: %.200s", got)
			}
			cursor.answer("ROLLBACK")
			prepared.want("EXECUTE p(0)", "300\nSELECT 1")
			c.want(all, "300|300|45150|-45150\nSELECT 1")
			c.want("SELECT count(*) FROM r WHERE n = 77", "0\nSELECT 1")
			c.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
		})
	}
}

// TestSplitAndDefinitions: a transaction changes a definition while a segment is split. This does
// not bring the old segments back, and the rows stay.
func TestSplitAndDefinitions(t *testing.T) {
	for _, change := range []string{
		"ALTER TABLE r ADD COLUMN x int DEFAULT 5", "ALTER TABLE r ALTER COLUMN n TYPE bigint",
		"CREATE INDEX r_n ON r (n)", "TRUNCATE r; INSERT INTO r SELECT i, i FROM generate_series(1, 300) i",
		"ALTER TABLE r RENAME TO s; ALTER TABLE s RENAME TO r",
	} {
		t.Run(change, func(t *testing.T) {
			w := newWorld(t)
			c, d := w.connect(t), w.another().connect(t)
			c.want("CREATE TABLE r (id int PRIMARY KEY, n int) WITH (shard_by = 'range', shard_splits = '200')",
				"CREATE TABLE")
			c.want("INSERT INTO r SELECT i, i FROM generate_series(1, 300) i", "INSERT 0 300")
			d.want("BEGIN", "BEGIN")
			for _, text := range strings.Split(change, "; ") {
				if got := d.answer(text); strings.Contains(got, "SQLSTATE") {
					t.Fatal(got)
				}
			}
			split := make(chan string, 1)
			go func() { split <- c.answer("SELECT sherd.split_segment('r', '100')") }()
			select {
			case got := <-split:
				split <- got
			case <-time.After(time.Second): // it may wait for the definition
			}
			committed := d.answer("COMMIT")
			if committed != "COMMIT" && !strings.Contains(committed, "40001") {
				t.Errorf("COMMIT: %s", committed)
			}
			t.Log(committed, <-split)
			c.want("SELECT count(*), count(DISTINCT id), sum(id), sum(n), min(id), max(id) FROM r",
				"300|300|45150|45150|1|300\nSELECT 1")
			c.want("SELECT count(*) FROM r WHERE id BETWEEN 50 AND 149", "100\nSELECT 1")
			c.want("UPDATE r SET n = n + 1 WHERE id IN (50, 150, 250)", "UPDATE 3")
			c.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
		})
	}
}

// TestSplitAwaitsPrepared: a split waits for a prepared transaction that has written to its
// segment. The new segments have the rows of that transaction.
func TestSplitAwaitsPrepared(t *testing.T) {
	for _, end := range []string{"COMMIT", "ROLLBACK"} {
		w := newWorld(t)
		c, p := w.connect(t), w.another().connect(t)
		c.want("CREATE TABLE r (id int PRIMARY KEY, n int, k int UNIQUE) WITH (shard_by = 'range')", "CREATE TABLE")
		c.want("CREATE INDEX r_n ON r (n)", "CREATE INDEX")
		c.want("INSERT INTO r SELECT i, i % 10, -i FROM generate_series(1, 300) i", "INSERT 0 300")
		p.want("BEGIN; UPDATE r SET n = 77 WHERE id BETWEEN 90 AND 109; INSERT INTO r VALUES (1000, 77, 1); "+
			"DELETE FROM r WHERE id = 110; PREPARE TRANSACTION 'held'",
			"BEGIN\nUPDATE 20\nINSERT 0 1\nDELETE 1\nPREPARE TRANSACTION")
		split := make(chan string, 1)
		go func() { split <- c.answer("SELECT sherd.split_segment('r', '100')") }()
		o := w.connect(t)
		for o.answer("SELECT count(*) FROM sherd.moves WHERE waits_for LIKE '%prepared%'") != "1\nSELECT 1" {
			select {
			case got := <-split:
				t.Fatalf("the split did not wait: %s", got)
			case <-time.After(10 * time.Millisecond):
			}
		}
		o.want("SELECT count(*) FROM r WHERE id BETWEEN 200 AND 250", "51\nSELECT 1")
		o.want("UPDATE r SET n = n WHERE id = 200", "UPDATE 1")
		p.want(end+" PREPARED 'held'", end+" PREPARED")
		if got := <-split; !reshapes(got) {
			t.Fatal(got)
		}
		rows, of77 := "300|300", "21"
		if end == "ROLLBACK" {
			of77 = "0"
		}
		o.want("SELECT count(*), count(DISTINCT k) FROM r", rows+"\nSELECT 1")
		o.want("SELECT count(*) FROM r WHERE n = 77", of77+"\nSELECT 1")
		o.want("SELECT count(*) FROM sherd.segments", "2\nSELECT 1")
		o.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
	}
}

// TestLeftoversOfSegments: a segment leaves entries behind under the name that it had before it was
// split elsewhere. They are not deleted there, because the rows come back, with the versions of
// these entries.
func TestLeftoversOfSegments(t *testing.T) {
	w := newWorld(t)
	c := w.connect(t)
	c.want("CREATE TABLE r (id int PRIMARY KEY, n int) WITH (shard_by = 'range', shard_splits = '200')", "CREATE TABLE")
	c.want("CREATE INDEX r_n ON r (n)", "CREATE INDEX")
	c.want("INSERT INTO r SELECT i, i % 10 FROM generate_series(1, 300) i", "INSERT 0 300")
	move := func(key, to string) {
		t.Helper()
		if got := c.answer(
			"SELECT sherd.move_segment('r', '" + key + "', '" + to + "', wait => true) >= 0",
		); !strings.HasSuffix(got, "SELECT 1") && !strings.Contains(got, "already") {
			t.Fatal(got)
		}
		must(t, w.host.Rebalancer.RemoveLeftovers(t.Context()))
	}
	home := strings.Split(c.answer("SELECT fragment FROM sherd.segments WHERE lower IS NULL"), "\n")[0]
	away := "postgres$2"
	if home == away {
		away = "postgres$1"
	}
	move("1", away)
	c.reshaped("split_segment('r', '100')")
	must(t, w.host.Rebalancer.RemoveLeftovers(t.Context()))
	c.want("UPDATE r SET n = 77 WHERE n = 3", "UPDATE 30")
	move("1", away)
	move("150", away)
	must(t, w.host.Rebalancer.RemoveLeftovers(t.Context()))
	move("150", home)
	move("1", home)
	c.want("SELECT count(*) FROM r WHERE n = 77", "30\nSELECT 1")
	c.want("SELECT count(*) FROM r WHERE n = 7", "30\nSELECT 1")
	c.want("SELECT count(*) FROM r WHERE n = 3", "0\nSELECT 1")
	c.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
}
