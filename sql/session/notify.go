package session

import (
	"context"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/notify"
)

// Notify implements builtin.TransactionInfo.
func (i info) Notify(channel, payload string) error {
	if i.block.Tx == nil {
		return pgerr.Unsupported("notifications cannot be sent here")
	}
	return i.block.Tx.Pending.Notify(channel, payload)
}

// ListeningChannels implements builtin.TransactionInfo.
func (i info) ListeningChannels() []string { return i.listener.Channels() }

// NotificationUsage implements builtin.TransactionInfo.
func (i info) NotificationUsage() float64 { return i.node.Notifications.Usage() }

// hearTime limits how long LISTEN waits for other nodes. A node that does not answer by then may be
// followed later: if it has sent notifications meanwhile, the connections that listen are ended.
const hearTime = 3 * time.Second

// hearOthers waits until the notifications of the other nodes arrive here.
func (n *Node) hearOthers(ctx context.Context) error {
	o := n.Others
	if o == nil || o.Heard == nil {
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, hearTime)
	defer cancel()
	if err := o.Heard(bounded); err != nil && ctx.Err() != nil {
		return pgerr.Cancelled(ctx)
	}
	return nil
}

// Notifications returns what was sent to the session, in order; nothing within a transaction. The
// connection sends it to the client.
func (s *Session) Notifications() []notify.Notification {
	if s.block.Tx != nil {
		return nil
	}
	return s.listener.Take()
}
