package sql_test

import "testing"

// TestCorrelatedSubqueries: what a subquery gave for outer values is used again for the same ones, nulls and equal numbers of other scale among them, and not
// where it calls something volatile.
func TestCorrelatedSubqueries(t *testing.T) {
	a := newWorld(t).connect(t)
	a.want("CREATE TABLE o (id int PRIMARY KEY, c int, n numeric); CREATE TABLE c (id int PRIMARY KEY, name text, n numeric)", "CREATE TABLE\nCREATE TABLE")
	a.want("INSERT INTO o SELECT g, CASE WHEN g % 5 > 0 THEN g % 5 END, CASE g % 3 WHEN 0 THEN 1.0 WHEN 1 THEN 1.00 ELSE 2 END FROM generate_series(1, 300) g", "INSERT 0 300")
	a.want("INSERT INTO c SELECT g, 'c' || g, g % 2 FROM generate_series(0, 3) g", "INSERT 0 4")
	script(a,
		"SELECT count(*) FROM o WHERE (SELECT name FROM c WHERE c.id = o.c) IS DISTINCT FROM (SELECT max(name) FROM c RIGHT JOIN (VALUES (o.c)) v(x) ON c.id = v.x)", "0\nSELECT 1",
		"SELECT (SELECT name FROM c WHERE c.id = o.c) AS name, count(*) FROM o GROUP BY 1 ORDER BY 1", "c1|60\nc2|60\nc3|60\nnull|120\nSELECT 4",
		"SELECT (SELECT o.n::text || count(*) FROM c WHERE c.n = o.n) AS x, count(*) FROM o GROUP BY 1 ORDER BY 1", "1.002|100\n1.02|100\n20|100\nSELECT 3",
		"SELECT count(*) FROM o WHERE NOT EXISTS (SELECT FROM c WHERE c.id = o.c OR c.id = o.id) OR o.id < 0", "120\nSELECT 1",
		"SELECT count(DISTINCT (SELECT random() + o.c * 0)) > 100 FROM o WHERE c = 1 OR c = 2", "t\nSELECT 1",
		"SELECT sum((SELECT sum((SELECT count(*) FROM c WHERE c.id < o.c AND c.id > d.id)) FROM c d)) FROM o", "600\nSELECT 1",
		"UPDATE o SET c = (SELECT count(*) FROM o i WHERE i.c = o.c) WHERE id <= 10", "UPDATE 10",
		"SELECT c, count(*) FROM o WHERE id <= 10 GROUP BY c ORDER BY c", "0|2\n60|8\nSELECT 2",
	)
}
