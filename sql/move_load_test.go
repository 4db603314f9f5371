package sql_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// TestMoveUnderLoad moves a quarter of a database back and forth while single statements over
// several fragments write and read. No statement sees an error, the total never changes, an older
// snapshot reads the same rows, and an open cursor continues.
func TestMoveUnderLoad(t *testing.T) {
	w := newWorld(t)
	c := w.connect(t)
	c.want("CREATE TABLE bank (id text PRIMARY KEY, n int, k int UNIQUE)", "CREATE TABLE")
	c.want("INSERT INTO bank SELECT 'bank/' || i, 100, i FROM generate_series(1, 200) i", "INSERT 0 200")
	const all = "SELECT sum(n), md5(string_agg(id || ':' || n, ',' ORDER BY id)) FROM bank"
	held, cursor := w.connect(t), w.connect(t)
	held.want("BEGIN ISOLATION LEVEL REPEATABLE READ", "BEGIN")
	before := held.answer(all)
	cursor.want("BEGIN", "BEGIN")
	cursor.want("DECLARE c CURSOR FOR SELECT id FROM bank", "DECLARE CURSOR")
	cursor.answer("FETCH 10 FROM c")
	var over atomic.Bool
	var writes atomic.Int64
	var done sync.WaitGroup
	for i := range 3 {
		x, rnd := w.connect(t), rand.New(rand.NewPCG(uint64(i), 7))
		done.Go(func() {
			for !over.Load() {
				from, to := rnd.IntN(200)+1, rnd.IntN(200)+1
				if from == to {
					continue
				}
				text := fmt.Sprintf("UPDATE bank SET n = n + CASE WHEN id = 'bank/%d' THEN 1 ELSE -1 END "+
					"WHERE id IN ('bank/%d', 'bank/%d')", from, from, to)
				want := "UPDATE 2"
				if from%2 == 0 {
					text, want = text+" RETURNING 1", "1\n1\n"+want
				}
				got := x.answer(text)
				if got != want {
					t.Errorf("%s: %s", text, got)
					return
				}
				writes.Add(1)
			}
		})
	}
	x := w.connect(t)
	done.Go(func() {
		for !over.Load() {
			if got := x.answer("SELECT sum(n), count(*), count(k) FROM bank"); got != "20000|200|200\nSELECT 1" {
				t.Errorf("a total: %s", got)
				return
			}
		}
	})
	for i, to := range []int{2, 0, 1, 0} {
		got := c.answer(fmt.Sprintf("SELECT sherd.move_buckets('postgres', 0, %s, 'postgres$%d', wait => true)",
			quarter, to))
		if !strings.Contains(got, "SELECT 1") {
			t.Errorf("move %d: %s", i, got)
		}
	}
	over.Store(true)
	done.Wait()
	if got := held.answer(all); got != before {
		t.Errorf("the snapshot has changed:\n%s\n%s", before, got)
	}
	if got := cursor.answer("FETCH ALL FROM c"); !strings.HasSuffix(got, "FETCH 190") {
		t.Errorf("the cursor: %.200s", got)
	}
	c.want("SELECT count(*) FROM sherd.move_history WHERE outcome = 'done'", "4\nSELECT 1")
	c.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
	t.Logf("%d writes, %s", writes.Load(),
		c.answer("SELECT round(max(worst_blocked_ms)::numeric, 1), sum(retries) FROM sherd.move_history"))
}
