package sql

import (
	"time"

	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/monitor"
)

// lockWaits logs long waits for row locks, as package locks does for other locks. It returns nil if
// log_lock_waits is off.
func (s *Session) lockWaits() *exec.LockWaits {
	if !s.vars.On("log_lock_waits") {
		return nil
	}
	logger, pid, waits := s.db.cfg.Logger, s.start.PID, s.db.cfg.Deadlocks
	return &exec.LockWaits{
		After: max(s.txEnv.Milliseconds("deadlock_timeout"), time.Millisecond),
		Waits: func() bool { return len(monitor.Blockers(waits.Waits())[pid]) > 0 },
		Still: func(doing string, waited time.Duration) {
			logger.Info("still waiting for a lock", "pid", pid, "lock", "row", "object", doing, "waited", waited,
				"blocked_by", monitor.Blockers(waits.Waits())[pid])
		},
		Over: func(doing string, waited time.Duration, err error) {
			logger.Info("the wait for a lock is over", "pid", pid, "lock", "row", "object", doing, "waited",
				waited, "error", err)
		},
	}
}
