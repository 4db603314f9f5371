package pgwire

import (
	"context"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/notify"
	"github.com/sherddb/sherd/sql/session"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/txblock"
	"github.com/sherddb/sherd/sql/types"
)

// Session is the SQL session of a connection. session.Session implements it, and so does the session of
// this package's recorded conversations. If a context is cancelled, its cause is the *pgerr.Error
// to answer with.
type Session interface {
	// ReportedParameters returns the settings to report to the client at the start, as pairs of
	// name and value.
	ReportedParameters() [][2]string
	// Simple runs the statements of text; it calls w for each.
	Simple(ctx context.Context, text string, w stmt.ResultWriter) error
	Parse(ctx context.Context, name, text string, params []types.OID) error
	DescribeStatement(ctx context.Context, name string) (session.Description, error)
	Bind(ctx context.Context, portal, statement string, args []types.Datum) error
	DescribePortal(ctx context.Context, portal string) (session.Description, error)
	// SyncFollows notes that the client has sent Sync behind the Execute that comes next.
	SyncFollows()
	// Execute runs a portal to its end or for maxRows rows (0 is all).
	Execute(ctx context.Context, portal string, maxRows int, w stmt.ResultWriter) (suspended bool, err error)
	CloseStatement(name string)
	ClosePortal(name string)
	// Sync ends the implicit transaction of a pipeline.
	Sync(ctx context.Context) error
	// FailPipeline notes an error that was found before the session saw the message.
	FailPipeline()
	Status() txblock.Status
	// IdleLimit returns how long the client may now leave the session waiting, 0 for ever, and the
	// error that then ends the connection.
	IdleLimit() (time.Duration, *pgerr.Error)
	// Notifications returns, and removes, the messages on channels that the session listens to. It
	// returns none within a transaction.
	Notifications() []notify.Notification
	Env() *types.Env
	Close()
}
