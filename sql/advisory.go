package sql

import (
	"errors"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/locks"
)

// advisoryTag names an advisory lock of the session's database.
func (s *Session) advisoryTag(k builtin.AdvisoryKey) locks.Tag {
	if k.Pair {
		return locks.Keys(s.database, k.High, k.Low)
	}
	return locks.Key(s.database, int64(k.High)<<32|int64(uint32(k.Low)))
}

func advisoryMode(shared bool) locks.Mode {
	if shared {
		return locks.Share
	}
	return locks.Exclusive
}

// AdvisoryLock implements builtin.LockInfo.
func (i info) AdvisoryLock(l builtin.AdvisoryLock) (bool, error) {
	if i.tx == nil || i.ctx == nil {
		return false, pgerr.Unsupported("advisory locks cannot be taken here")
	}
	// A lock of the session is waited for by the transaction too: whoever waits for its rows is in the same circle.
	owner := i.tx.holder()
	acquire := owner.Acquire
	if !l.Transaction {
		acquire = i.locks.Acquire
	}
	request := locks.Request{Mode: advisoryMode(l.Shared), NoWait: true}
	if !l.Try {
		request = i.lockRequest(request.Mode)
	}
	switch err := acquire(i.ctx, i.advisoryTag(l.Key), request); {
	case errors.Is(err, locks.ErrNotAvailable):
		return false, nil
	case err != nil:
		return false, lockError(i.ctx, err)
	}
	return true, nil
}

// AdvisoryUnlock implements builtin.LockInfo.
func (i info) AdvisoryUnlock(key builtin.AdvisoryKey, shared bool) bool {
	mode := advisoryMode(shared)
	ok := i.locks.Unlock(i.advisoryTag(key), mode)
	if !ok {
		i.warn(pgerr.Warning, "you don't own a lock of type %s", mode)
	}
	return ok
}

// AdvisoryUnlockAll implements builtin.LockInfo.
func (i info) AdvisoryUnlockAll() { i.locks.UnlockAll() }
