package sql_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sherddb/sherd/sql"
	"github.com/sherddb/sherd/txn"
)

// TestClockJumped: if the clock of a node has jumped, its sessions report that other nodes serve,
// not that the client's value is wrong.
func TestClockJumped(t *testing.T) {
	w := newWorld(t)
	w.connect(t).want("CREATE TABLE acc (id text PRIMARY KEY, n int)", "CREATE TABLE")
	w.cfg.Clock = txn.NewClock(func() time.Time { return time.Now().Add(time.Hour) }, 0)
	w.server = sql.NewServer(w.cfg)
	c := w.connect(t)
	c.want(fmt.Sprintf("SET sherd.session_ts = '%d'", txn.FromTime(time.Now().Add(time.Hour))), "SET")
	for _, text := range []string{"SELECT * FROM acc", "INSERT INTO acc VALUES ('a', 1)",
		"BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT * FROM acc"} {
		if got := c.answer(text); !strings.Contains(got, " is ahead of this node's clock (SQLSTATE 57P03)") {
			t.Errorf("%s: %s", text, got)
		}
	}
	c.want("ROLLBACK; SET sherd.as_of = '2099-01-01'",
		"ROLLBACK\ncannot read as of 2099-01-01, which is in the future (SQLSTATE 22023)")
}
