package sql_test

import "testing"

// TestReturningSystemColumns: tableoid, ctid and xmin of rows that a statement writes.
func TestReturningSystemColumns(t *testing.T) {
	for _, fragments := range []int{1, 3} {
		a := newWorldOf(t, fragments).connect(t)
		a.want("CREATE TABLE o (id int PRIMARY KEY, v int UNIQUE)", "CREATE TABLE")
		a.want("INSERT INTO o VALUES (1, 1), (2, 2) RETURNING tableoid::regclass, id", "o|1\no|2\nINSERT 0 2")
		a.want("UPDATE o SET v = 5 WHERE id = 1 AND ctid IS NOT NULL RETURNING tableoid::regclass, xmin, ctid IS NULL, id, v", "o|2|f|1|5\nUPDATE 1")
		a.want("UPDATE o SET id = 7 FROM (VALUES (1)) x (i) WHERE id = i AND tableoid = 'o'::regclass RETURNING tableoid::regclass, id", "o|7\nUPDATE 1")
		a.want("INSERT INTO o VALUES (7, 1) ON CONFLICT (id) DO UPDATE SET v = 9 RETURNING tableoid::regclass, v", "o|9\nINSERT 0 1")
		a.want("DELETE FROM o WHERE id IN (SELECT 7) RETURNING tableoid::regclass, ctid IS NULL, o", "o|f|(7,9)\nDELETE 1")
		a.want("WITH d AS (DELETE FROM o RETURNING tableoid::regclass AS r, id) SELECT * FROM d", "o|2\nSELECT 1")
	}
}
