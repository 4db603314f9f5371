package sql

import (
	"cmp"
	"slices"
	"time"

	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/locks"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/tx"
)

// lockWaits logs long waits for row locks as package locks does for others; nil if log_lock_waits is off.
func (s *Session) lockWaits() *exec.LockWaits {
	if !s.vars.On("log_lock_waits") {
		return nil
	}
	logger, pid, waits := s.db.cfg.Logger, s.start.PID, s.db.cfg.Deadlocks
	return &exec.LockWaits{
		After: max(s.txEnv.Milliseconds("deadlock_timeout"), time.Millisecond),
		Waits: func() bool { return len(blockers(waits.Waits())[pid]) > 0 },
		Still: func(doing string, waited time.Duration) {
			logger.Info("still waiting for a lock", "pid", pid, "lock", "row", "object", doing, "waited", waited,
				"blocked_by", blockers(waits.Waits())[pid])
		},
		Over: func(doing string, waited time.Duration, err error) {
			logger.Info("the wait for a lock is over", "pid", pid, "lock", "row", "object", doing, "waited", waited, "error", err)
		},
	}
}

// tablesOf lists the locks that a query and its subqueries take: of one table the strongest first.
func tablesOf(q *query.Query) []tx.TableUse {
	var out []tx.TableUse
	eachQuery(q, func(q *query.Query) {
		for i, r := range q.Rels {
			if r.Table != nil {
				out = append(out, tx.TableUse{Table: r.Table.OID, Mode: useOf(q, i)})
			}
		}
	})
	return inOrder(out)
}

// inOrder sorts locks by table, so that two statements seldom meet in a circle; of one table the strongest first.
func inOrder(uses []tx.TableUse) []tx.TableUse {
	slices.SortFunc(uses, func(a, b tx.TableUse) int { return cmp.Or(cmp.Compare(a.Table, b.Table), cmp.Compare(b.Mode, a.Mode)) })
	return slices.Compact(uses)
}

// useOf gives the lock that one range table entry needs.
func useOf(q *query.Query, rel int) locks.Mode {
	if q.Command != query.Select && rel == q.Result {
		return locks.RowExclusive
	}
	for _, l := range q.Locking {
		if slices.Contains(l.Rels, rel) {
			return locks.RowShare
		}
	}
	return locks.AccessShare
}
