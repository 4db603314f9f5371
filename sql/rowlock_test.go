package sql_test

import (
	"fmt"
	"sync"
	"testing"
)

// jobTable makes a table of 40 rows.
func jobTable(t *testing.T) (*world, *client) {
	w := newWorld(t)
	a := w.connect(t)
	a.want("CREATE TABLE t (id int PRIMARY KEY, v int)", "CREATE TABLE")
	a.want("INSERT INTO t SELECT g, g FROM generate_series(1, 40) g", "INSERT 0 40")
	return w, a
}

func answers(t *testing.T, done chan string, want string) {
	t.Helper()
	if got := <-done; got != want {
		t.Errorf("got\n%s\nexpected\n%s", got, want)
	}
}

// TestWorkQueue: eight workers take jobs with SKIP LOCKED, in both of the usual ways. Each job is
// done once, and no worker waits.
func TestWorkQueue(t *testing.T) {
	w, a := jobTable(t)
	a.want("CREATE TABLE done_jobs (worker int, job int)", "CREATE TABLE")
	a.want("UPDATE t SET v = 0", "UPDATE 40")
	var wg sync.WaitGroup
	for worker := range 8 {
		c := w.connect(t)
		c.want("SET lock_timeout = '60s'", "SET")
		wg.Go(func() {
			for {
				var job int
				if worker%2 == 0 {
					c.answer("BEGIN")
					got := c.answer("SELECT id FROM t WHERE v = 0 ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED")
					if n, _ := fmt.Sscan(got, &job); n == 1 {
						c.want(fmt.Sprintf("UPDATE t SET v = v + 1 WHERE id = %d", job), "UPDATE 1")
					} else if got != "SELECT 0" {
						t.Error(got)
					}
					c.want("COMMIT", "COMMIT")
				} else {
					got := c.answer("UPDATE t SET v = v + 1 WHERE id = (SELECT id FROM t" +
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
	a.want("SELECT DISTINCT v FROM t", "1\nSELECT 1")
}

// TestNoLostUpdate: increments by several sessions, in transactions that read before, are all
// counted.
func TestNoLostUpdate(t *testing.T) {
	w, a := jobTable(t)
	const sessions, each = 4, 15
	var wg sync.WaitGroup
	for range sessions {
		c := w.connect(t)
		wg.Go(func() {
			for range each {
				c.answer("BEGIN; SELECT v FROM t WHERE id = 1")
				c.want("UPDATE t SET v = v + 1 WHERE id = 1", "UPDATE 1")
				c.want("COMMIT", "COMMIT")
			}
		})
	}
	wg.Wait()
	a.want("SELECT v FROM t WHERE id = 1", fmt.Sprintf("%d\nSELECT 1", 1+sessions*each))
}
