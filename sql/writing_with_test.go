package sql_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestQueueByWith: several workers take jobs by one statement each; no job is taken twice, and none
// is left.
func TestQueueByWith(t *testing.T) {
	w := newWorld(t)
	a := w.connect(t)
	a.want("CREATE TABLE jobs (id int PRIMARY KEY, state text NOT NULL, who int); CREATE TABLE done (id int PRIMARY "+
		"KEY, who int)", "CREATE TABLE\nCREATE TABLE")
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
				if got == "INSERT 0 0" &&
					strings.HasPrefix(c.answer("SELECT count(*) FROM jobs WHERE state = 'new'"), "0\n") {
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
