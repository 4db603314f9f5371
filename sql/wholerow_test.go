package sql_test

import "testing"

// TestWholeRowOfGroupedKey: a grouped primary key determines the row, so that the row itself may stand above the aggregation.
func TestWholeRowOfGroupedKey(t *testing.T) {
	c := newWorldOf(t, 1).connect(t)
	c.want("CREATE TABLE t (a int PRIMARY KEY, b text, j json); INSERT INTO t VALUES (1, 'x', '{}'), (2, NULL, NULL)", "CREATE TABLE\nINSERT 0 2")
	c.want("SELECT t, count(*) FROM t GROUP BY a ORDER BY a", "(1,x,{})|1\n(2,,)|1\nSELECT 2")
	c.want("SELECT x.a, y FROM t x LEFT JOIN t y ON x.a = y.a + 1 GROUP BY x.a, y.a ORDER BY x.a", "1|null\n2|(1,x,{})\nSELECT 2")
	c.want("SELECT (SELECT x) FROM t x GROUP BY a ORDER BY a", "(1,x,{})\n(2,,)\nSELECT 2")
}
