package nodetest

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/sherddb/sherd/internal/eventually"
)

// TestNotifyOverNodes: a listener gets notifications from all nodes. If a node shuts down and comes
// back, no listener loses its connection; if a node is isolated while it notifies, listeners do.
func TestNotifyOverNodes(t *testing.T) {
	t.Parallel()
	c := Start(t, 3)
	ctx, cancel := context.WithTimeout(t.Context(), Timeout)
	defer cancel()
	listener := c.Node(1).Connect(t)
	run := func(db *pgx.Conn, text string) {
		t.Helper()
		if _, err := db.Exec(ctx, text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	hear := func(want string) {
		t.Helper()
		n, err := listener.WaitForNotification(ctx)
		if err != nil || n.Payload != want {
			t.Fatalf("heard %+v, %v, want %q", n, err, want)
		}
	}
	run(listener, "LISTEN x")
	for i, payload := range []string{"one", "two", "three"} {
		run(c.Node(uint32(i+1)).Connect(t), "NOTIFY x, '"+payload+"'; NOTIFY y, 'not this'")
		hear(payload)
	}
	third := c.Node(3).Connect(t)
	run(third, "BEGIN; NOTIFY x, 'first'; NOTIFY x, 'second'; NOTIFY x, 'first'")
	run(third, "COMMIT")
	hear("first")
	hear("second")
	c.Node(2).Stop()
	c.Node(2).Restart()
	second := c.Node(2).Connect(t)
	run(second, "LISTEN x") // it follows the other nodes and they follow it, or will soon
	eventually.Holds(t, "the first node follows the second again", func() bool {
		run(second, "NOTIFY x, 'again'")
		short, stop := context.WithTimeout(ctx, Timeout/60)
		defer stop()
		n, err := listener.WaitForNotification(short)
		return err == nil && n.Payload == "again"
	})
}
