package sql_test

import (
	"slices"
	"strings"
	"testing"
)

// spilling are statements whose operators keep more than a small work_mem.
var spilling = []string{
	"SELECT t, id FROM big ORDER BY t, id",
	"SELECT id FROM big ORDER BY k DESC, t, id LIMIT 4000 OFFSET 100",
	"SELECT k, count(*), min(t) FROM big GROUP BY k",
	"SELECT t, count(*) FROM big GROUP BY t",
	"SELECT count(*) = count(DISTINCT g) FROM (SELECT floor(random() * 100000) AS g FROM big GROUP BY 1) x",
	"SELECT k, t, count(*) FROM big GROUP BY CUBE (k, t)",
	"SELECT count(DISTINCT t), string_agg(t, ',' ORDER BY t DESC) FROM big",
	"SELECT k, md5(array_agg(t ORDER BY id)::text), count(DISTINCT t) FROM big GROUP BY k",
	"SELECT DISTINCT t FROM big",
	"SELECT DISTINCT ON (k) k, id FROM big ORDER BY k, t, id",
	"SELECT t FROM big UNION SELECT t || 'x' FROM big",
	"SELECT t FROM big INTERSECT SELECT t FROM big WHERE id % 2 = 0",
	"SELECT t FROM big EXCEPT ALL SELECT t FROM big WHERE id % 3 = 0",
	"SELECT a.id, b.t FROM big a JOIN big b ON a.t = b.t || ''",
	"SELECT a.id, b.id FROM big a LEFT JOIN big b ON b.t = md5(a.t)",
	"SELECT a.id, b.id FROM (SELECT * FROM big WHERE id % 2 = 0) a FULL JOIN (SELECT * FROM big WHERE id % 3 = 0) b ON a.t = b.t || ''",
	"SELECT id FROM big WHERE t NOT IN (SELECT t FROM big WHERE id % 5 = 0)",
	"SELECT count(*) FROM (SELECT * FROM big WHERE id < 40) a JOIN big b ON a.t < b.t",
	"WITH c AS MATERIALIZED (SELECT * FROM big) SELECT a.id, b.t FROM c a JOIN c b ON a.id = b.id + 1",
	"WITH RECURSIVE r AS (SELECT 1 AS n, 'x' AS t UNION ALL SELECT n + 1, md5(t) FROM r WHERE n < 3000) SELECT sum(n), max(t) FROM r",
}

// TestSmallWorkMem compares answers at a small work_mem with those at a large one.
func TestSmallWorkMem(t *testing.T) {
	c := newWorld(t).connect(t)
	c.want("CREATE TABLE big (id int PRIMARY KEY, k int, t text)", "CREATE TABLE")
	c.want("INSERT INTO big SELECT i, i % 97, md5((i % 6000)::text) FROM generate_series(1, 10000) i", "INSERT 0 10000")
	for _, text := range spilling {
		c.want("SET work_mem = '64MB'", "SET")
		want := c.answer(text)
		c.want("SET work_mem = '64kB'", "SET")
		got := c.answer(text)
		if !strings.Contains(text, "ORDER BY k") && !strings.HasSuffix(text, "ORDER BY t, id") {
			got, want = sortedLines(got), sortedLines(want)
		}
		if got != want {
			t.Errorf("%s: %.200s\nat a large work_mem: %.200s", text, got, want)
		}
	}
	c.want("SET temp_file_limit = '100kB'", "SET")
	const refused = "temporary file size exceeds temp_file_limit (100kB)"
	if got := c.answer("SELECT t || t FROM big ORDER BY t"); !strings.Contains(got, refused) {
		t.Errorf("got %.200s, want %s", got, refused)
	}
}

func sortedLines(text string) string {
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
