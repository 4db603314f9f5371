package sql_test

import "testing"

// TestCurrentOfWithoutKey: UPDATE and DELETE ... WHERE CURRENT OF a cursor over a table that has no primary key, of rows that are alike.
func TestCurrentOfWithoutKey(t *testing.T) {
	for _, fragments := range []int{1, 3} {
		a := newWorldOf(t, fragments).connect(t)
		a.want("CREATE TABLE n (v int); INSERT INTO n VALUES (1), (1), (1), (2)", "CREATE TABLE\nINSERT 0 4")
		for _, lock := range []string{"", " FOR UPDATE"} {
			a.want("BEGIN; DECLARE c CURSOR FOR SELECT v FROM n WHERE v = 1"+lock+"; FETCH c; UPDATE n SET v = 7 WHERE CURRENT OF c RETURNING v", "BEGIN\nDECLARE CURSOR\n1\nFETCH 1\n7\nUPDATE 1")
			a.want("FETCH c; DELETE FROM n WHERE CURRENT OF c", "1\nFETCH 1\nDELETE 1")
			a.want("SELECT v, count(*) FROM n GROUP BY v ORDER BY v", "1|1\n2|1\n7|1\nSELECT 3")
			a.want("ROLLBACK", "ROLLBACK")
		}
		a.want("CREATE TABLE m (id int PRIMARY KEY, w int); INSERT INTO m VALUES (1, 1), (2, 2)", "CREATE TABLE\nINSERT 0 2")
		a.want("BEGIN; DECLARE c CURSOR FOR SELECT n.v, m.w FROM n JOIN m ON m.w = n.v ORDER BY n.v DESC FOR UPDATE OF n; FETCH c; DELETE FROM n WHERE CURRENT OF c", "BEGIN\nDECLARE CURSOR\n2|2\nFETCH 1\nDELETE 1")
		a.want("SELECT count(*) FROM n WHERE v = 2; ROLLBACK", "0\nSELECT 1\nROLLBACK")
	}
}
