package sql

import (
	"context"
	"time"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/notify"
	"github.com/sherddb/sherd/sql/stmt"
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
func (i info) NotificationUsage() float64 { return i.db.notifications.Usage() }

// notifyStmt runs NOTIFY.
func (s *Session) notifyStmt(n *pg_query.NotifyStmt, w stmt.ResultWriter, together bool) error {
	s.join(together)
	if err := (info{objects: objects{s}}).Notify(n.Conditionname, n.Payload); err != nil {
		return err
	}
	return w.Complete("NOTIFY")
}

// hearTime limits how long LISTEN waits for other nodes. A node that does not answer by then may be
// followed later: if it has sent notifications meanwhile, the connections that listen are ended.
const hearTime = 3 * time.Second

// listenStmt runs LISTEN and UNLISTEN.
func (s *Session) listenStmt(ctx context.Context, channel string, on bool, w stmt.ResultWriter, together bool) error {
	s.join(together)
	if o := s.db.cfg.Others; on && o != nil && o.Heard != nil {
		bounded, cancel := context.WithTimeout(ctx, hearTime)
		err := o.Heard(bounded)
		cancel()
		if err != nil && ctx.Err() != nil {
			return pgerr.Cancelled(ctx)
		}
	}
	s.block.Tx.Pending.Listen(channel, on)
	if on {
		return w.Complete("LISTEN")
	}
	return w.Complete("UNLISTEN")
}

// join makes a statement part of a transaction.
func (s *Session) join(together bool) {
	if s.block.Tx == nil {
		s.block.Begin().Together = together
	}
}

// Notifications returns what was sent to the session, in order; nothing within a transaction. The
// connection sends it to the client.
func (s *Session) Notifications() []notify.Notification {
	if s.block.Tx != nil {
		return nil
	}
	return s.listener.Take()
}

// Notifications returns the hub that delivers NOTIFY to the sessions of this node.
func (db *Server) Notifications() *notify.Hub { return db.notifications }
