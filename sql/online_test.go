package sql_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
)

// TestOnlineDefinitions: outside of a transaction a column or an index is added beside the table's users: who has used the table and is still there
// holds the statement up, but not those who come.
func TestOnlineDefinitions(t *testing.T) {
	w := newWorld(t)
	a, b, c := w.connect(t), w.connect(t), w.connect(t)
	a.want("CREATE TABLE o (id int PRIMARY KEY, v int)", "CREATE TABLE")
	a.want("INSERT INTO o SELECT g, g % 7 FROM generate_series(1, 3000) g", "INSERT 0 3000")

	b.want("BEGIN; UPDATE o SET v = 100 WHERE id = 1", "BEGIN\nUPDATE 1")
	column := later(t, a, "ALTER TABLE o ADD COLUMN t text DEFAULT 'd'")
	c.want("INSERT INTO o VALUES (5000, 1)", "INSERT 0 1")
	c.want("UPDATE o SET v = 200 WHERE id = 2", "UPDATE 1")
	c.want("SELECT * FROM o WHERE id = 2", "2|200\nSELECT 1")
	b.want("COMMIT", "COMMIT")
	if got := column(); got != "ALTER TABLE" {
		t.Error(got)
	}
	c.want("SELECT * FROM o WHERE id IN (1, 2, 3, 5000) ORDER BY id", "1|100|d\n2|200|d\n3|3|d\n5000|1|d\nSELECT 4")

	b.want("BEGIN; INSERT INTO o VALUES (5001, 77, 'e')", "BEGIN\nINSERT 0 1")
	index := later(t, a, "CREATE INDEX o_v ON o (v)")
	c.want("INSERT INTO o VALUES (5002, 77, 'f')", "INSERT 0 1")
	b.want("COMMIT", "COMMIT")
	if got := index(); got != "CREATE INDEX" {
		t.Error(got)
	}
	c.want("SELECT id FROM o WHERE v = 77 ORDER BY id", "5001\n5002\nSELECT 2")
	c.want("SELECT count(*) FROM o WHERE v = 3", fmt.Sprintf("%d\nSELECT 1", 429))

	if got := a.answer("CREATE UNIQUE INDEX o_u ON o (v)"); !strings.HasPrefix(got, `could not create unique index "o_u" (SQLSTATE 23505)`) {
		t.Error(got)
	}
	c.want("SELECT count(*) FROM pg_class WHERE relname = 'o_u'", "0\nSELECT 1")
	a.want("CREATE INDEX CONCURRENTLY o_t ON o (t)", "CREATE INDEX")
	a.want("SELECT count(*) FROM pg_index i JOIN pg_class c ON i.indexrelid = c.oid WHERE relname = 'o_t' AND indisvalid", "1\nSELECT 1")
	a.want("BEGIN; CREATE INDEX CONCURRENTLY o_t2 ON o (t)", "BEGIN\nCREATE INDEX CONCURRENTLY cannot run inside a transaction block (SQLSTATE 25001)")
	a.want("ROLLBACK", "ROLLBACK")
	b.want("BEGIN; UPDATE o SET v = 1 WHERE id = 1", "BEGIN\nUPDATE 1")
	a.want("SET statement_timeout = '100ms'", "SET")
	a.want("CREATE INDEX o_gone ON o (v)", "canceling statement due to statement timeout (SQLSTATE 57014)")
	a.want("SET statement_timeout = 0; SET lock_timeout = '20ms'", "SET\nSET")
	const late = "canceling statement due to lock timeout (SQLSTATE 55P03)"
	a.want("CREATE INDEX o_gone ON o (v)", late)
	a.want("ALTER TABLE o ADD COLUMN gone int", late)
	b.want("COMMIT", "COMMIT")
	c.want("SELECT count(*) FROM pg_class WHERE relname = 'o_gone'", "0\nSELECT 1")
	a.want("RESET lock_timeout; SELECT count(*) FROM pg_attribute WHERE attrelid = 'o'::regclass AND attnum > 0 AND NOT attisdropped; ALTER TABLE o ADD COLUMN gone int", "RESET\n3\nSELECT 1\nALTER TABLE")
	c.want("SELECT count(*) FROM sherd.check() WHERE NOT ok", "0\nSELECT 1")
}

