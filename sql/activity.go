package sql

import (
	"sync"
	"time"

	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/locks"
	"github.com/sherddb/sherd/sql/sysview"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/txn"
)

// activity is what a session tells others of itself, for pg_stat_activity and its kin.
type activity struct {
	mu           sync.Mutex
	state        string           // guarded by mu, as all below
	query        string           // the text that runs, or ran last
	queryStarted time.Time        //
	changed      time.Time        // of state
	application  string           //
	began        time.Time        // of the transaction
	parts        exec.Transaction // nil outside of one
	isolation    txn.Isolation
}

// States of sessions, as pg_stat_activity names them.
const (
	stateActive  = "active"
	stateIdle    = "idle"
	stateInTxn   = "idle in transaction"
	stateAborted = "idle in transaction (aborted)"
)

// works tells others that the session runs text.
func (s *Session) works(text string) {
	now := time.Now()
	s.logStatement(now)
	a := &s.activity
	a.mu.Lock()
	a.state, a.query, a.queryStarted, a.changed = stateActive, text, now, now
	a.mu.Unlock()
}

// rests tells others that the session waits for its client.
func (s *Session) rests() {
	state := stateIdle
	switch s.Status() {
	case InTransaction:
		state = stateInTxn
	case Failed:
		state = stateAborted
	}
	if s.derived.Version != s.vars.Version() {
		s.named()
	}
	now := time.Now()
	s.logStatement(now)
	a := &s.activity
	a.mu.Lock()
	a.state, a.changed = state, now
	if s.tx == nil {
		a.parts, a.began = nil, time.Time{}
	}
	a.mu.Unlock()
}

// logStatement logs the text that ran until now if it took log_min_duration_statement or longer. The texts of a pipeline are logged
// one by one; the last one's time includes the commit.
func (s *Session) logStatement(now time.Time) {
	if s.derived.LogAfter < 0 {
		return
	}
	a := &s.activity // this goroutine alone writes to it
	took := now.Sub(a.queryStarted)
	if a.state != stateActive || took < s.derived.LogAfter {
		return
	}
	s.db.cfg.Logger.Info("statement", "duration", took, "pid", s.start.PID, "role", s.start.User, "database", s.start.Database,
		"application", a.application, "client", s.start.Remote, "text", a.query)
}

// inTransaction tells others of the transaction that the session is in.
func (s *Session) inTransaction(t *tx.Tx) {
	a := &s.activity
	a.mu.Lock()
	a.parts, a.began, a.isolation = t.Parts, t.Began, t.Modes.Isolation()
	a.mu.Unlock()
}

// named tells others the application's name.
func (s *Session) named() {
	name, _ := s.vars.Get("application_name")
	a := &s.activity
	a.mu.Lock()
	a.application = name
	a.mu.Unlock()
}

// look gives the row of pg_stat_activity.
func (s *Session) look() sysview.Session {
	host, port := splitAddress(s.start.Remote)
	a := &s.activity
	a.mu.Lock()
	row := sysview.Session{
		PID: s.start.PID, Database: s.database, Role: s.role, Application: a.application, ClientHost: host, ClientPort: port,
		Started: s.opened, Transaction: a.began, QueryStarted: a.queryStarted, StateChanged: a.changed, State: a.state, Query: a.query,
		Isolation: a.isolation.String(),
	}
	parts := a.parts
	a.mu.Unlock()
	if parts != nil {
		row.TxnID, row.XID, row.Writes = parts.ID().String(), parts.ID().XID(), parts.HasWrites()
	}
	switch kind, _, ok := s.locks.Waiting(); {
	case ok:
		row.WaitType, row.Wait = "Lock", kind.String()
	case s.txEnv.WaitsElsewhere():
		row.WaitType, row.Wait = "Lock", locks.Relation.String()
	case row.State != stateActive:
		row.WaitType, row.Wait = "Client", "ClientRead"
	}
	return row
}
