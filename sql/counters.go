package sql

import (
	"sync/atomic"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/sysview"
)

// counters counts what has happened in a database since the start, for pg_stat_database.
type counters struct {
	commits, rollbacks, deadlocks atomic.Int64
}

// countersOf gives the counters of a database; all its sessions share them.
func (db *Server) countersOf(database catalog.OID) *counters {
	db.mu.Lock()
	defer db.mu.Unlock()
	c := db.counters[database]
	if c == nil {
		c = &counters{}
		db.counters[database] = c
	}
	return c
}

// counted gives what a database's counters say.
func (db *Server) counted(database catalog.OID) sysview.Counters {
	c := db.countersOf(database)
	return sysview.Counters{Commits: c.commits.Load(), Rollbacks: c.rollbacks.Load(), Deadlocks: c.deadlocks.Load()}
}

// countError notes an error that is counted.
func (s *Session) countError(err error) {
	if pgerr.Is(err, pgerr.DeadlockDetected) {
		s.counters.deadlocks.Add(1)
		s.db.cfg.Logger.Info("deadlock detected", "pid", s.start.PID, "detail", pgerr.From(err).Detail, "query", s.query)
	}
}
