package sql_test

import (
	"fmt"
	"testing"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/sql/statistics"
	"github.com/sherddb/sherd/sql/types"
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

// TestAnalyze checks what the planner knows of a table after ANALYZE, and after its definition has
// changed.
func TestAnalyze(t *testing.T) {
	w := newWorld(t)
	c := w.connect(t)
	c.want("CREATE TABLE t (k int PRIMARY KEY, grp int, name text, doc jsonb, note text)", "CREATE TABLE")
	c.want("CREATE INDEX by_lower ON t (lower(name))", "CREATE INDEX")
	c.want("CREATE INDEX by_path ON t ((doc->>'city')) WHERE grp < 5", "CREATE INDEX")
	c.want(`INSERT INTO t SELECT g, g % 10, 'Name ' || g % 100, jsonb_build_object('city', 'c' || g % 3),
		CASE WHEN g % 4 = 0 THEN repeat('x', 3000) END FROM generate_series(1, 5000) g`, "INSERT 0 5000")
	c.want("ANALYZE t", "ANALYZE")
	got := w.known("t")
	column := func(position int16) statistics.Variable { return got.Variable(statistics.Key{Position: position}) }
	near := func(what string, got, want float64) {
		t.Helper()
		if got < want*0.98 || got > want*1.02 {
			t.Errorf("%s: got %v, want %v", what, got, want)
		}
	}
	near("rows", got.Rows, 5000)
	near("distinct keys", column(1).Distinct(), 5000)
	near("half of the keys", column(1).Range(nil, &statistics.Bound{Value: types.NewInt(2500)}), 0.5)
	near("groups", column(2).Distinct(), 10)
	near("a group", column(2).Equal(types.NewInt(3)), 0.1)
	near("names", column(3).Distinct(), 100)
	near("null notes", column(5).IsNull(), 0.75)
	near("wide notes", got.Column(statistics.Key{Position: 5}).Width, 3000)
	view := w.cfg.Catalog.View()
	table := view.TableByName(view.SchemaByName(view.DatabaseByName("postgres").OID, "public").OID, "t")
	for _, x := range table.Indexes {
		v := got.Variable(statistics.Key{Index: x.OID, Position: 1})
		switch x.Name {
		case "by_lower":
			near("lower names", v.Equal(types.NewText("name 7")), 0.01)
		case "by_path":
			near("cities", v.Distinct(), 3)
		}
	}
	c.want("ALTER TABLE t DROP COLUMN name", "ALTER TABLE")
	c.want("ALTER TABLE t ALTER COLUMN grp TYPE bigint", "ALTER TABLE")
	got = w.known("t")
	for _, position := range []int16{2, 3} {
		if got.Column(statistics.Key{Position: position}) != nil {
			t.Errorf("column %d still has statistics", position)
		}
	}
	near("null notes", column(5).IsNull(), 0.75)
	c.want("ANALYZE t (grp)", "ANALYZE")
	got = w.known("t")
	near("a group", column(2).Equal(types.NewInt(3)), 0.1)
	near("null notes", column(5).IsNull(), 0.75)
	c.want("DROP TABLE t", "DROP TABLE")
	if left := catalog.StatisticsOf(w.cfg.Catalog.View(), table.OID); left != nil {
		t.Error("statistics of a dropped table are left")
	}
}

// TestAnalyzeRollsBack checks that ANALYZE is part of its transaction.
func TestAnalyzeRollsBack(t *testing.T) {
	w := newWorld(t)
	c := w.connect(t)
	c.want("CREATE TABLE t (k int PRIMARY KEY)", "CREATE TABLE")
	c.want("INSERT INTO t SELECT generate_series(1, 100)", "INSERT 0 100")
	c.want("BEGIN", "BEGIN")
	c.want("INSERT INTO t SELECT generate_series(101, 200)", "INSERT 0 100")
	c.want("ANALYZE t", "ANALYZE")
	c.want("SELECT count(*) FROM t", "200\nSELECT 1")
	c.want("ROLLBACK", "ROLLBACK")
	if got := w.known("t"); got.AnalyzedRows != 0 {
		t.Errorf("got %+v", got)
	}
	c.want("BEGIN; ANALYZE t; COMMIT", "BEGIN\nANALYZE\nCOMMIT")
	if got := w.known("t"); got.AnalyzedRows != 100 {
		t.Errorf("got %+v", got)
	}
}

// TestAnalyzeSamples checks the statistics of tables that are larger than a sample, for each way in
// which rows are placed.
func TestAnalyzeSamples(t *testing.T) {
	w := newWorld(t)
	c := w.connect(t)
	c.want("SET default_statistics_target = 10", "SET") // samples of 3000 rows
	for name, definition := range map[string]string{
		"hashed": "CREATE TABLE hashed (k int PRIMARY KEY, grp int)",
		"ranged": "CREATE TABLE ranged (k int PRIMARY KEY, grp int) WITH (shard_by = 'range')",
		"policy": "CREATE TABLE policy (k int, grp int, PRIMARY KEY (k, grp)) WITH (shard_by = 'grp')",
	} {
		if got := c.answer(definition); got != "CREATE TABLE" {
			t.Errorf("%s: %s", name, got)
			continue
		}
		c.want("INSERT INTO "+name+" SELECT g, g % 20 FROM generate_series(1, 20000) g", "INSERT 0 20000")
		eventually.Holds(t, "the counters have the rows", func() bool {
			got := w.known(name)
			return got != nil && got.Rows == 20000
		})
		c.want("ANALYZE "+name, "ANALYZE")
		got := w.known(name)
		k, grp := got.Variable(statistics.Key{Position: 1}), got.Variable(statistics.Key{Position: 2})
		for what, x := range map[string][3]float64{
			"keys":  {k.Distinct(), 19000, 20000},
			"half":  {k.Range(nil, &statistics.Bound{Value: types.NewInt(10000)}), 0.42, 0.58},
			"grps":  {grp.Distinct(), 20, 20},
			"a grp": {grp.Equal(types.NewInt(7)), 0.03, 0.07},
			"rows":  {got.AnalyzedRows, 20000, 20000},
		} {
			if x[0] < x[1] || x[0] > x[2] {
				t.Errorf("%s, %s: got %v, want %v to %v", name, what, x[0], x[1], x[2])
			}
		}
		if n := len(k.Column.Bounds); n != 11 {
			t.Errorf("%s: %d bounds", name, n)
		}
	}
}

// TestAutoanalyze checks that tables are analyzed in the background, in all databases, and what users
// see of it.
func TestAutoanalyze(t *testing.T) {
	w := newWorld(t)
	c := w.connect(t)
	c.want("ALTER SYSTEM SET autovacuum_naptime = '1s'", "ALTER SYSTEM")
	c.want("ALTER SYSTEM SET autovacuum_vacuum_threshold = 1",
		"ALTER SYSTEM of parameter autovacuum_vacuum_threshold is not supported (SQLSTATE 0A000)")
	c.want("SHOW autovacuum_naptime", "1s\nSHOW")
	c.want("CREATE TABLE t (k int PRIMARY KEY, grp int)", "CREATE TABLE")
	c.want("CREATE TABLE small (k int PRIMARY KEY, grp int)", "CREATE TABLE")
	c.want("INSERT INTO t SELECT g, g % 4 FROM generate_series(1, 1000) g", "INSERT 0 1000")
	c.want("INSERT INTO small SELECT g, g % 4 FROM generate_series(1, 50) g", "INSERT 0 50")
	counted := func(count int, changed string) {
		t.Helper()
		want := fmt.Sprintf("0|%d|%s|%s\nSELECT 1", count, map[bool]string{true: "t", false: "f"}[count > 0], changed)
		eventually.Holds(t, fmt.Sprintf("%d analyses", count), func() bool {
			got := c.answer("SELECT analyze_count, autoanalyze_count, " +
				"last_autoanalyze > now() - interval '1 hour' IS TRUE, n_mod_since_analyze " +
				"FROM pg_stat_user_tables WHERE relname = 't'")
			return got == want
		})
	}
	counted(0, "1000")
	w.runJobs(t)
	counted(1, "0")
	c.want("SELECT attname, n_distinct FROM pg_stats ORDER BY 1", "grp|4\nk|-1\nSELECT 2")
	c.want("UPDATE t SET grp = 7 WHERE k <= 150", "UPDATE 150") // 50 and a tenth
	counted(1, "150")
	c.want("UPDATE t SET grp = 7 WHERE k = 151", "UPDATE 1")
	counted(2, "0")
	c.want("SELECT n_distinct FROM pg_stats WHERE attname = 'grp'", "5\nSELECT 1")
	c.want("ALTER TABLE small SET (autovacuum_analyze_threshold = 49)", "ALTER TABLE")
	eventually.Holds(t, "the small table is analyzed", func() bool {
		return c.answer("SELECT count(*) FROM pg_stats WHERE tablename = 'small'") == "2\nSELECT 1"
	})
}
