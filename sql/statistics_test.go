package sql_test

import (
	"testing"

	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/sql/statistics"
)

// known returns what the planner of the world's server knows of a table of database postgres.
func (w *world) known(table string) *statistics.Table {
	w.t.Helper()
	view := w.cfg.Catalog.View()
	d := view.DatabaseByName("postgres")
	t := view.TableByName(view.SchemaByName(d.OID, "public").OID, table)
	if t == nil {
		w.t.Fatalf("no table %q", table)
	}
	return w.server.Statements.Statistics(view, t)
}

// TestSizesForPlans checks that the planner knows the rows of tables that were never analyzed. Counts
// follow a commit over several fragments by a moment.
func TestSizesForPlans(t *testing.T) {
	w := newWorld(t)
	c := w.connect(t)
	has := func(rows float64) {
		t.Helper()
		eventually.Holds(t, "the planner knows the rows", func() bool {
			got := w.known("t")
			return got != nil && got.Rows == rows && got.Bytes >= 10*rows
		})
	}
	c.want("CREATE TABLE t (k int PRIMARY KEY, v text)", "CREATE TABLE")
	has(0)
	c.want("INSERT INTO t SELECT g, 'text' FROM generate_series(1, 1000) g", "INSERT 0 1000")
	has(1000)
	c.want("DELETE FROM t WHERE k <= 300", "DELETE 300")
	has(700)
	c.want("TRUNCATE t", "TRUNCATE TABLE")
	has(0)
}
