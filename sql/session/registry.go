package session

import (
	"context"
	"sync"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/monitor"
	"github.com/sherddb/sherd/sql/privilege"
	"github.com/sherddb/sherd/sql/schemachange"
	"github.com/sherddb/sherd/sql/sysview"
)

// Registry has the open sessions of a node, by PID. The zero value is empty. Its methods may be
// called concurrently.
type Registry struct {
	mu       sync.Mutex
	sessions map[uint32]*Session // guarded by mu
}

// admit registers a session, unless its role or database has reached its connection limit.
// Superusers are always admitted.
func (r *Registry) admit(s *Session, role *catalog.Role, database *catalog.Database) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	ofRole, inDatabase := int32(0), int32(0)
	if limited := role.ConnectionLimit >= 0 || database.ConnectionLimit >= 0; limited && !role.Superuser {
		for _, other := range r.sessions {
			if other.identity.login == role.OID {
				ofRole++
			}
			if other.database == database.OID {
				inDatabase++
			}
		}
		switch {
		case database.ConnectionLimit >= 0 && inDatabase >= database.ConnectionLimit:
			return pgerr.New(pgerr.TooManyConnections, `too many connections for database "%s"`, database.Name)
		case role.ConnectionLimit >= 0 && ofRole >= role.ConnectionLimit:
			return pgerr.New(pgerr.TooManyConnections, `too many connections for role "%s"`, role.Name)
		}
	}
	if r.sessions == nil {
		r.sessions = map[uint32]*Session{}
	}
	r.sessions[s.start.PID] = s
	return nil
}

// remove removes a session that has ended.
func (r *Registry) remove(s *Session) {
	r.mu.Lock()
	if r.sessions[s.start.PID] == s {
		delete(r.sessions, s.start.PID)
		close(s.gone)
	}
	r.mu.Unlock()
}

// find returns the session with a process number, or nil if there is none.
func (r *Registry) find(pid uint32) *Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sessions[pid]
}

// each calls f for the sessions open now.
func (r *Registry) each(f func(*Session)) {
	r.mu.Lock()
	list := make([]*Session, 0, len(r.sessions))
	for _, s := range r.sessions {
		list = append(list, s)
	}
	r.mu.Unlock()
	for _, s := range list {
		f(s)
	}
}

// Rows returns the rows of pg_stat_activity.
func (r *Registry) Rows() (out []sysview.Session) {
	r.each(func(s *Session) { out = append(out, s.activity.Row()) })
	return out
}

// connectedTo lists the sessions of a database other than but.
func (r *Registry) connectedTo(database catalog.OID, but *Session) []schemachange.Connection {
	var out []schemachange.Connection
	r.each(func(s *Session) {
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
func (r *Registry) EndOrphans(v *catalog.View) {
	r.each(func(s *Session) {
		if v.Database(s.database) == nil {
			s.start.Handle.terminate(adminTerminate())
		}
	})
}

// LostAdvisory ends a session that has lost an advisory lock, because it must not go on as if it
// still had the lock.
func (r *Registry) LostAdvisory(pid uint32) {
	if s := r.find(pid); s != nil {
		s.start.Handle.terminate(&pgerr.Error{
			Severity: "FATAL", Code: pgerr.AdminShutdown,
			Message: "terminating connection because an advisory lock of the session was lost",
			Detail:  "The node that kept it was not reached for too long, or this one was not.",
			Hint:    "Connect again, and take the lock again.",
		})
	}
}

// Signal cancels the statement of a session of this node, or ends the session. It returns 42501 if
// the role may not.
func (n *Node) Signal(ctx context.Context, x monitor.Signal) (monitor.SignalResult, error) {
	s := n.Sessions.find(x.PID)
	if s == nil {
		return monitor.SignalResult{}, nil
	}
	if err := maySignal(n.Catalog.View(), x, s.identity.login); err != nil {
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

func maySignal(view *catalog.View, x monitor.Signal, role catalog.OID) error {
	me, him := privilege.Of(view, 0, x.Role), view.Role(role)
	doing, whose := "cancel superuser query", "whose query is being canceled"
	if x.Terminate {
		doing, whose = "terminate superuser process", "whose process is being terminated"
	}
	switch {
	case me.Superuser():
	case him != nil && him.Superuser:
		return pgerr.New(pgerr.InsufficientPrivilege, "must be a superuser to %s", doing)
	case !me.Signals(role):
		return pgerr.New(pgerr.InsufficientPrivilege,
			"must be a member of the role %s or member of pg_signal_backend", whose)
	}
	return nil
}

func userCancel() *pgerr.Error {
	return pgerr.New(pgerr.QueryCanceled, "canceling statement due to user request")
}

func adminTerminate() *pgerr.Error {
	return &pgerr.Error{
		Severity: "FATAL", Code: pgerr.AdminShutdown, Message: "terminating connection due to administrator command",
	}
}
