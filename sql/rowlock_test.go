package sql_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// TestRowLocks plays scripts of sessions that want the same rows; everything shares one cluster, each case has a table of its own.
func TestRowLocks(t *testing.T) {
	w := newWorld(t)
	for name, run := range map[string]func(t *testing.T, w *world, a, b *client, table string){
		"wait_and_recheck": waitAndRecheck,
		"run_again":        runAgain,
		"levels":           lockLevels,
		"clauses":          lockClauses,
		"insert_waits":     insertWaits,
		"upsert":           upsertNewest,
		"read_only":        lockReadOnly,
		"savepoint":        lockSavepoint,
		"queue":            workQueue,
		"no_lost_update":   noLostUpdate,
	} {
		t.Run(name, func(t *testing.T) {
			a, b := w.connect(t), w.connect(t)
			a.want("CREATE TABLE "+name+" (id int PRIMARY KEY, v int)", "CREATE TABLE")
			a.want("INSERT INTO "+name+" SELECT g, g FROM generate_series(1, 40) g", "INSERT 0 40")
			run(t, w, a, b, name)
		})
	}
}

func answers(t *testing.T, done chan string, want string) {
	t.Helper()
	if got := <-done; got != want {
		t.Errorf("got\n%s\nexpected\n%s", got, want)
	}
}

// waitAndRecheck: who has waited for a row goes on with the newest version of it, and leaves it out if it is no longer asked for.
func waitAndRecheck(t *testing.T, w *world, a, b *client, table string) {
	for _, c := range []struct{ first, then, want string }{
		{"UPDATE t SET v = v + 100 WHERE id = 1", "UPDATE t SET v = v + 1 WHERE id = 1 RETURNING v", "102\nUPDATE 1"},
		{"UPDATE t SET v = 0 WHERE id = 2", "UPDATE t SET v = v + 1 WHERE v = 2", "UPDATE 0"},
		{"DELETE FROM t WHERE id = 3", "UPDATE t SET v = v + 1 WHERE id = 3", "UPDATE 0"},
		{"UPDATE t SET v = 400 WHERE id = 4", "DELETE FROM t WHERE v = 4", "DELETE 0"},
		{"UPDATE t SET v = 500 WHERE id = 5", "SELECT v FROM t WHERE id = 5 FOR SHARE", "500\nSELECT 1"},
		{"UPDATE t SET v = 0 WHERE id = 6", "SELECT id FROM t WHERE v BETWEEN 6 AND 8 ORDER BY v LIMIT 2 FOR UPDATE", "7\n8\nSELECT 2"},
		{"DELETE FROM t WHERE id = 10", "SELECT id FROM t WHERE id = 10 FOR UPDATE", "SELECT 0"},
		{"SELECT FROM t WHERE id = 11 FOR KEY SHARE", "DELETE FROM t WHERE id = 11", "DELETE 1"},
		{"UPDATE t SET id = 112 WHERE id = 12", "SELECT v FROM t WHERE id = 12 FOR KEY SHARE", "SELECT 0"},
	} {
		named := func(s string) string { return strings.ReplaceAll(s, " t ", " "+table+" ") }
		a.answer("BEGIN")
		a.answer(named(c.first))
		done := b.background(w, named(c.then))
		a.want("COMMIT", "COMMIT")
		answers(t, done, c.want)
	}
	a.want("BEGIN; UPDATE "+table+" SET v = 0 WHERE id = 20", "BEGIN\nUPDATE 1")
	done := b.background(w, "UPDATE "+table+" SET v = v + 1 WHERE id = 20 RETURNING v")
	a.want("ROLLBACK", "ROLLBACK")
	answers(t, done, "21\nUPDATE 1")
}

