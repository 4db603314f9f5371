package sql_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// TestSequenceAmongSessions: sessions take values by functions and by defaults, from one fragment
// or from all at once. No value comes twice.
func TestSequenceAmongSessions(t *testing.T) {
	w := newWorld(t)
	c := w.connect(t)
	c.want("CREATE TABLE t (id serial PRIMARY KEY, n int)", "CREATE TABLE")
	c.want("CREATE SEQUENCE s CACHE 3", "CREATE SEQUENCE")
	const sessions, rounds = 6, 40
	given := make([][]string, sessions)
	var done sync.WaitGroup
	for i := range sessions {
		c := w.connect(t)
		done.Add(1)
		go func() {
			defer done.Done()
			for r := range rounds {
				given[i] = append(given[i],
					strings.Fields(c.answer("SELECT nextval('s') FROM generate_series(1, 4)"))...)
				c.answer(fmt.Sprintf("INSERT INTO t (n) VALUES (%d), (%d)", r, r))
			}
		}()
	}
	done.Wait()
	seen := map[int]bool{}
	for _, list := range given {
		var numbers []int
		for _, word := range list {
			if n, err := strconv.Atoi(word); err == nil {
				numbers = append(numbers, n)
			}
		}
		if len(numbers) < 4*rounds || !slices.IsSorted(numbers[:4]) {
			t.Errorf("%d values: %v", len(numbers), list[:8])
		}
	}
	for _, list := range given {
		for _, word := range list {
			if n, err := strconv.Atoi(word); err == nil && n > 4 { // smaller numbers are in tags, too
				if seen[n] {
					t.Errorf("%d was given twice", n)
				}
				seen[n] = true
			}
		}
	}
	c.want("SELECT count(*) = 480, count(DISTINCT id) = 480, max(id) <= 480 FROM t", "t|t|t\nSELECT 1")
	c.want("SELECT last_value = 480 FROM t_id_seq", "t\nSELECT 1")
	// In the fragments, where an UPDATE runs.
	c.want("UPDATE t SET id = nextval('t_id_seq')", "UPDATE 480")
	c.want("SELECT count(DISTINCT id) = 480, min(id) > 480 FROM t", "t|t\nSELECT 1")
	c.want("SELECT subject, detail FROM sherd.check() WHERE NOT ok", "SELECT 0")
}

// TestSequenceGivenBack: a server that ends normally returns the values that it has not used,
// unless another has gone on from there.
func TestSequenceGivenBack(t *testing.T) {
	w := newWorld(t)
	a, other := w.connect(t), w.another()
	b := other.connect(t)
	a.want("CREATE SEQUENCE s; CREATE SEQUENCE unused; CREATE SEQUENCE shared",
		"CREATE SEQUENCE\nCREATE SEQUENCE\nCREATE SEQUENCE")
	a.want("SELECT nextval('s'), nextval('s'), nextval('shared')", "1|2|1\nSELECT 1")
	b.want("SELECT nextval('shared')", "34\nSELECT 1")
	must(t, w.server.Close(t.Context()))
	b.want("SELECT * FROM s", "2|0|t\nSELECT 1")
	b.want("SELECT nextval('s'), nextval('shared'), nextval('unused')", "3|35|1\nSELECT 1")
	must(t, other.server.Close(t.Context()))
	a.want("SELECT nextval('s'), nextval('shared'), nextval('unused')", "4|36|2\nSELECT 1")
}
