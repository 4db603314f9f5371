package monitor

import (
	"log/slog"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/sysview"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/locks"
)

// Client is what does not change in a session.
type Client struct {
	PID            uint32
	User, Database string
	Role           catalog.OID
	DatabaseID     catalog.OID
	Remote         string // address
	Opened         time.Time
	Locks          *locks.Session
	WaitsElsewhere func() bool // the session waits for a lock at other nodes
}

// Activity is what a session shows to others. Row may be called concurrently; the other methods are the
// session's own.
type Activity struct {
	client   Client
	logger   *slog.Logger
	logAfter time.Duration // log_min_duration_statement; negative is never

	mu           sync.Mutex
	state        State            // guarded by mu, as all below
	query        string           // the text that runs, or ran last
	queryStarted time.Time        //
	changed      time.Time        // of state
	application  string           //
	began        time.Time        // of the transaction
	parts        exec.Transaction // nil outside of one
	isolation    txn.Isolation
}

// State is the state of a session, as pg_stat_activity names it.
type State string

// States of sessions.
const (
	Active  State = "active"
	Idle    State = "idle"
	InTxn   State = "idle in transaction"
	Aborted State = "idle in transaction (aborted)"
)

// NewActivity returns the activity of a new session. Slow statements go to the logger.
func NewActivity(c Client, logger *slog.Logger) *Activity {
	return &Activity{client: c, logger: logger, logAfter: -1}
}

// Run notes that the session runs text.
func (a *Activity) Run(text string) {
	now := time.Now()
	a.logStatement(now)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state, a.query, a.queryStarted, a.changed = Active, text, now, now
}

// Rest notes that the session waits for its client, in a transaction or not.
func (a *Activity) Rest(state State, open bool) {
	now := time.Now()
	a.logStatement(now)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state, a.changed = state, now
	if !open {
		a.parts, a.began = nil, time.Time{}
	}
}

// logStatement logs the text that ran until now if it took log_min_duration_statement or longer. The
// texts of a pipeline are logged one by one; the last one's time includes the commit.
func (a *Activity) logStatement(now time.Time) {
	if a.logAfter < 0 {
		return
	}
	took := now.Sub(a.queryStarted) // only this goroutine writes to it
	if a.state != Active || took < a.logAfter {
		return
	}
	c := &a.client
	a.logger.Info("statement", "duration", took, "pid", c.PID, "role", c.User, "database", c.Database,
		"application", a.application, "client", c.Remote, "text", a.query)
}

// LogAfter sets log_min_duration_statement.
func (a *Activity) LogAfter(d time.Duration) { a.logAfter = d }

// SetTransaction notes the transaction that the session is in.
func (a *Activity) SetTransaction(t *tx.Tx) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.parts, a.began, a.isolation = t.Parts, t.Began, t.Modes.Isolation()
}

// SetApplication notes the application's name.
func (a *Activity) SetApplication(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.application = name
}

// Row returns the session's row of pg_stat_activity.
func (a *Activity) Row() sysview.Session {
	c := &a.client
	host, port := SplitAddress(c.Remote)
	a.mu.Lock()
	state, parts := a.state, a.parts
	row := sysview.Session{
		PID: c.PID, Database: c.DatabaseID, Role: c.Role, Application: a.application,
		ClientHost: host, ClientPort: port,
		Started: c.Opened, Transaction: a.began, QueryStarted: a.queryStarted, StateChanged: a.changed,
		State: string(state), Query: a.query, Isolation: a.isolation.String(),
	}
	a.mu.Unlock()
	if parts != nil {
		row.TxnID, row.XID, row.Writes = parts.ID().String(), parts.ID().XID(), parts.HasWrites()
	}
	switch kind, _, ok := c.Locks.Waiting(); {
	case ok:
		row.WaitType, row.Wait = "Lock", kind.String()
	case c.WaitsElsewhere():
		row.WaitType, row.Wait = "Lock", locks.Relation.String()
	case state != Active:
		row.WaitType, row.Wait = "Client", "ClientRead"
	}
	return row
}

// SplitAddress returns the IP address and the port of an address, or nothing if it has no IP address.
func SplitAddress(addr string) (host string, port int) {
	h, p, err := net.SplitHostPort(addr)
	if err != nil || net.ParseIP(h) == nil {
		return "", 0
	}
	n, err := strconv.Atoi(p)
	if err != nil {
		return "", 0
	}
	return h, n
}
