package sql_test

import (
	"strings"
	"testing"
)

// TestStatusOfOthers: a transaction's id of 64 bits names it in other sessions too.
func TestStatusOfOthers(t *testing.T) {
	w := newWorld(t)
	a, b := w.connect(t), w.connect(t)
	a.want("CREATE TABLE s (id int PRIMARY KEY)", "CREATE TABLE")
	for end, want := range map[string]string{"COMMIT": "committed", "ROLLBACK": "aborted"} {
		a.answer("DELETE FROM s")
		id := strings.Split(a.answer("BEGIN; INSERT INTO s VALUES (1); SELECT pg_current_xact_id()"), "\n")[2]
		b.want("SELECT pg_xact_status('"+id+"')", "in progress\nSELECT 1")
		a.want(end, end)
		b.want("SELECT pg_xact_status('"+id+"'), sherd.txn_outcome('"+id+"')", want+"|"+want+"\nSELECT 1")
	}
	b.want("SELECT pg_xact_status('1000')", "null\nSELECT 1")
	b.want("SELECT sherd.txn_outcome('00000000000000000000000000000000')", "unknown\nSELECT 1")
	for _, id := range []string{"00", "", "x", "1000", "0000000000000000000000000000000000"} {
		b.want("SELECT sherd.txn_outcome('"+id+"')", "invalid transaction id: \""+id+"\" (SQLSTATE 22023)")
	}
}

// TestStatusOfIdle: a transaction that has an id and wrote nothing is reported as committed or as
// rolled back.
func TestStatusOfIdle(t *testing.T) {
	w := newWorld(t)
	a, b := w.connect(t), w.connect(t)
	for end, want := range map[string]string{"COMMIT": "committed", "ROLLBACK": "aborted"} {
		id := strings.Split(a.answer("BEGIN; SELECT pg_current_xact_id()"), "\n")[1]
		a.want(end, end)
		b.want("SELECT pg_xact_status('"+id+"')", want+"\nSELECT 1")
	}
}
