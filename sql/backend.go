package sql

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/monitor"
	"github.com/sherddb/sherd/sql/txblock"
	"github.com/sherddb/sherd/txn"
)

// Handle is how other sessions reach a session's connection. Its functions may be called at any
// time.
type Handle struct {
	Interrupt func(cause *pgerr.Error) // ends the running statement, if there is one
	Terminate func(cause *pgerr.Error) // ends the connection
	// Notify makes the connection look for Notifications when it is idle. It does not wait.
	Notify func()
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
		s.interrupt(userCancel())
		return monitor.SignalResult{Known: true, Done: true}, nil
	}
	s.terminate(adminTerminate())
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

// signal finds the session at any node.
func (i info) signal(x monitor.Signal) (bool, error) {
	x.Role = i.role
	send := i.db.Signal
	if others := i.db.cfg.Others; others != nil && monitor.NodeOfPID(x.PID) != monitor.NodeOfPID(i.start.PID) {
		send = others.Signal
	}
	r, err := send(i.ctx, x)
	switch {
	case err != nil:
		return false, err
	case !r.Known:
		i.warn(pgerr.Warning, "PID %d is not a PostgreSQL backend process", int32(x.PID))
	case !r.Done:
		i.warn(pgerr.Warning, "backend with PID %d did not terminate within %d milliseconds", x.PID,
			x.Timeout.Milliseconds())
	}
	return r.Done, nil
}

// CancelBackend implements builtin.LockInfo.
func (i info) CancelBackend(pid int32) (bool, error) {
	if uint32(pid) == i.start.PID {
		return false, userCancel()
	}
	return i.signal(monitor.Signal{PID: uint32(pid)})
}

