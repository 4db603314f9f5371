package session

import (
	"context"

	"github.com/sherddb/sherd/sql/monitor"
	"github.com/sherddb/sherd/sql/notify"
	"github.com/sherddb/sherd/sql/sysview"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/txn/locks"
)

// Others reaches the other nodes of the cluster.
type Others struct {
	Self uint32 // this node's number
	// Snapshot asks a node for a snapshot that a transaction there has exported. ok is false if the
	// node knows no snapshot of that name. The error is 57P03 if the node does not answer.
	Snapshot func(ctx context.Context, node uint32, id string) (x tx.ExportedSnapshot, ok bool, err error)
	// Reports asks all nodes, and names those that did not answer.
	Reports func(ctx context.Context, wanted monitor.Wanted) ([]monitor.Report, []monitor.Absent)
	// Signal cancels the statement of a session of another node, or ends the session.
	Signal func(ctx context.Context, s monitor.Signal) (monitor.SignalResult, error)
	Health func() []sysview.Health
	// Say sends the notifications of a transaction to the other nodes, in order, and does not wait.
	// Heard waits until their notifications arrive here: LISTEN.
	Say   func([]notify.Notification)
	Heard func(ctx context.Context) error
	Locks *tx.LocksElsewhere
	// Advisory keeps the advisory locks of all nodes; nil means that each node has its own.
	Advisory *locks.Advisories
}
