package nodetest

import (
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/sherddb/sherd/internal/eventually"
)

// TestSequenceOverNodes: each node takes values in blocks of its own. No value is returned twice,
// wherever the sequence's row is and whichever node stops.
func TestSequenceOverNodes(t *testing.T) {
	t.Parallel()
	c := Start(t, 3)
	first := c.Node(1).Connect(t)
	if _, err := first.Exec(t.Context(), "CREATE SEQUENCE s; CREATE TABLE t (id serial PRIMARY KEY, n int)"); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	seen := map[int64]bool{}
	take := func(db *pgx.Conn) {
		for range 50 {
			var n int64
			if err := db.QueryRow(t.Context(), "SELECT nextval('s')").Scan(&n); err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			if seen[n] {
				t.Errorf("%d was given twice", n)
			}
			seen[n] = true
			mu.Unlock()
			// A repeated value is 23505.
			if _, err := db.Exec(t.Context(), "INSERT INTO t (n) VALUES ($1)", n); err != nil {
				t.Error(err)
				return
			}
		}
	}
	together := func(nodes ...uint32) {
		var done sync.WaitGroup
		for _, n := range nodes {
			db := c.Node(n).Connect(t)
			eventually.Holds(t, "the sequence is known everywhere", func() bool {
				var there bool
				return db.QueryRow(t.Context(), "SELECT to_regclass('s') IS NOT NULL AND to_regclass('t') IS NOT NULL").Scan(&there) == nil && there
			})
			done.Go(func() { take(db) })
		}
		done.Wait()
	}
	together(1, 2, 3)
	c.Node(3).Stop()
	together(1, 2)
	var rows, values int
	err := first.QueryRow(t.Context(), "SELECT count(*), count(DISTINCT id) FROM t").Scan(&rows, &values)
	if err != nil || rows != 250 || values != 250 || len(seen) != 250 {
		t.Errorf("%d rows, %d ids, %d values, %v", rows, values, len(seen), err)
	}
}
