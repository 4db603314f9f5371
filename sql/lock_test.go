package sql_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/session"
)

// background runs a statement that will wait for a lock, and returns when it does.
func (c *client) background(w *world, text string) chan string {
	c.t.Helper()
	done := make(chan string, 1)
	pid := c.pid()
	go func() { done <- c.answer(text) }()
	watch := w.connect(c.t)
	for end := time.Now().Add(testTimeout); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if watch.answer(fmt.Sprintf("SELECT cardinality(pg_blocking_pids(%d)) > 0", pid)) == "t\nSELECT 1" {
			return done
		}
		select {
		case got := <-done:
			c.t.Fatalf("%s did not wait: %s", text, got)
		default:
		}
	}
	c.t.Fatalf("%s does not wait", text)
	return nil
}

func (c *client) pid() int {
	var pid int
	_, _ = fmt.Sscan(c.answer("SELECT pg_backend_pid()"), &pid)
	return pid
}

// TestTerminateWaits: pg_terminate_backend waits for the end of a session until its time-out, and
// reports a session that did not end.
func TestTerminateWaits(t *testing.T) {
	w := newWorld(t)
	ended := make(chan error, 1)
	c := w.connectAs(t, "postgres", session.Handle{Terminate: func(cause *pgerr.Error) { ended <- cause }})
	b := w.connect(t)
	pid := c.pid()
	b.want(fmt.Sprintf("SELECT pg_terminate_backend(%d, 1)", pid),
		fmt.Sprintf("f\nWARNING: backend with PID %d did not terminate within 1 milliseconds\nSELECT 1", pid))
	if err := <-ended; pgerr.Code(err) != pgerr.AdminShutdown {
		t.Error(err)
	}
	c.s.Close()
	b.want(fmt.Sprintf("SELECT pg_terminate_backend(%d, 5000)", pid),
		fmt.Sprintf("f\nWARNING: PID %d is not a PostgreSQL backend process\nSELECT 1", pid))
}
