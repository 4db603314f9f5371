package pgwire

import (
	"time"

	"github.com/jackc/pgproto3/v2"
)

// notified wakes the connection if it waits for its client outside a transaction, so that it sends
// the session's notifications. It may be called from any goroutine.
func (c *conn) notified() {
	c.intr.mu.Lock()
	defer c.intr.mu.Unlock()
	c.intr.notified = true
	if c.intr.waiting {
		_ = c.raw.SetReadDeadline(time.Unix(1, 0))
	}
}

// sendNotifications appends the session's notifications. It is called before ReadyForQuery, or
// while the client sends nothing.
func (c *conn) sendNotifications() {
	for _, n := range c.session.Notifications() {
		c.send(&pgproto3.NotificationResponse{PID: n.PID, Channel: n.Channel, Payload: n.Payload})
	}
}