// pipelined runs statements by Parse, Bind and Execute before one Sync, of which the last knows, and gives what they answer.
func (c *client) pipelined(statements ...string) string {
	r := &recorder{env: c.s.Env}
	for i, text := range statements {
		err := c.s.Parse(c.t.Context(), "", text, nil)
		if err == nil {
			err = c.s.Bind(c.t.Context(), "", "", nil)
		}
		if i == len(statements)-1 {
			c.s.SyncFollows()
		}
		if err == nil {
			_, err = c.s.Execute(c.t.Context(), "", 0, r)
		}
		if err != nil {
			r.line(pgerr.From(err).Error())
			break
		}
	}
	must(c.t, c.s.Sync(c.t.Context()))
	return strings.TrimSuffix(r.out.String(), "\n")
}

// TestOnlineInPipelines: a statement that is all of its pipeline goes by steps too, and one that commits by itself is let in.
func TestOnlineInPipelines(t *testing.T) {
	w := newWorld(t)
	a, b, c := w.connect(t), w.connect(t), w.connect(t)
	a.want("CREATE TABLE o (id int PRIMARY KEY, v int)", "CREATE TABLE")
	a.want("INSERT INTO o SELECT g, g % 7 FROM generate_series(1, 300) g", "INSERT 0 300")
	c.want("SET lock_timeout = '60s'", "SET")
	for i, text := range []string{
		"ALTER TABLE o ADD COLUMN t text DEFAULT 'd'", "CREATE INDEX o_v ON o (v)", "CREATE INDEX CONCURRENTLY o_w ON o (v)",
	} {
		b.want("BEGIN; UPDATE o SET v = 100 WHERE id = 1", "BEGIN\nUPDATE 1")
		done := make(chan string, 1)
		go func() { done <- a.pipelined(text) }()
		select {
		case early := <-done:
			t.Fatalf("%s did not wait for who uses the table: %s", text, early)
		case <-time.After(50 * time.Millisecond): // time to get there; if it takes longer, c has it easier
		}
		c.want(fmt.Sprintf("UPDATE o SET v = 200 WHERE id = %d", i+2), "UPDATE 1") // goes past the one that waits
		b.want("COMMIT", "COMMIT")
		want, _, _ := strings.Cut(text, " o")
		if got := <-done; !strings.HasPrefix(want, got) {
			t.Errorf("%s: %s", text, got)
		}
	}
	const gone = "CREATE INDEX CONCURRENTLY cannot be executed within a pipeline (SQLSTATE 25001)"
	for _, p := range []struct {
		statements []string
		want       string
	}{
		{[]string{"VACUUM"}, "VACUUM"},
		{[]string{"CREATE DATABASE of_pipeline"}, "CREATE DATABASE"},
		{[]string{"SELECT 1 WHERE false", "CREATE INDEX CONCURRENTLY ON o (t)"}, "SELECT 0\n" + gone},
		{[]string{"CREATE INDEX o_t ON o (t)", "SELECT 1 WHERE false", "SELECT 1 / (id - id) FROM o"}, "CREATE INDEX\nSELECT 0\n" + division},
	} {
		if got := a.pipelined(p.statements...); got != p.want {
			t.Errorf("%v\ngot  %s\nwant %s", p.statements, got, p.want)
		}
	}
	c.want("SELECT relname FROM pg_class WHERE relname LIKE 'o\\_%' ORDER BY 1", "o_pkey\no_v\no_w\nSELECT 3") // o_t went with its pipeline
}
