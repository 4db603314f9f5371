package txblock

import (
	"context"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/sql/stmt"
)

// Notify runs NOTIFY.
func (b *Block) Notify(n *pg_query.NotifyStmt, w stmt.ResultWriter, implicitBlock bool) error {
	if err := b.Join(implicitBlock).Pending.Notify(n.Conditionname, n.Payload); err != nil {
		return err
	}
	return w.Complete("NOTIFY")
}

// Listen runs LISTEN, and with on = false UNLISTEN: of all channels if none is named.
func (b *Block) Listen(ctx context.Context, channel string, on bool, w stmt.ResultWriter, implicitBlock bool) error {
	t, tag := b.Join(implicitBlock), "UNLISTEN"
	if on {
		tag = "LISTEN"
		if err := b.env.HearOthers(ctx); err != nil {
			return err
		}
	}
	t.Pending.Listen(channel, on)
	return w.Complete(tag)
}
