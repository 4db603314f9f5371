package sql_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/notify"
	"github.com/sherddb/sherd/sql/session"
)

// heard returns the notifications of a session: "channel payload", separated by commas.
func (c *client) heard() string {
	var out []string
	for _, n := range c.s.Notifications() {
		out = append(out, strings.TrimSpace(n.Channel+" "+n.Payload))
	}
	return strings.Join(out, ",")
}

func (c *client) wantHeard(want string) {
	c.t.Helper()
	if got := c.heard(); got != want {
		c.t.Errorf("heard %q, want %q", got, want)
	}
}

// TestNotifyWakes: a notification wakes the connection of a session that listens, even if it comes
// from another node. Channels belong to a database.
func TestNotifyWakes(t *testing.T) {
	w := newWorld(t)
	var woken atomic.Int32
	a, b := w.connectAs(t, "postgres", session.Handle{Notify: func() { woken.Add(1) }}), w.connect(t)
	a.want("LISTEN x", "LISTEN")
	b.want("NOTIFY x, 'one'", "NOTIFY")
	if woken.Load() != 1 {
		t.Error("the connection was not woken")
	}
	a.wantHeard("x one")
	a.want("LISTEN y", "LISTEN")
	w.server.Notifications.Deliver([]notify.Notification{{Database: 1, Channel: "y"},
		{Database: 5, Channel: "y", Payload: "from another node"}})
	a.wantHeard("y from another node")
}

// TestNotifyOrder: if many sessions send notifications at once, all listeners receive the same ones
// in the same order, and those of each sender in the sender's order.
func TestNotifyOrder(t *testing.T) {
	w := newWorld(t)
	w.connect(t).want("CREATE TABLE t (n int)", "CREATE TABLE")
	listeners := []*client{w.connect(t), w.connect(t)}
	for _, l := range listeners {
		l.want("LISTEN x", "LISTEN")
	}
	var done sync.WaitGroup
	const speakers, rounds = 5, 20
	for i := range speakers {
		c := w.connect(t)
		done.Go(func() {
			for r := range rounds {
				c.want(fmt.Sprintf("BEGIN; INSERT INTO t VALUES (%d); NOTIFY x, '%d %02d'; COMMIT", r, i, r),
					"BEGIN\nINSERT 0 1\nNOTIFY\nCOMMIT")
			}
		})
	}
	done.Wait()
	first, second := listeners[0].heard(), listeners[1].heard()
	if first != second {
		t.Errorf("one heard\n%s\nthe other\n%s", first, second)
	}
	last := map[string]string{}
	words := strings.Split(first, ",")
	for _, word := range words {
		who, what := word[:3], word[4:]
		if last[who] >= what {
			t.Errorf("%s after %s", word, last[who])
		}
		last[who] = what
	}
	if len(words) != speakers*rounds {
		t.Errorf("%d notifications", len(words))
	}
}

// TestNotifyMissed: a session that may have missed a notification learns it by the end of its
// connection.
func TestNotifyMissed(t *testing.T) {
	w := newWorld(t)
	var ended []string
	a := w.connectAs(t, "postgres", session.Handle{Terminate: func(cause *pgerr.Error) {
		ended = append(ended, cause.Message)
	}})
	w.connectAs(t, "postgres", session.Handle{Terminate: func(*pgerr.Error) {
		t.Error("a session that does not listen was ended")
	}})
	a.want("LISTEN x; LISTEN y", "LISTEN\nLISTEN")
	w.server.Notifications.Missed()
	if strings.Join(ended, ",") != "terminating connection because notifications of another node may be lost" {
		t.Errorf("ended: %v", ended)
	}
}

// TestNotifyQueue: notifications that no session takes are bounded.
func TestNotifyQueue(t *testing.T) {
	w := newWorld(t)
	a, b := w.connect(t), w.connect(t)
	a.want("LISTEN x; LISTEN y", "LISTEN\nLISTEN")
	a.want("BEGIN", "BEGIN")
	b.want("SELECT count(pg_notify('x', repeat('x', 7990) || n)) FROM generate_series(1, 8400) AS n", "8400\nSELECT 1")
	b.want("SELECT pg_notification_queue_usage() >= 1", "t\nSELECT 1")
	b.want("NOTIFY x", "too many notifications in the NOTIFY queue (SQLSTATE 54000)")
	b.want("INSERT INTO nowhere VALUES (1)", `relation "nowhere" does not exist (SQLSTATE 42P01)`)
	a.want("COMMIT", "COMMIT")
	if n := len(a.s.Notifications()); n != 8400 {
		t.Errorf("%d notifications", n)
	}
	b.want("SELECT pg_notification_queue_usage(); NOTIFY x", "0\nSELECT 1\nNOTIFY")
	a.wantHeard("x")
}
