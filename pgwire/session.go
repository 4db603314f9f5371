package pgwire

import (
	"context"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql"
	"github.com/sherddb/sherd/sql/notify"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
)

// Session is what a connection drives; sql.Session implements it, and so does the session of this
// package's recorded conversations. A context that is cancelled carries the *pgerr.Error to answer
// with as its cause.
type Session interface {
	// ReportedParameters returns the settings that a client is told at start, name and value.
	ReportedParameters() [][2]string
	// Simple runs the statements of text; it calls w for each.
	Simple(ctx context.Context, text string, w stmt.ResultWriter) error
	Parse(ctx context.Context, name, text string, params []types.OID) error
	DescribeStatement(ctx context.Context, name string) (sql.Description, error)
	Bind(ctx context.Context, portal, statement string, args []types.Datum) error
	DescribePortal(ctx context.Context, portal string) (sql.Description, error)
	// Execute runs a portal to its end or for maxRows rows (0 is all).
	SyncFollows()
	Execute(ctx context.Context, portal string, maxRows int, w stmt.ResultWriter) (suspended bool, err error)
	CloseStatement(name string)
	ClosePortal(name string)
	// Sync ends the implicit transaction of a pipeline.
	Sync(ctx context.Context) error
	// FailPipeline tells of an error that was found before the session saw the message.
	FailPipeline()
	Status() sql.Status
	// IdleLimit returns how long the client may leave the session waiting now, 0 for ever, and what
	// ends the connection then.
	IdleLimit() (time.Duration, *pgerr.Error)
	// Notifications takes what was said on channels that the session listens to; nothing within a
	// transaction.
	Notifications() []notify.Notification
	Env() *types.Env
	Close()
}
