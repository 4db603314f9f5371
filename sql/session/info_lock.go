package session

import (
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/monitor"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/txn/locks"
)

// advisoryTag names an advisory lock of the session's database.
func (i info) advisoryTag(k builtin.AdvisoryKey) locks.Tag {
	if k.Pair {
		return locks.Keys(i.database, k.High, k.Low)
	}
	return locks.Key(i.database, int64(k.High)<<32|int64(uint32(k.Low)))
}

// AdvisoryLock implements builtin.LockInfo.
func (i info) AdvisoryLock(l builtin.AdvisoryLock) (bool, error) {
	if i.block.Tx == nil || i.ctx == nil {
		return false, pgerr.Unsupported("advisory locks cannot be taken here")
	}
	return i.block.Tx.LockAdvisory(i.ctx, tx.AdvisoryLock{
		Tag: i.advisoryTag(l.Key), Shared: l.Shared, Try: l.Try, OfTransaction: l.Transaction,
	})
}

// AdvisoryUnlock implements builtin.LockInfo.
func (i info) AdvisoryUnlock(key builtin.AdvisoryKey, shared bool) bool {
	mode := tx.AdvisoryMode(shared)
	ok := i.locks.Unlock(i.advisoryTag(key), mode)
	if !ok {
		i.warn(pgerr.Warning, "you don't own a lock of type %s", mode)
	}
	return ok
}

// AdvisoryUnlockAll implements builtin.LockInfo.
func (i info) AdvisoryUnlockAll() { i.locks.UnlockAll() }

// BlockingPIDs implements builtin.LockInfo.
func (i info) BlockingPIDs(pid int32) ([]int32, error) {
	var out []int32
	for _, p := range monitor.Blockers(i.reports(monitor.WantWaits).Waits)[uint32(pid)] {
		out = append(out, int32(p))
	}
	return out, nil
}

// CancelBackend implements builtin.LockInfo.
func (i info) CancelBackend(pid int32) (bool, error) {
	if uint32(pid) == i.start.PID {
		return false, userCancel()
	}
	return i.signal(monitor.Signal{PID: uint32(pid)})
}

// TerminateBackend implements builtin.LockInfo.
func (i info) TerminateBackend(pid int32, timeout time.Duration) (bool, error) {
	if uint32(pid) == i.start.PID {
		return false, adminTerminate()
	}
	return i.signal(monitor.Signal{PID: uint32(pid), Terminate: true, Timeout: timeout})
}

// signal finds the session at any node.
func (i info) signal(x monitor.Signal) (bool, error) {
	x.Role = i.role
	send := i.node.Signal
	if others := i.node.Others; others != nil && monitor.NodeOfPID(x.PID) != monitor.NodeOfPID(i.start.PID) {
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
