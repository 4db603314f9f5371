package sql_test

import (
	"strings"
	"testing"
)

// TestTimeoutOfAllRuns: statement_timeout bounds a statement with all its runs. Each run here waits
// for its own lock, which is released when the data that it has read has changed, so that its
// commit meets a conflict.
func TestTimeoutOfAllRuns(t *testing.T) {
	w := newWorld(t)
	a, b := w.connect(t), w.connect(t)
	a.want("CREATE TABLE seen (id int PRIMARY KEY, v int); INSERT INTO seen VALUES (1, 0); CREATE TABLE made (v int)",
		"CREATE TABLE\nINSERT 0 1\nCREATE TABLE")
	a.want("CREATE SEQUENCE runs", "CREATE SEQUENCE")
	b.want("SELECT count(pg_advisory_lock(n)) FROM generate_series(1, 500) n", "500\nSELECT 1")
	a.want("SET default_transaction_isolation = serializable; SET statement_timeout = '300ms'", "SET\nSET")
	const text = "SELECT v + length(pg_advisory_xact_lock(nextval('runs'))::text) AS v FROM seen WHERE id = 1"
	for name, run := range map[string]func() string{
		"simple":           func() string { return a.answer("INSERT INTO made " + text) },
		"extended":         func() string { return a.pipelined("INSERT INTO made " + text) },
		"utility":          func() string { return a.answer("CREATE TABLE never AS " + text) },
		"extended utility": func() string { return a.pipelined("CREATE TABLE never AS " + text) },
	} {
		done := make(chan string, 1)
		go func() { done <- run() }()
		got := ""
		for got == "" {
			if lock, _, waits := strings.Cut(
				b.answer("SELECT objid FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"), "\nSELECT 1",
			); waits {
				b.want("UPDATE seen SET v = v + 1", "UPDATE 1")
				b.want("SELECT pg_advisory_unlock("+lock+")", "t\nSELECT 1")
			}
			select {
			case got = <-done:
			default:
			}
		}
		if got != "canceling statement due to statement timeout (SQLSTATE 57014)" {
			t.Errorf("%s: %s", name, got)
		}
	}
	a.want("RESET statement_timeout; SELECT count(*) FROM made", "RESET\n0\nSELECT 1")
}
