package sql_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// TestSplitUnderLoad splits and merges segments while single statements over several of them write
// and read. No statement sees an error, the total never changes, an older snapshot reads the same
// rows by every index, an open cursor continues, and a transaction whose rows got another name
// fails with 40001.
func TestSplitUnderLoad(t *testing.T) {
	w := newWorld(t)
	c := w.connect(t)
	c.want("CREATE TABLE bank (id int PRIMARY KEY, n int, k int UNIQUE) WITH (shard_by = 'range')", "CREATE TABLE")
	c.want("CREATE INDEX ON bank ((k % 10), n)", "CREATE INDEX")
	c.want("INSERT INTO bank SELECT i, 100, -i FROM generate_series(1, 200) i", "INSERT 0 200")
	const all = "SELECT sum(n), md5(string_agg(id || ':' || n, ',' ORDER BY id)), count(*) FILTER (WHERE k % 10 = " +
		"-3) FROM bank"
	const byIndex = "SELECT md5(string_agg(id || ':' || n, ',' ORDER BY id)) FROM bank WHERE k % 10 = -3"
	held, cursor, doomed := w.connect(t), w.connect(t), w.connect(t)
	held.want("BEGIN ISOLATION LEVEL REPEATABLE READ", "BEGIN")
	before, some := held.answer(all), held.answer(byIndex)
	cursor.want("BEGIN", "BEGIN")
	cursor.want("DECLARE c CURSOR FOR SELECT id FROM bank", "DECLARE CURSOR")
	cursor.answer("FETCH 10 FROM c")
	doomed.want("BEGIN", "BEGIN")
	doomed.want("INSERT INTO bank VALUES (1000, 0, 1000)", "INSERT 0 1")
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
				text := fmt.Sprintf("UPDATE bank SET n = n + CASE WHEN id = %d THEN 1 ELSE -1 END WHERE id IN (%d, %d)",
					from, from, to)
				want := "UPDATE 2"
				if from%2 == 0 {
					text, want = fmt.Sprintf("UPDATE bank SET n = n + CASE WHEN k = %d THEN 1 ELSE -1 END "+
						"WHERE k IN (%d, %d) RETURNING 1", -from, -from, -to), "1\n1\nUPDATE 2"
				}
				if got := x.answer(text); got != want {
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
			if got := x.answer(
				"SELECT sum(n), count(*), count(k), count(*) FILTER (WHERE k % 10 = -3) FROM bank",
			); got != "20000|200|200|20\nSELECT 1" {
				t.Errorf("a total: %s", got)
				return
			}
			if got := x.answer("SELECT count(*) FROM bank WHERE k % 10 = -3"); got != "20\nSELECT 1" {
				t.Errorf("by an index: %s", got)
				return
			}
		}
	})
	for _, call := range []string{
		"split_segment('bank', '100')", "split_segment('bank', '50')", "merge_segments('bank', '100')",
		"split_segment('bank', '150')",
		"merge_segments('bank', '50')", "merge_segments('bank', '150')",
	} {
		c.reshaped(call)
	}
	over.Store(true)
	done.Wait()
	doomed.want("SELECT count(*) FROM bank",
		"could not serialize access: rows of this transaction have moved to another fragment (SQLSTATE 40001)")
	doomed.want("ROLLBACK", "ROLLBACK")
	if got := held.answer(all); got != before {
		t.Errorf("the snapshot has changed:\n%s\n%s", before, got)
	}
	if got := held.answer(byIndex); got != some {
		t.Errorf("the snapshot has changed by an index:\n%s\n%s", some, got)
	}
	if got := cursor.answer("FETCH ALL FROM c"); !strings.HasSuffix(got, "FETCH 190") {
		t.Errorf("the cursor: %.200s", got)
	}
	c.want("SELECT subject, change FROM sherd.changelog WHERE subject ~ '^bank: (split|merged)' ORDER BY at",
		"bank: split at 100|move done\nbank: split at 50|move done\nbank: merged at 100|move done\nbank: split at "+
			"150|move done\nbank: merged at 50|move done\n"+
			"bank: merged at 150|move done\nSELECT 6")
	c.want("SELECT count(*) FROM sherd.segments", "1\nSELECT 1")
	c.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
	t.Logf("%d writes, %s", writes.Load(),
		c.answer("SELECT round(max(worst_blocked_ms)::numeric, 1), sum(retries) FROM sherd.move_history"))
}
