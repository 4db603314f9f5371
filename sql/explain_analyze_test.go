package sql_test

import (
	"regexp"
	"strings"
	"testing"
)

// TestExplainAnalyze checks what EXPLAIN ANALYZE says of sorts, filters and joins.
func TestExplainAnalyze(t *testing.T) {
	c := newWorldOf(t, 1).connect(t) // steps in other processes are not measured
	c.want("CREATE TABLE t (id int PRIMARY KEY, g int, pad text)", "CREATE TABLE")
	c.want("INSERT INTO t SELECT n, n % 7, repeat('x', 100) FROM generate_series(1, 3000) n", "INSERT 0 3000")
	c.want("ANALYZE t", "ANALYZE")
	const explain = "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) "
	for _, x := range []struct{ set, text, want string }{
		{"", "SELECT * FROM t ORDER BY g", `(?s)Sort \(actual rows=3000 loops=1\).*` +
			`Sort Method: quicksort  Memory: \d{3}kB.*Seq Scan on t \(actual rows=3000 loops=1\)`},
		{"SET work_mem = '64kB'", "SELECT * FROM t ORDER BY g", `Sort Method: external merge  Disk: \d{3}kB`},
		{"RESET work_mem", "SELECT * FROM t ORDER BY g LIMIT 5", `Sort Method: top-N heapsort  Memory: \dkB`},
		{"CREATE INDEX ON t (g)", "SELECT max(g) FROM t", `Index Only Scan Backward using t_g_idx on t \(actual rows=1 loops=1\)`},
		{"SET enable_seqscan = off", "SELECT g, pad FROM t ORDER BY g, pad, id LIMIT 500",
			`(?s)Incremental Sort \(actual rows=500 loops=1\).*Sort Key: g, pad, id.*Presorted Key: g\n.*` +
				`Full-sort Groups: 2  Sort Method: top-N heapsort  Average Memory: \d+kB  Peak Memory: \d+kB.*` +
				`Index Scan using t_g_idx on t \(actual rows=858 loops=1\)`},
		{"SET enable_incremental_sort = off", "SELECT g, pad FROM t ORDER BY g, pad, id LIMIT 500", `Top-N Sort`},
		{"DROP INDEX t_g_idx", "SELECT * FROM t WHERE g = 3 AND pad <> 'y'",
			`(?s)Seq Scan on t \(actual rows=429 loops=1\).*Rows Removed by Filter: 2571`},
	} {
		if x.set != "" {
			c.answer(x.set)
		}
		if got := c.answer(explain + x.text); !regexp.MustCompile(x.want).MatchString(got) {
			t.Errorf("%s %s\n%s\nwant %s", x.set, x.text, got, x.want)
		}
	}
	got := c.answer("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT JSON) SELECT * FROM t ORDER BY g")
	for _, want := range []string{`"Sort Method": "quicksort"`, `"Sort Space Type": "Memory"`, `"Sort Space Used": `} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}
