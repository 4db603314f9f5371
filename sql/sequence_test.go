package sql_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/sherddb/sherd/sql"
)

// TestSequenceAmongSessions: whoever takes values, by functions, by defaults, from one fragment or from all at once, none comes twice.
func TestSequenceAmongSessions(t *testing.T) {
	w := newWorld(t)
	c := w.connect(t)
	c.want("CREATE TABLE t (id serial PRIMARY KEY, n int)", "CREATE TABLE")
	c.want("CREATE SEQUENCE s CACHE 3", "CREATE SEQUENCE")
	const sessions, rounds = 6, 40
	given := make([][]string, sessions)
	var done sync.WaitGroup
	for i := range sessions {
		c := w.connect(t)
		done.Add(1)
		go func() {
			defer done.Done()
			for r := range rounds {
				given[i] = append(given[i], strings.Fields(c.answer("SELECT nextval('s') FROM generate_series(1, 4)"))...)
				c.answer(fmt.Sprintf("INSERT INTO t (n) VALUES (%d), (%d)", r, r))
			}
		}()
	}
	done.Wait()
	seen := map[int]bool{}
	for _, list := range given {
		var numbers []int
		for _, word := range list {
			if n, err := strconv.Atoi(word); err == nil {
				numbers = append(numbers, n)
			}
		}
		if len(numbers) < 4*rounds || !slices.IsSorted(numbers[:4]) {
			t.Errorf("%d values: %v", len(numbers), list[:8])
		}
	}
	for _, list := range given {
		for _, word := range list {
			if n, err := strconv.Atoi(word); err == nil && n > 4 { // smaller numbers are in tags, too
				if seen[n] {
					t.Errorf("%d was given twice", n)
				}
				seen[n] = true
			}
		}
	}
	c.want("SELECT count(*) = 480, count(DISTINCT id) = 480, max(id) <= 480 FROM t", "t|t|t\nSELECT 1")
	c.want("SELECT last_value = 480 FROM t_id_seq", "t\nSELECT 1")
	// In the fragments, where an UPDATE runs.
	c.want("UPDATE t SET id = nextval('t_id_seq')", "UPDATE 480")
	c.want("SELECT count(DISTINCT id) = 480, min(id) > 480 FROM t", "t|t\nSELECT 1")
	c.want("SELECT subject, detail FROM sherd.check() WHERE NOT ok", "SELECT 0")
}

// TestSequenceOfTwoServers: each server takes blocks of its own, as nodes of a cluster do.
func TestSequenceOfTwoServers(t *testing.T) {
	w := newWorld(t)
	a, b := w.connect(t), w.another().connect(t)
	a.want("CREATE SEQUENCE s", "CREATE SEQUENCE")
	a.want("SELECT nextval('s'), nextval('s')", "1|2\nSELECT 1")
	b.want("SELECT nextval('s'), nextval('s')", "34|35\nSELECT 1")
	a.want("SELECT nextval('s')", "3\nSELECT 1")
	a.want("SELECT * FROM s", "66|0|t\nSELECT 1") // b may have given as much
	b.want("SELECT * FROM s", "35|31|t\nSELECT 1")
	a.want("SELECT nextval('s')", "67\nSELECT 1") // who has looked begins behind the others
	b.want("SELECT setval('s', 500)", "500\nSELECT 1")
	b.want("SELECT nextval('s')", "501\nSELECT 1")
	a.want("SELECT count(*) FROM (SELECT nextval('s') FROM generate_series(1, 200)) AS x", "200\nSELECT 1")
	a.want("SELECT currval('s') > 501", "t\nSELECT 1")
	a.want("ALTER SEQUENCE s RESTART", "ALTER SEQUENCE")
	b.want("SELECT nextval('s')", "1\nSELECT 1")
	a.want("SELECT nextval('s')", "34\nSELECT 1")
	a.want("DROP SEQUENCE s", "DROP SEQUENCE")
	b.want("SELECT nextval('s')", `relation "s" does not exist (SQLSTATE 42P01)`)
}

// TestSequenceGivenBack: a server that ends in peace gives back what it has not given, unless another has gone on from there.
func TestSequenceGivenBack(t *testing.T) {
	w := newWorld(t)
	a, other := w.connect(t), w.another()
	b := other.connect(t)
	a.want("CREATE SEQUENCE s; CREATE SEQUENCE unused; CREATE SEQUENCE shared", "CREATE SEQUENCE\nCREATE SEQUENCE\nCREATE SEQUENCE")
	a.want("SELECT nextval('s'), nextval('s'), nextval('shared')", "1|2|1\nSELECT 1")
	b.want("SELECT nextval('shared')", "34\nSELECT 1")
	must(t, w.server.Close(t.Context()))
	b.want("SELECT * FROM s", "2|0|t\nSELECT 1")
	b.want("SELECT nextval('s'), nextval('shared'), nextval('unused')", "3|35|1\nSELECT 1")
	must(t, other.server.Close(t.Context()))
	a.want("SELECT nextval('s'), nextval('shared'), nextval('unused')", "4|36|2\nSELECT 1")
}

// TestSequenceLocks: who has taken values keeps others from changing the sequence, to the end of the transaction.
func TestSequenceLocks(t *testing.T) {
	w := newWorld(t)
	a, b := w.connect(t), w.connect(t)
	a.want("CREATE SEQUENCE s", "CREATE SEQUENCE")
	a.want("BEGIN; SELECT nextval('s')", "BEGIN\n1\nSELECT 1")
	b.want("SELECT nextval('s')", "2\nSELECT 1")
	b.want("SET lock_timeout = '1ms'; DROP SEQUENCE s", "SET\ncanceling statement due to lock timeout (SQLSTATE 55P03)")
	a.want("COMMIT", "COMMIT")
	b.want("RESET lock_timeout; BEGIN; ALTER SEQUENCE s RESTART WITH 90; SELECT nextval('s')", "RESET\nBEGIN\nALTER SEQUENCE\n90\nSELECT 1")
	a.want("SET lock_timeout = '1ms'; SELECT nextval('s')", "SET\ncanceling statement due to lock timeout (SQLSTATE 55P03)")
	b.want("COMMIT", "COMMIT")
	a.want("RESET lock_timeout; SELECT nextval('s'), currval('s')", "RESET\n91|91\nSELECT 1")
}

// TestSequenceRights: a sequence is its owner's.
func TestSequenceRights(t *testing.T) {
	w := newWorld(t)
	c := w.connect(t)
	c.want("CREATE SEQUENCE s; CREATE ROLE eve LOGIN", "CREATE SEQUENCE\nCREATE ROLE")
	eve := w.connectAs(t, "eve", sql.Handle{})
	const denied = "permission denied for sequence s (SQLSTATE 42501)"
	for _, q := range []string{"SELECT nextval('s')", "SELECT currval('s')", "SELECT setval('s', 1)", "SELECT * FROM s"} {
		eve.want(q, denied)
	}
	eve.want("ALTER SEQUENCE s RESTART", "must be owner of sequence s (SQLSTATE 42501)")
	eve.want("DROP SEQUENCE s", "must be owner of sequence s (SQLSTATE 42501)")
	eve.want("SELECT last_value FROM pg_sequences", "null\nSELECT 1")
	eve.want("SELECT count(*) FROM information_schema.sequences", "0\nSELECT 1")
}
