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

// counted gives what the counters say.
func (db *Server) counted() []sysview.Counters {
	db.mu.Lock()
	defer db.mu.Unlock()
	var out []sysview.Counters
	for database, c := range db.counters {
		out = append(out, sysview.Counters{
			Database: database, Commits: c.commits.Load(), Rollbacks: c.rollbacks.Load(), Deadlocks: c.deadlocks.Load(),
		})
	}
	return out
}

// countError notes an error that is counted.
func (s *Session) countError(err error) {
	if pgerr.Is(err, pgerr.DeadlockDetected) {
		s.counters.deadlocks.Add(1)
		s.db.cfg.Logger.Info("deadlock detected", "pid", s.start.PID, "detail", pgerr.From(err).Detail, "query", s.query)
	}
}
