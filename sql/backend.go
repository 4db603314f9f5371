package sql

import (
	"context"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
)

// Handle is how other sessions reach a session's connection. Its functions may be called at any time.
type Handle struct {
	Interrupt func(cause *pgerr.Error) // ends the statement that runs now, if one does
	Terminate func(cause *pgerr.Error) // ends the connection
	Notify    func()                   // tells the connection to look for Notifications when it is idle; it does not wait
}

// backend finds a session by its process number; nil where there is none.
func (db *Server) backend(pid uint32) *Session {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.sessions[pid]
}

func userCancel() *pgerr.Error {
	return pgerr.New(pgerr.QueryCanceled, "canceling statement due to user request")
}

func adminTerminate() *pgerr.Error {
	return &pgerr.Error{Severity: "FATAL", Code: pgerr.AdminShutdown, Message: "terminating connection due to administrator command"}
}

// target finds the session that a function acts on, and whether the role may; nil, and a warning, where there is none.
func (i info) target(pid int32, superuser, other string) (*Session, error) {
	s := i.db.backend(uint32(pid))
	if s == nil || pid <= 0 {
		i.warn(pgerr.Warning, "PID %d is not a PostgreSQL backend process", pid)
		return nil, nil
	}
	view := i.view()
	me, him := view.Role(i.role), view.Role(s.role)
	switch {
	case me != nil && me.Superuser:
	case him != nil && him.Superuser:
		return nil, pgerr.New(pgerr.InsufficientPrivilege, "%s", superuser)
	case s.role != i.role:
		return nil, pgerr.New(pgerr.InsufficientPrivilege, "%s", other)
	}
	return s, nil
}

// CancelBackend implements builtin.LockInfo.
func (i info) CancelBackend(pid int32) (bool, error) {
	s, err := i.target(pid, "must be a superuser to cancel superuser query",
		"must be a member of the role whose query is being canceled or member of pg_signal_backend")
	switch {
	case s == nil:
		return false, err
	case s == i.Session:
		return false, userCancel()
	}
	s.interrupt(userCancel())
	return true, nil
}

// TerminateBackend implements builtin.LockInfo.
func (i info) TerminateBackend(pid int32, patience time.Duration) (bool, error) {
	s, err := i.target(pid, "must be a superuser to terminate superuser process",
		"must be a member of the role whose process is being terminated or member of pg_signal_backend")
	switch {
	case s == nil:
		return false, err
	case s == i.Session:
		return false, adminTerminate()
	}
	s.terminate(adminTerminate())
	if patience == 0 {
		return true, nil
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-s.gone:
		return true, nil
	case <-timer.C:
		i.warn(pgerr.Warning, "backend with PID %d did not terminate within %d milliseconds", pid, patience.Milliseconds())
		return false, nil
	case <-i.ctx.Done():
		return false, cancelled(i.ctx)
	}
}

func (s *Session) interrupt(cause *pgerr.Error) {
	if f := s.start.Handle.Interrupt; f != nil {
		f(cause)
	}
}

func (s *Session) terminate(cause *pgerr.Error) {
	if f := s.start.Handle.Terminate; f != nil {
		f(cause)
	}
}

// connectedTo lists the sessions of a database other than but.
func (db *Server) connectedTo(database catalog.OID, but *Session) []*Session {
	var out []*Session
	db.eachSession(func(s *Session) {
		if s != but && s.database == database {
			out = append(out, s)
		}
	})
	return out
}

// Sessions that are just going are waited for, as PostgreSQL does.
const leavingPatience = 5 * time.Second

// disconnect gives how many other sessions use a database, after some patience with those that are just going; force ends them. Prepared
// transactions are not ended: 55006.
func (s *Session) disconnect(ctx context.Context, database catalog.OID, force bool) (int, error) {
	held, err := s.db.cfg.Fragments.Held(ctx, database)
	if err != nil {
		return 0, err
	}
	if n := len(held); n > 0 {
		name := s.view().Database(database).Name
		e := pgerr.New(pgerr.ObjectInUse, `database "%s" is being accessed by other users`, name)
		if force {
			e = pgerr.New(pgerr.ObjectInUse, `database "%s" is being used by prepared transactions`, name)
		}
		if n == 1 {
			return 0, e.WithDetail("There is 1 prepared transaction using the database.")
		}
		return 0, e.WithDetail("There are %d prepared transactions using the database.", n)
	}
	deadline := time.NewTimer(leavingPatience)
	defer deadline.Stop()
	for {
		others := s.db.connectedTo(database, s)
		if len(others) == 0 {
			return 0, nil
		}
		if force {
			for _, o := range others {
				o.terminate(adminTerminate())
			}
		}
		select {
		case <-others[0].gone:
		case <-deadline.C:
			return len(others), nil
		case <-ctx.Done():
			return len(others), cancelled(ctx)
		}
	}
}

// BlockingPIDs implements builtin.LockInfo.
func (i info) BlockingPIDs(pid int32) ([]int32, error) {
	var out []int32
	for _, p := range i.db.blockers(i.db.cfg.Deadlocks.Waits())[uint32(pid)] {
		out = append(out, int32(p))
	}
	return out, nil
}

// IdleLimit tells how long the client may leave the session waiting, 0 for ever, and what ends the session then.
func (s *Session) IdleLimit() (time.Duration, *pgerr.Error) {
	s.freshen()
	switch inside := s.Status() != Idle; {
	case inside && s.idleInside > 0:
		return s.idleInside, &pgerr.Error{
			Severity: "FATAL", Code: pgerr.IdleInTransactionTimeout, Message: "terminating connection due to idle-in-transaction timeout",
		}
	case !inside && s.idle > 0:
		return s.idle, &pgerr.Error{
			Severity: "FATAL", Code: pgerr.IdleSessionTimeout, Message: "terminating connection due to idle-session timeout",
		}
	}
	return 0, nil
}