// TerminateBackend implements builtin.LockInfo.
func (i info) TerminateBackend(pid int32, patience time.Duration) (bool, error) {
	if uint32(pid) == i.start.PID {
		return false, adminTerminate()
	}
	return i.signal(monitor.Signal{PID: uint32(pid), Terminate: true, Timeout: patience})
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

// EndOrphans ends the sessions of databases that have been dropped. DROP DATABASE ends the sessions
// of the nodes that it reaches; any other node ends its own sessions when it learns of the drop.
func (db *Server) EndOrphans(v *catalog.View) {
	db.eachSession(func(s *Session) {
		if v.Database(s.database) == nil {
			s.terminate(adminTerminate())
		}
	})
}

// DROP DATABASE waits for sessions that are about to end, as PostgreSQL does. It waits for a node
// that does not answer until no session can hold anything there.
const (
	leavingPatience = 5 * time.Second
	answerPatience  = 3 * leavingPatience
	leavingLook     = 100 * time.Millisecond // between two looks
)

// disconnect returns how many other sessions use a database, after it has waited a while for
// sessions that are about to end. With force it ends them. It does not end prepared transactions,
// but returns 55006.
func (s *Session) disconnect(ctx context.Context, database catalog.OID, force bool) (int, error) {
	held, missing, err := s.db.cfg.Fragments.PreparedSoon(ctx, database, 0)
	if err != nil {
		return 0, err
	}
	if n := len(held); n > 0 {
		name := s.block.View().Database(database).Name
		e := pgerr.New(pgerr.ObjectInUse, `database "%s" is being accessed by other users`, name)
		if force {
			e = pgerr.New(pgerr.ObjectInUse, `database "%s" is being used by prepared transactions`, name)
		}
		if n == 1 {
			return 0, e.WithDetail("There is 1 prepared transaction using the database.")
		}
		return 0, e.WithDetail("There are %d prepared transactions using the database.", n)
	}
	if err := s.mayMiss(database, missing, force); err != nil {
		return 0, err
	}
	started := time.Now()
	for {
		others := s.db.connectedTo(database, s)
		elsewhere, absent, err := s.connectedElsewhere(ctx, database, force)
		n := len(others) + elsewhere
		switch waited := time.Since(started); {
		case err != nil:
			return n, err
		case n == 0 && absent == "":
			return 0, s.endLost(ctx, missing)
		case n > 0 && waited >= leavingPatience:
			return n, nil
		case waited >= answerPatience:
			return 0, pgerr.New(pgerr.CannotConnectNow,
				"node %s does not answer, and may have sessions that use the database", absent).
				WithHint("Start the node, or stop its process: some seconds after nobody hears of it any more it is " +
					"left out. sherd.nodes shows which nodes answer.")
		}
		if force {
			for _, o := range others {
				o.terminate(adminTerminate())
			}
		}
		var gone <-chan struct{}
		if len(others) > 0 {
			gone = others[0].gone
		}
		select {
		case <-gone:
		case <-time.After(leavingLook): // sessions of other nodes do not signal their end here
		case <-ctx.Done():
			return n, pgerr.Cancelled(ctx)
		}
	}
}

// mayMiss returns an error if a fragment does not answer, because it may have prepared transactions
// that use the database. Force passes over fragments that are lost: what was prepared there belongs
// to this database alone, and can no longer be read or ended.
func (s *Session) mayMiss(database catalog.OID, missing []txn.FragmentID, force bool) error {
	d := s.block.View().Database(database)
	for _, id := range missing {
		f := d.FragmentByID(id)
		if f == nil || force && s.db.cfg.Fragments.Lost(f) {
			continue
		}
		all, silent := s.nodesOf(f)
		e := pgerr.New(pgerr.CannotConnectNow,
			"fragment %s does not answer, and may have prepared transactions that use the database", d.FragmentName(f)).
			WithDetail("Its replicas are on %s; no answer from %s.", strings.Join(all, ", "),
				strings.Join(silent, ", "))
		switch {
		case len(silent) == 0:
			return e.WithDetail("Its replicas are on %s.", strings.Join(all, ", ")).WithHint("Try again in a moment.")
		case force:
			return e.WithHint("Start the nodes that are missing. WITH (FORCE) does without a fragment when all of " +
				"its nodes have been silent for sherd.dead_node_after; " +
				"where one has its data, sherd node recover brings the fragment back.")
		}
		return e.WithHint("Start the nodes that are missing. If their data is lost for good, DROP DATABASE %s "+
			"WITH (FORCE) drops the database without them.",
			builtin.QuoteIdent(d.Name))
	}
	return nil
}

// endLost drops prepared changes of definitions if their coordinator fragment is one that force
// passes over. The catalog would keep them, and the database with them, until that fragment
// reported their outcome.
func (s *Session) endLost(ctx context.Context, lost []txn.FragmentID) error {
	for _, x := range s.db.cfg.Catalog.View().Held() {
		if !slices.Contains(lost, x.Home) {
			continue
		}
		if err := s.db.cfg.Catalog.EndHeld(ctx, x.ID, 0, false); err != nil {
			return err
		}
	}
	return nil
}

// nodesOf returns the names of the nodes that have a replica of a fragment, and the names of those
// that do not answer.
func (s *Session) nodesOf(f *catalog.Fragment) (all, silent []string) {
	for _, id := range f.Nodes {
		n := s.block.View().Node(id)
		if n == nil || slices.Contains(f.Joining, id) {
			continue
		}
		all = append(all, n.Name)
		if s.db.cfg.Fragments.Silent(id) {
			silent = append(silent, n.Name)
		}
	}
	return all, silent
}

// connectedElsewhere counts the sessions of a database at other nodes. It also returns the name of
// a node that did not answer and may have sessions. With force it ends sessions of any role: the
// caller has checked that the user may do so.
func (s *Session) connectedElsewhere(
	ctx context.Context, database catalog.OID, force bool,
) (n int, absent string, err error) {
	others := s.db.cfg.Others
	if others == nil {
		return 0, "", nil
	}
	reports, missing := others.Reports(ctx, monitor.WantSessions)
	for _, a := range missing {
		if !a.Gone {
			absent = a.Name
		}
	}
	for _, r := range reports {
		for _, x := range r.Sessions {
			if x.Database != database {
				continue
			}
			n++
			if !force {
				continue
			}
			if _, err := others.Signal(
				ctx, monitor.Signal{PID: x.PID, Terminate: true, Role: catalog.BootstrapRole},
			); err != nil {
				return n, absent, err
			}
		}
	}
	return n, absent, nil
}

// BlockingPIDs implements builtin.LockInfo.
func (i info) BlockingPIDs(pid int32) ([]int32, error) {
	var out []int32
	for _, p := range monitor.Blockers(i.reports(monitor.WantWaits).Waits)[uint32(pid)] {
		out = append(out, int32(p))
	}
	return out, nil
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
