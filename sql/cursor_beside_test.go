package sql_test

import (
	"fmt"
	"testing"
)

// TestCursorsBesideWrites: large cursors over several fragments are read while their transaction writes what they read, and undoes some of it.
func TestCursorsBesideWrites(t *testing.T) {
	a := newWorldOf(t, 3).connect(t)
	const rows = 6000
	a.want("CREATE TABLE t (id int PRIMARY KEY, v int, pad text); CREATE INDEX ON t (v)", "CREATE TABLE\nCREATE INDEX")
	a.want(fmt.Sprintf("INSERT INTO t SELECT g, 0, repeat('x', 200) FROM generate_series(1, %d) g", rows), fmt.Sprintf("INSERT 0 %d", rows))
	a.want("BEGIN", "BEGIN")
	for _, c := range []string{"plain CURSOR FOR SELECT id, v, pad FROM t", "ordered CURSOR FOR SELECT id, v, pad FROM t ORDER BY id", "grouped CURSOR FOR SELECT v, count(*) FROM t GROUP BY v",
		"joined CURSOR FOR SELECT x.id FROM t x JOIN t y ON x.id = y.id + 1 WHERE x.v = 0"} {
		a.want("DECLARE "+c, "DECLARE CURSOR")
	}
	a.want("MOVE 10 plain; MOVE 10 ordered; MOVE 10 joined", "MOVE 10\nMOVE 10\nMOVE 10")
	for n := range 6 {
		a.answer(fmt.Sprintf("UPDATE t SET v = %d WHERE id %% 6 = %d", n+1, n))
		a.want("MOVE 500 plain; MOVE 500 ordered; MOVE 500 joined", "MOVE 500\nMOVE 500\nMOVE 500")
		a.answer(fmt.Sprintf("INSERT INTO t VALUES (%d, 0, ''), (%d, 0, '')", rows+2*n+1, rows+2*n+2))
	}
	a.want("FETCH ALL grouped", fmt.Sprintf("0|%d\nFETCH 1", rows))
	a.want("SAVEPOINT s; DELETE FROM t", fmt.Sprintf("SAVEPOINT\nDELETE %d", rows+12))
	a.want("MOVE 100 plain", "MOVE 100")
	a.want("ROLLBACK TO s", "ROLLBACK")
	a.want("MOVE ALL plain; MOVE ALL ordered; MOVE ALL joined", fmt.Sprintf("MOVE %d\nMOVE %d\nMOVE %d", rows-3110, rows-3010, rows-1-3010))
	a.want("COMMIT", "COMMIT")
	a.checked()
}
