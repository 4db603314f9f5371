package sql_test

import "testing"

// TestIndexOfWholeRow: a new column is a part of the row, so that an index over the row gets other entries.
func TestIndexOfWholeRow(t *testing.T) {
	c := newWorldOf(t, 1).connect(t)
	c.want("CREATE TABLE t (a int PRIMARY KEY, b text); INSERT INTO t VALUES (1, 'x'), (2, NULL)", "CREATE TABLE\nINSERT 0 2")
	c.want("CREATE INDEX i ON t ((t)); CREATE INDEX p ON t (a) WHERE t IS NOT NULL", "CREATE INDEX\nCREATE INDEX")
	c.want("ALTER TABLE t ADD c int", "ALTER TABLE")
	c.want("ALTER TABLE t ADD d int DEFAULT 5, ADD e text DEFAULT 'e'", "ALTER TABLE")
	c.want("SELECT * FROM t ORDER BY a", "1|x|null|5|e\n2|null|null|5|e\nSELECT 2")
	c.want("BEGIN; ALTER TABLE t ADD f int; COMMIT", "BEGIN\nALTER TABLE\nCOMMIT")
	c.want("INSERT INTO t VALUES (3, 'z'); UPDATE t SET b = 'y' WHERE a = 2", "INSERT 0 1\nUPDATE 1")
	c.want("SELECT a FROM t WHERE t = ROW(2, 'y', NULL, 5, 'e', NULL)::t", "2\nSELECT 1")
	c.want("ALTER TABLE t DROP c; CREATE UNIQUE INDEX u ON t ((t)); INSERT INTO t VALUES (4, 'w')", "ALTER TABLE\nCREATE INDEX\nINSERT 0 1")
	c.want("CREATE TABLE n (id int); INSERT INTO n VALUES (1), (2); CREATE UNIQUE INDEX nu ON n ((n))", "CREATE TABLE\nINSERT 0 2\nCREATE INDEX")
	c.want(`SELECT "check", subject, detail FROM sherd.check() WHERE NOT ok`, "SELECT 0")
}

// TestWholeRowOfGroupedKey: a grouped primary key determines the row, so that the row itself may stand above the aggregation.
func TestWholeRowOfGroupedKey(t *testing.T) {
	c := newWorldOf(t, 1).connect(t)
	c.want("CREATE TABLE t (a int PRIMARY KEY, b text, j json); INSERT INTO t VALUES (1, 'x', '{}'), (2, NULL, NULL)", "CREATE TABLE\nINSERT 0 2")
	c.want("SELECT t, count(*) FROM t GROUP BY a ORDER BY a", "(1,x,{})|1\n(2,,)|1\nSELECT 2")
	c.want("SELECT x.a, y FROM t x LEFT JOIN t y ON x.a = y.a + 1 GROUP BY x.a, y.a ORDER BY x.a", "1|null\n2|(1,x,{})\nSELECT 2")
	c.want("SELECT (SELECT x) FROM t x GROUP BY a ORDER BY a", "(1,x,{})\n(2,,)\nSELECT 2")
}
