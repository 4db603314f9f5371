package sql_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestWritingWith: statements that write in WITH, over one fragment and over several, with local and global indexes; sherd.check() finds nothing wrong after.
func TestWritingWith(t *testing.T) {
	for _, fragments := range []int{1, 3} {
		t.Run(fmt.Sprint(fragments, " fragments"), func(t *testing.T) {
			a := newWorldOf(t, fragments).connect(t)
			a.want("CREATE TABLE t (id int PRIMARY KEY, g int, u int UNIQUE); CREATE INDEX ON t (g); CREATE TABLE log (id int PRIMARY KEY, g int)",
				"CREATE TABLE\nCREATE INDEX\nCREATE TABLE")
			a.want("INSERT INTO t SELECT g, g % 3, g FROM generate_series(1, 60) g", "INSERT 0 60")
			// Rows go from one table to the other and come back under other keys; each part sees the state before.
			a.want(`WITH d AS (DELETE FROM t WHERE g = 0 RETURNING *), l AS (INSERT INTO log SELECT id, g FROM d RETURNING id), u AS (UPDATE t SET g = g + 10, u = u + 1000 WHERE g = 1 RETURNING id)
				SELECT (SELECT count(*) FROM d), (SELECT count(*) FROM l), (SELECT count(*) FROM u), (SELECT count(*) FROM t), (SELECT count(*) FROM log)`, "20|20|20|60|0\nSELECT 1")
			a.want("WITH d AS (DELETE FROM log RETURNING *) INSERT INTO t SELECT id, g, id FROM d", "INSERT 0 20")
			a.want("SELECT count(*), count(DISTINCT u), sum(g) FROM t", "60|60|260\nSELECT 1")
			a.want("WITH d AS (DELETE FROM t WHERE g = 2 RETURNING *) INSERT INTO t SELECT id, g + 1, u FROM d", "INSERT 0 20")
			a.want("SELECT count(*) FROM t WHERE u = 5 AND g = 3", "1\nSELECT 1")
			// A row that two parts change is refused, whichever way they go, and nothing stands.
			const twice = `updating or deleting a row of table "t" twice in one statement is not supported (SQLSTATE 0A000)`
			for _, text := range []string{
				"WITH a AS (UPDATE t SET g = 100 WHERE id = 1) UPDATE t SET g = 200 WHERE id = 1",
				"WITH a AS (UPDATE t SET u = 7000 WHERE id = 1) UPDATE t SET u = 8000 WHERE id = 1",
				"WITH a AS (DELETE FROM t WHERE id = 1) UPDATE t SET g = 200 WHERE id = 1",
				"WITH a AS (UPDATE t SET g = 100 WHERE id = 1), b AS (DELETE FROM t WHERE id = 1) SELECT 1",
			} {
				if got := a.answer(text); !strings.HasPrefix(got, twice) {
					t.Errorf("%s: %s", text, got)
				}
			}
			a.want("WITH a AS (INSERT INTO t VALUES (500, 1, 500)) INSERT INTO t VALUES (500, 1, 500) ON CONFLICT (id) DO UPDATE SET g = 2",
				"ON CONFLICT DO UPDATE command cannot affect row a second time (SQLSTATE 21000)")
			a.want("SELECT g, u FROM t WHERE id = 1", "11|1001\nSELECT 1")
			// In a transaction, its earlier writes count.
			a.want("BEGIN; INSERT INTO t VALUES (900, 0, 900); UPDATE t SET g = 77 WHERE id = 2", "BEGIN\nINSERT 0 1\nUPDATE 1")
			a.want("WITH u AS (UPDATE t SET g = g + 1 WHERE id IN (2, 900) RETURNING g) SELECT (SELECT sum(g) FROM u), (SELECT sum(g) FROM t WHERE id IN (2, 900))", "79|77\nSELECT 1")
			a.want("SELECT sum(g) FROM t WHERE id IN (2, 900)", "79\nSELECT 1")
			a.want("INSERT INTO t VALUES (901, 5, 901) RETURNING (SELECT count(*) FROM t WHERE id > 800)", "1\nINSERT 0 1")
			a.want("COMMIT", "COMMIT")
			a.checked()
		})
	}
}

// TestQueueByWith: several workers take jobs by one statement each; no job is taken twice, and none is left.
func TestQueueByWith(t *testing.T) {
	w := newWorld(t)
	a := w.connect(t)
	a.want("CREATE TABLE jobs (id int PRIMARY KEY, state text NOT NULL, who int); CREATE TABLE done (id int PRIMARY KEY, who int)", "CREATE TABLE\nCREATE TABLE")
	a.want("INSERT INTO jobs SELECT g, 'new' FROM generate_series(1, 90) g", "INSERT 0 90")
	const workers = 3
	took := make(chan []string, workers)
	for n := range workers {
		c := w.connect(t)
		go func() {
			var mine []string
			for {
				got := c.answer(fmt.Sprintf(`WITH c AS (SELECT id FROM jobs WHERE state = 'new' ORDER BY id LIMIT 2 FOR UPDATE SKIP LOCKED),
					u AS (UPDATE jobs SET state = 'taken', who = %d FROM c WHERE jobs.id = c.id RETURNING jobs.id)
					INSERT INTO done SELECT id, %d FROM u RETURNING id`, n, n))
				lines := strings.Split(got, "\n")
				mine = append(mine, lines[:len(lines)-1]...)
				if strings.Contains(got, "SQLSTATE") {
					mine = append(mine, got)
					break
				}
				if got == "INSERT 0 0" && strings.HasPrefix(c.answer("SELECT count(*) FROM jobs WHERE state = 'new'"), "0\n") {
					break
				}
			}
			took <- mine
		}()
	}
	var all []string
	for range workers {
		all = append(all, <-took...)
	}
	slices.Sort(all)
	if n := len(all); n != 90 || len(slices.Compact(all)) != 90 {
		t.Errorf("%d jobs were taken: %v", n, all)
	}
	a.want("SELECT count(*) FROM jobs JOIN done USING (id) WHERE jobs.who = done.who", "90\nSELECT 1")
	a.checked()
}
