package sql_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
)

// pipelined runs statements by Parse, Bind and Execute before one Sync, and returns their
// answers. Only for the last statement the session knows that Sync follows.
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

// TestOnlineInPipelines: a statement that is all of its pipeline goes by steps too, and a statement
// that commits by itself is allowed there.
func TestOnlineInPipelines(t *testing.T) {
	w := newWorld(t)
	a, b, c := w.connect(t), w.connect(t), w.connect(t)
	a.want("CREATE TABLE o (id int PRIMARY KEY, v int)", "CREATE TABLE")
	a.want("INSERT INTO o SELECT g, g % 7 FROM generate_series(1, 300) g", "INSERT 0 300")
	c.want("SET lock_timeout = '60s'", "SET")
	for i, text := range []string{
		"ALTER TABLE o ADD COLUMN t text DEFAULT 'd'", "CREATE INDEX o_v ON o (v)",
		"CREATE INDEX CONCURRENTLY o_w ON o (v)",
	} {
		b.want("BEGIN; UPDATE o SET v = 100 WHERE id = 1", "BEGIN\nUPDATE 1")
		done := make(chan string, 1)
		go func() { done <- a.pipelined(text) }()
		select {
		case early := <-done:
			t.Fatalf("%s did not wait for who uses the table: %s", text, early)
		case <-time.After(50 * time.Millisecond): // time to get there; if it takes longer, the test is easier for c
		}
		c.want(fmt.Sprintf("UPDATE o SET v = 200 WHERE id = %d", i+2), "UPDATE 1") // passes the one that waits
		b.want("COMMIT", "COMMIT")
		want, _, _ := strings.Cut(text, " o")
		if got := <-done; !strings.HasPrefix(want, got) {
			t.Errorf("%s: %s", text, got)
		}
	}
	c.want("SELECT relname FROM pg_class WHERE relname LIKE 'o\\_%' ORDER BY 1", "o_pkey\no_v\no_w\nSELECT 3")
}
