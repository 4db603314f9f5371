package sql_test

import (
	"fmt"
	"testing"
)

// TestSnapshotOfNothing: a snapshot taken while no fragment holds anything yet is one like any other, and does not move on with the first
// commits. Histories that began in an empty database had read skew (G-single) in their first moments.
func TestSnapshotOfNothing(t *testing.T) {
	for _, fragments := range []int{1, 3} {
		for _, level := range []string{"REPEATABLE READ", "SERIALIZABLE"} {
			t.Run(fmt.Sprint(level, " ", fragments), func(t *testing.T) {
				w := newWorldOf(t, fragments)
				a, b := w.connect(t), w.connect(t)
				a.want("CREATE TABLE e (id int PRIMARY KEY)", "CREATE TABLE")
				a.want("BEGIN ISOLATION LEVEL "+level, "BEGIN")
				a.want("SELECT count(*) FROM e WHERE id = 1", "0\nSELECT 1")
				b.want("INSERT INTO e SELECT generate_series(1, 9)", "INSERT 0 9")
				a.want("SELECT count(*) FROM e WHERE id = 9; SELECT count(*) FROM e", "0\nSELECT 1\n0\nSELECT 1")
				a.want("COMMIT; SELECT count(*) FROM e", "COMMIT\n9\nSELECT 1")
			})
		}
	}
	t.Run("cursor", func(t *testing.T) {
		w := newWorld(t)
		a, b := w.connect(t), w.connect(t)
		a.want("CREATE TABLE e (id int PRIMARY KEY)", "CREATE TABLE")
		a.want("BEGIN; DECLARE c CURSOR FOR SELECT id FROM e", "BEGIN\nDECLARE CURSOR")
		b.want("INSERT INTO e SELECT generate_series(1, 9)", "INSERT 0 9")
		a.want("FETCH ALL FROM c; SELECT count(*) FROM e; COMMIT", "FETCH 0\n9\nSELECT 1\nCOMMIT")
	})
}
