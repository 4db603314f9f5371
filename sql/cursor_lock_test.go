package sql_test

import (
	"fmt"
	"testing"
)

// TestCursorLocks: a cursor FOR UPDATE locks rows one by one as they are fetched. It does so
// whatever its transaction writes meanwhile, and does not see these writes.
func TestCursorLocks(t *testing.T) {
	for _, fragments := range []int{1, 3} {
		t.Run(fmt.Sprint(fragments, " fragments"), func(t *testing.T) {
			w := newWorldOf(t, fragments)
			a, b := w.connect(t), w.connect(t)
			a.want("CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t SELECT g, 0 FROM generate_series(1, "+
				"40) g; CREATE TABLE o (id int PRIMARY KEY)",
				"CREATE TABLE\nINSERT 0 40\nCREATE TABLE")
			free := func(n int) {
				t.Helper()
				b.want("SELECT count(*) FROM (SELECT id FROM t FOR UPDATE SKIP LOCKED) x",
					fmt.Sprintf("%d\nSELECT 1", n))
			}
			for _, query := range []string{"SELECT id, v FROM t ORDER BY id FOR UPDATE",
				"SELECT id, v FROM t FOR UPDATE"} {
				a.want("BEGIN; DECLARE c CURSOR FOR "+query, "BEGIN\nDECLARE CURSOR")
				free(40)
				a.answer("FETCH c")
				free(39)
				a.want("UPDATE t SET v = v + 1 WHERE id = 40; INSERT INTO t VALUES (0, 0), (50, 0); "+
					"INSERT INTO o VALUES (1)", "UPDATE 1\nINSERT 0 2\nINSERT 0 1")
				a.answer("FETCH 2 FROM c")
				if fragments == 1 {
					free(36)
				}
				a.want("SELECT count(*), sum(v) FROM t", "42|1\nSELECT 1")
				// It skips the row that the transaction has changed itself, as in PostgreSQL.
				a.want("MOVE ALL c", "MOVE 36")
				free(0)
				a.want("ROLLBACK", "ROLLBACK")
				free(40)
			}
			// A cursor shows its rows unchanged, even after a savepoint is rolled back.
			a.want("BEGIN; UPDATE t SET v = 7 WHERE id = 1; DECLARE c CURSOR FOR SELECT v FROM t WHERE id IN (1, 2) "+
				"ORDER BY id", "BEGIN\nUPDATE 1\nDECLARE CURSOR")
			a.want("UPDATE t SET v = 8; FETCH c", "UPDATE 40\n7\nFETCH 1")
			a.want("SAVEPOINT s; DELETE FROM t; ROLLBACK TO s; UPDATE t SET v = 9; FETCH ALL c",
				"SAVEPOINT\nDELETE 40\nROLLBACK\nUPDATE 40\n0\nFETCH 1")
			a.want("COMMIT", "COMMIT")
		})
	}
}
