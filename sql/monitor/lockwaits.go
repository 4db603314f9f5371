package monitor

import (
	"log/slog"
	"time"

	"github.com/sherddb/sherd/sql/exec/lockwait"
	"github.com/sherddb/sherd/txn"
)

// LogLockWaits logs the waits of a session for row locks that last longer than after, as package
// locks does for other locks.
func LogLockWaits(logger *slog.Logger, waits *txn.Detector, pid uint32, after time.Duration) *lockwait.Watcher {
	return &lockwait.Watcher{
		After: after,
		Waits: func() bool { return len(Blockers(waits.Waits())[pid]) > 0 },
		Still: func(doing string, waited time.Duration) {
			logger.Info("still waiting for a lock", "pid", pid, "lock", "row", "object", doing, "waited", waited,
				"blocked_by", Blockers(waits.Waits())[pid])
		},
		Over: func(doing string, waited time.Duration, err error) {
			logger.Info("the wait for a lock is over", "pid", pid, "lock", "row", "object", doing, "waited",
				waited, "error", err)
		},
	}
}
