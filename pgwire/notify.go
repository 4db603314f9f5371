package pgwire

import (
	"time"

	"github.com/jackc/pgproto3/v2"
)

// notified wakes the connection where it waits for its client outside a transaction, so that it
// sends what was said to the session. It is called from any goroutine.
func (c *conn) notified() {
	c.intr.mu.Lock()
	defer c.intr.mu.Unlock()
	c.intr.notified = true
	if c.intr.waiting {
		_ = c.raw.SetReadDeadline(time.Unix(1, 0))
	}
}

// sendNotifications appends what was said to the session. It comes before ReadyForQuery, or while
// the client says nothing.
func (c *conn) sendNotifications() {
	for _, n := range c.session.Notifications() {
		c.send(&pgproto3.NotificationResponse{PID: n.PID, Channel: n.Channel, Payload: n.Payload})
	}
}
