package sql

import (
	"context"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/monitor"
	"github.com/sherddb/sherd/sql/schemachange"
	"github.com/sherddb/sherd/sql/txblock"
)

// Handle is how other sessions reach a session's connection. Its functions may be called at any
// time.
type Handle struct {
	Interrupt func(cause *pgerr.Error) // ends the running statement, if there is one
	Terminate func(cause *pgerr.Error) // ends the connection
	// Notify makes the connection look for Notifications when it is idle. It does not wait.
	Notify func()
}

func (h Handle) interrupt(cause *pgerr.Error) {
	if h.Interrupt != nil {
		h.Interrupt(cause)
	}
}

func (h Handle) terminate(cause *pgerr.Error) {
	if h.Terminate != nil {
		h.Terminate(cause)
	}
}

// backend returns the session with a process number, or nil if there is none.
func (db *Server) backend(pid uint32) *Session {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.sessions[pid]
}

func userCancel() *pgerr.Error {
	return pgerr.New(pgerr.QueryCanceled, "canceling statement due to user request")
}

func adminTerminate() *pgerr.Error {
	return &pgerr.Error{
		Severity: "FATAL", Code: pgerr.AdminShutdown, Message: "terminating connection due to administrator command",
	}
}

// Signal cancels the statement of a session of this node, or ends the session. It returns 42501 if
// the role may not.
func (db *Server) Signal(ctx context.Context, x monitor.Signal) (monitor.SignalResult, error) {
	s := db.backend(x.PID)
	if s == nil {
		return monitor.SignalResult{}, nil
	}
	if err := db.maySignal(x, s.role); err != nil {
		return monitor.SignalResult{Known: true}, err
	}
	if !x.Terminate {
		s.start.Handle.interrupt(userCancel())
		return monitor.SignalResult{Known: true, Done: true}, nil
	}
	s.start.Handle.terminate(adminTerminate())
	if x.Timeout == 0 {
		return monitor.SignalResult{Known: true, Done: true}, nil
	}
	timer := time.NewTimer(x.Timeout)
	defer timer.Stop()
	select {
	case <-s.gone:
		return monitor.SignalResult{Known: true, Done: true}, nil
	case <-timer.C:
		return monitor.SignalResult{Known: true}, nil
	case <-ctx.Done():
		return monitor.SignalResult{Known: true}, pgerr.Cancelled(ctx)
	}
}

func (db *Server) maySignal(x monitor.Signal, role catalog.OID) error {
	view := db.cfg.Catalog.View()
	me, him := view.Role(x.Role), view.Role(role)
	doing, whose := "cancel superuser query", "whose query is being canceled"
	if x.Terminate {
		doing, whose = "terminate superuser process", "whose process is being terminated"
	}
	switch {
	case me != nil && me.Superuser:
	case him != nil && him.Superuser:
		return pgerr.New(pgerr.InsufficientPrivilege, "must be a superuser to %s", doing)
	case x.Role != role:
		return pgerr.New(pgerr.InsufficientPrivilege,
			"must be a member of the role %s or member of pg_signal_backend", whose)
	}
	return nil
}

// LostAdvisory ends a session that has lost an advisory lock, because it must not go on as if it
// still had the lock.
func (db *Server) LostAdvisory(pid uint32) {
	if s := db.backend(pid); s != nil {
		s.start.Handle.terminate(&pgerr.Error{
			Severity: "FATAL", Code: pgerr.AdminShutdown,
			Message: "terminating connection because an advisory lock of the session was lost",
			Detail:  "The node that kept it was not reached for too long, or this one was not.",
			Hint:    "Connect again, and take the lock again.",
		})
	}
}

// connectedTo lists the sessions of a database other than but.
func (db *Server) connectedTo(database catalog.OID, but *Session) []schemachange.Connection {
	var out []schemachange.Connection
	db.eachSession(func(s *Session) {
		if s != but && s.database == database {
			out = append(out, schemachange.Connection{
				Terminate: func() { s.start.Handle.terminate(adminTerminate()) }, Gone: s.gone,
			})
		}
	})
	return out
}

// EndOrphans ends the sessions of databases that have been dropped. DROP DATABASE ends the sessions
// of the nodes that it reaches; any other node ends its own sessions when it learns of the drop.
func (db *Server) EndOrphans(v *catalog.View) {
	db.eachSession(func(s *Session) {
		if v.Database(s.database) == nil {
			s.start.Handle.terminate(adminTerminate())
		}
	})
}

// disconnect is ddl.Env.Disconnect for DROP DATABASE.
func (s *Session) disconnect(ctx context.Context, database catalog.OID, force bool) (int, error) {
	f := s.db.cfg.Fragments
	u := &schemachange.DatabaseUsers{
		Catalog: s.db.cfg.Catalog, View: s.block.View(), Database: database, Force: force,
		Prepared: f.PreparedSoon, IsSilent: f.Silent, IsLost: f.Lost,
		Here: func() []schemachange.Connection { return s.db.connectedTo(database, s) },
	}
	if o := s.db.cfg.Others; o != nil {
		u.Reports, u.Signal = o.Reports, o.Signal
	}
	return u.Disconnect(ctx)
}

// IdleLimit returns how long the client may leave the session idle, 0 for ever, and the error that
// ends the session then.
func (s *Session) IdleLimit() (time.Duration, *pgerr.Error) {
	s.freshen()
	switch inside := s.Status() != txblock.Idle; {
	case inside && s.derived.IdleInTransaction > 0:
		return s.derived.IdleInTransaction, &pgerr.Error{
			Severity: "FATAL", Code: pgerr.IdleInTransactionTimeout,
			Message: "terminating connection due to idle-in-transaction timeout",
		}
	case !inside && s.derived.Idle > 0:
		return s.derived.Idle, &pgerr.Error{
			Severity: "FATAL", Code: pgerr.IdleSessionTimeout,
			Message: "terminating connection due to idle-session timeout",
		}
	}
	return 0, nil
}
