package sql_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// quarter is the number of buckets in a quarter of a database.
const quarter = "262144"

// TestMoveBeneathFill: an index that was filled in a transaction lacks the entries of rows that
// moved before its commit, so the commit fails. In autocommit, the statement is run again.
func TestMoveBeneathFill(t *testing.T) {
	w := newWorld(t)
	c, mover := w.connect(t), w.connect(t)
	c.want("CREATE TABLE acc (id text NOT NULL, n int NOT NULL)", "CREATE TABLE")
	c.want("INSERT INTO acc SELECT 'acc/' || i, i FROM generate_series(1, 1000) i", "INSERT 0 1000")
	at := 0
	move := func() {
		t.Helper()
		at = 2 - at
		if got := mover.answer(
			fmt.Sprintf("SELECT sherd.move_buckets('postgres', 0, %s, 'postgres$%d', wait => true) > 0", quarter, at),
		); !strings.HasSuffix(got, "t\nSELECT 1") {
			t.Errorf("move to %d: %s", at, got)
		}
	}
	const refused = "could not serialize access: rows have moved to another fragment (SQLSTATE 40001): An index was " +
		"filled in this transaction before they moved."
	for _, statement := range []string{"CREATE INDEX filled ON acc (n)", "CREATE UNIQUE INDEX filled ON acc (n, id)",
		"ALTER TABLE acc ADD CONSTRAINT filled UNIQUE (n)"} {
		for _, end := range []string{"COMMIT", "PREPARE TRANSACTION 'filling'"} {
			c.want("BEGIN", "BEGIN")
			c.answer(statement)
			move()
			c.want(end, refused)
			c.want("SELECT count(*) FROM pg_class WHERE relname = 'filled'", "0\nSELECT 1")
		}
	}
	c.want("BEGIN; CREATE TABLE made (id text PRIMARY KEY, n int); CREATE INDEX ON made (n); "+
		"INSERT INTO made VALUES ('a', 1)", "BEGIN\nCREATE TABLE\nCREATE INDEX\nINSERT 0 1")
	c.want("COMMIT", "COMMIT")
	c.want("BEGIN; CREATE TABLE told (id text PRIMARY KEY, n int UNIQUE); INSERT INTO told SELECT 't/' || i, i "+
		"FROM generate_series(1, 200) i", "BEGIN\nCREATE TABLE\nINSERT 0 200")
	c.want("SELECT count(*) FROM told a WHERE n IN (SELECT n FROM told)", "200\nSELECT 1")
	c.want("COMMIT; SELECT id FROM told WHERE n = 77", "COMMIT\nt/77\nSELECT 1")
	// Entries whose buckets have arrived, by definitions that the fragments did not know.
	c.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
	var over atomic.Bool
	var done sync.WaitGroup
	done.Go(func() {
		for !over.Load() && !t.Failed() {
			move()
		}
	})
	for i := range 4 {
		c.want(fmt.Sprintf("ALTER TABLE acc ADD CONSTRAINT u%d UNIQUE (n)", i), "ALTER TABLE")
		c.want(fmt.Sprintf("CREATE INDEX i%d ON acc (n, id)", i), "CREATE INDEX")
		c.want("SELECT count(*) FROM acc WHERE n BETWEEN 1 AND 100", "100\nSELECT 1")
		c.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
		c.want(fmt.Sprintf("ALTER TABLE acc DROP CONSTRAINT u%d; DROP INDEX i%d", i, i), "ALTER TABLE\nDROP INDEX")
	}
	over.Store(true)
	done.Wait()
}