// runAgain: what reads more than the row that changed runs again as a whole, also in a transaction, and sees one state.
func runAgain(t *testing.T, w *world, a, b *client, table string) {
	b.want("BEGIN; UPDATE "+table+" SET v = -1 WHERE id = 30", "BEGIN\nUPDATE 1")
	a.want("BEGIN; UPDATE "+table+" SET v = 1000 WHERE id = 1", "BEGIN\nUPDATE 1")
	done := b.background(w, "UPDATE "+table+" SET v = (SELECT max(v) FROM "+table+") + 1 WHERE id = 1 RETURNING v")
	a.want("COMMIT", "COMMIT")
	answers(t, done, "1001\nUPDATE 1")
	b.want("SELECT v FROM "+table+" WHERE id IN (1, 30) ORDER BY 1; COMMIT", "-1\n1001\nSELECT 2\nCOMMIT")
	a.want("BEGIN; UPDATE "+table+" SET v = 2 WHERE id = 3", "BEGIN\nUPDATE 1")
	done = b.background(w, "SELECT x.id, y.id FROM "+table+" x JOIN "+table+" y ON x.v = y.id WHERE x.id IN (2, 3) ORDER BY 1 FOR UPDATE")
	a.want("COMMIT", "COMMIT")
	answers(t, done, "2|2\n3|2\nSELECT 2")
}

// lockLevels: above READ COMMITTED a row that changed after the snapshot is refused, and the error says which and by whom.
func lockLevels(t *testing.T, w *world, a, b *client, table string) {
	for _, c := range []struct{ first, then, want string }{
		{"UPDATE t SET v = 0 WHERE id = 1", "UPDATE t SET v = v + 1 WHERE id = 1", "update (SQLSTATE 40001): Key (id)=(1) of relation \"t\" was changed by transaction "},
		{"DELETE FROM t WHERE id = 2", "DELETE FROM t WHERE id = 2", "delete (SQLSTATE 40001): Key (id)=(2) of relation \"t\" was deleted by transaction "},
		{"UPDATE t SET v = 0 WHERE id = 3", "SELECT FROM t WHERE id = 3 FOR SHARE", "update (SQLSTATE 40001): Key (id)=(3) of relation \"t\" was changed by transaction "},
	} {
		named := func(s string) string { return strings.ReplaceAll(s, " t ", " "+table+" ") }
		a.answer("BEGIN")
		a.answer(named(c.first))
		b.want("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) > 1 FROM "+table, "BEGIN\nt\nSELECT 1")
		done := b.background(w, named(c.then))
		a.want("COMMIT", "COMMIT")
		want := "could not serialize access due to concurrent " + strings.ReplaceAll(c.want, `"t"`, `"`+table+`"`)
		if got := <-done; !strings.HasPrefix(got, want) {
			t.Errorf("got %s, expected %s", got, want)
		}
		b.want("ROLLBACK", "ROLLBACK")
	}
}

