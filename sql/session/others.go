package session

import (
	"context"
	"fmt"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/monitor"
	"github.com/sherddb/sherd/sql/notify"
	"github.com/sherddb/sherd/sql/sysview"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/txn"
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

// reports returns the reports of the whole cluster as one.
func (s *Session) reports(wanted monitor.Wanted) monitor.Report {
	return s.node.Cluster.Report(s.running, wanted, s.warnf)
}

// warnf keeps a warning for the client.
func (s *Session) warnf(format string, args ...any) {
	info{objects: objects{s}}.warn(pgerr.Warning, format, args...)
}

// warn keeps a warning for the client.
func (i info) warn(code, format string, args ...any) {
	i.notice(&pgerr.Error{Severity: "WARNING", Code: code, Message: fmt.Sprintf(format, args...)})
}

// viewTimeout is how long a view waits for a fragment.
const viewTimeout = 5 * time.Second

// clusterViews returns the builder of the rows of views over the whole cluster.
func (s *Session) clusterViews() *monitor.Views {
	return &monitor.Views{
		Report: s.reports, Catalog: s.block.View(), Values: s.Env(), Database: s.database, Warn: s.warnf,
		Prepared: func() ([]txn.PreparedTransaction, []txn.FragmentID, error) {
			return s.node.Fragments.PreparedSoon(orBackground(s.running), s.database, viewTimeout)
		},
	}
}
