package monitor

import (
	"sync"
	"sync/atomic"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/sysview"
)

// Counters counts what has happened in each database since the start, for pg_stat_database. The zero
// value has counted nothing. Its methods may be called concurrently.
type Counters struct {
	mu        sync.Mutex
	databases map[catalog.OID]*DatabaseCounters // guarded by mu
}

// DatabaseCounters are the counters of one database; all its sessions share them.
type DatabaseCounters struct {
	Commits, Rollbacks, Deadlocks atomic.Int64
}

// Of returns the counters of a database.
func (c *Counters) Of(database catalog.OID) *DatabaseCounters {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.databases[database]
	if d == nil {
		if c.databases == nil {
			c.databases = map[catalog.OID]*DatabaseCounters{}
		}
		d = &DatabaseCounters{}
		c.databases[database] = d
	}
	return d
}

func (c *Counters) rows() []sysview.Counters {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []sysview.Counters
	for database, d := range c.databases {
		out = append(out, sysview.Counters{
			Database: database, Commits: d.Commits.Load(), Rollbacks: d.Rollbacks.Load(), Deadlocks: d.Deadlocks.Load(),
		})
	}
	return out
}