// lockClauses: the strengths against each other, NOWAIT and SKIP LOCKED.
func lockClauses(t *testing.T, _ *world, a, b *client, table string) {
	refused := `could not obtain lock on row in relation "` + table + `" (SQLSTATE 55P03): Key (id)=(1) of relation "` + table + `" is locked by another transaction.`
	strengths := []string{"KEY SHARE", "SHARE", "NO KEY UPDATE", "UPDATE"}
	for i, held := range strengths {
		for j, wanted := range strengths {
			a.want("BEGIN; SELECT id FROM "+table+" WHERE id = 1 FOR "+held, "BEGIN\n1\nSELECT 1")
			nowait, skip := refused, "SELECT 0"
			if i == 0 && j < 3 || j == 0 && i < 3 || i == 1 && j == 1 {
				nowait, skip = "1\nSELECT 1", "1\nSELECT 1"
			}
			b.want("SELECT id FROM "+table+" WHERE id = 1 FOR "+wanted+" NOWAIT", nowait)
			b.want("SELECT id FROM "+table+" WHERE id = 1 FOR "+wanted+" SKIP LOCKED", skip)
			a.want("COMMIT", "COMMIT")
		}
	}
	b.want("SET lock_timeout = '1ms'", "SET")
	a.want("BEGIN; SELECT id FROM "+table+" WHERE id = 1 FOR KEY SHARE", "BEGIN\n1\nSELECT 1")
	b.want("UPDATE "+table+" SET v = 7 WHERE id = 1", "UPDATE 1")
	b.want("UPDATE "+table+" SET id = id, v = 8 WHERE id = 1", "UPDATE 1") // no key changes
	b.want("UPDATE "+table+" SET id = 100 WHERE id = 1", "canceling statement due to lock timeout (SQLSTATE 55P03)")
	b.want("DELETE FROM "+table+" WHERE id = 1", "canceling statement due to lock timeout (SQLSTATE 55P03)")
	b.want("INSERT INTO "+table+" VALUES (1, 9) ON CONFLICT (id) DO UPDATE SET v = excluded.v", "INSERT 0 1")
	a.want("COMMIT", "COMMIT")
	a.want("BEGIN; UPDATE "+table+" SET v = 9 WHERE id = 2", "BEGIN\nUPDATE 1")
	b.want("SELECT id FROM "+table+" WHERE id = 2 FOR KEY SHARE", "2\nSELECT 1")
	b.want("INSERT INTO "+table+" VALUES (2, 9) ON CONFLICT DO NOTHING", "INSERT 0 0")
	a.want("COMMIT", "COMMIT")
}

// insertWaits: who inserts a key that another transaction is inserting waits for its outcome.
func insertWaits(t *testing.T, w *world, a, b *client, table string) {
	taken := `duplicate key value violates unique constraint "` + table + `_pkey" (SQLSTATE 23505): Key (id)=(100) already exists.`
	for _, c := range []struct{ end, insert, want string }{
		{"COMMIT", "INSERT INTO t VALUES (100, 2)", taken},
		{"ROLLBACK", "INSERT INTO t VALUES (100, 2)", "INSERT 0 1"},
		{"COMMIT", "INSERT INTO t VALUES (100, 2) ON CONFLICT DO NOTHING", "INSERT 0 0"},
		{"ROLLBACK", "INSERT INTO t VALUES (100, 2) ON CONFLICT DO NOTHING", "INSERT 0 1"},
		{"COMMIT", "INSERT INTO t VALUES (100, 2) ON CONFLICT (id) DO UPDATE SET v = t.v + 5 RETURNING v", "6\nINSERT 0 1"},
	} {
		a.answer("DELETE FROM " + table + " WHERE id = 100")
		a.want("BEGIN; INSERT INTO "+table+" VALUES (100, 1)", "BEGIN\nINSERT 0 1")
		done := b.background(w, strings.ReplaceAll(strings.ReplaceAll(c.insert, " t ", " "+table+" "), "t.v", table+".v"))
		a.want(c.end, c.end)
		got := <-done
		if c.want == taken {
			got, _, _ = strings.Cut(got, " Transaction ")
		}
		if got != c.want {
			t.Errorf("%s after %s: %s, expected %s", c.insert, c.end, got, c.want)
		}
	}
}

// upsertNewest: ON CONFLICT goes by the newest row; a snapshot that has not got it is refused.
func upsertNewest(t *testing.T, w *world, a, b *client, table string) {
	b.want("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM "+table, "BEGIN\n40\nSELECT 1")
	a.want("INSERT INTO "+table+" VALUES (50, 1)", "INSERT 0 1")
	if got := b.answer("INSERT INTO " + table + " VALUES (50, 2) ON CONFLICT DO NOTHING"); !strings.HasPrefix(got, "could not serialize access due to concurrent update (SQLSTATE 40001)") {
		t.Error(got)
	}
	b.want("ROLLBACK", "ROLLBACK")
	a.want("BEGIN; DELETE FROM "+table+" WHERE id = 50", "BEGIN\nDELETE 1")
	done := b.background(w, "INSERT INTO "+table+" VALUES (50, 3) ON CONFLICT (id) DO UPDATE SET v = 4 RETURNING v")
	a.want("COMMIT", "COMMIT")
	answers(t, done, "3\nINSERT 0 1")
}

func lockReadOnly(t *testing.T, _ *world, a, _ *client, table string) {
	for _, strength := range []string{"UPDATE", "KEY SHARE"} {
		a.want("BEGIN READ ONLY; SELECT * FROM "+table+" WHERE id = 1 FOR "+strength,
			"BEGIN\ncannot execute SELECT FOR "+strength+" in a read-only transaction (SQLSTATE 25006)")
		a.want("ROLLBACK", "ROLLBACK")
	}
}

// lockSavepoint: locks taken since a savepoint go with it.
func lockSavepoint(t *testing.T, _ *world, a, b *client, table string) {
	a.want("BEGIN; SELECT id FROM "+table+" WHERE id = 1 FOR UPDATE; SAVEPOINT s; SELECT id FROM "+table+" WHERE id = 2 FOR UPDATE; ROLLBACK TO s",
		"BEGIN\n1\nSELECT 1\nSAVEPOINT\n2\nSELECT 1\nROLLBACK")
	b.want("SELECT id FROM "+table+" WHERE id < 4 ORDER BY id FOR UPDATE SKIP LOCKED", "2\n3\nSELECT 2")
	a.want("COMMIT", "COMMIT")
}

// workQueue: eight workers take jobs with SKIP LOCKED, in both of the usual ways; each job is done once and nobody waits.
func workQueue(t *testing.T, w *world, a, _ *client, table string) {
	a.want("CREATE TABLE done_jobs (worker int, job int)", "CREATE TABLE")
	a.want("UPDATE "+table+" SET v = 0", "UPDATE 40")
	var wg sync.WaitGroup
	for worker := range 8 {
		c := w.connect(t)
		c.want("SET lock_timeout = '60s'", "SET")
		wg.Go(func() {
			for {
				var job int
				if worker%2 == 0 {
					c.answer("BEGIN")
					got := c.answer("SELECT id FROM " + table + " WHERE v = 0 ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED")
					if n, _ := fmt.Sscan(got, &job); n == 1 {
						c.want(fmt.Sprintf("UPDATE %s SET v = v + 1 WHERE id = %d", table, job), "UPDATE 1")
					} else if got != "SELECT 0" {
						t.Error(got)
					}
					c.want("COMMIT", "COMMIT")
				} else {
					got := c.answer("UPDATE " + table + " SET v = v + 1 WHERE id = (SELECT id FROM " + table +
						" WHERE v = 0 LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED) RETURNING id")
					if n, _ := fmt.Sscan(got, &job); n == 0 && got != "UPDATE 0" {
						t.Error(got)
					}
				}
				if job == 0 {
					return
				}
				c.want(fmt.Sprintf("INSERT INTO done_jobs VALUES (%d, %d)", worker, job), "INSERT 0 1")
			}
		})
	}
	wg.Wait()
	a.want("SELECT count(*), count(DISTINCT job) FROM done_jobs", "40|40\nSELECT 1")
	a.want("SELECT DISTINCT v FROM "+table, "1\nSELECT 1")
}

// noLostUpdate: increments by several sessions, in transactions that read before, are all counted.
func noLostUpdate(t *testing.T, w *world, a, _ *client, table string) {
	const sessions, each = 4, 15
	var wg sync.WaitGroup
	for range sessions {
		c := w.connect(t)
		wg.Go(func() {
			for range each {
				c.answer("BEGIN; SELECT v FROM " + table + " WHERE id = 1")
				c.want("UPDATE "+table+" SET v = v + 1 WHERE id = 1", "UPDATE 1")
				c.want("COMMIT", "COMMIT")
			}
		})
	}
	wg.Wait()
	a.want("SELECT v FROM "+table+" WHERE id = 1", fmt.Sprintf("%d\nSELECT 1", 1+sessions*each))
}
