package sql

import (
	"context"
	"errors"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/txn/locks"
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

// advisory returns the advisory locks that all nodes share, or nil if the node uses its own lock
// table.
func (db *Server) advisory() *locks.Advisories {
	if db.cfg.Others == nil {
		return nil
	}
	return db.cfg.Others.Advisory
}

// LostAdvisory ends a session that has lost an advisory lock, because it must not go on as if it
// still had the lock.
func (db *Server) LostAdvisory(pid uint32) {
	if s := db.backend(pid); s != nil {
		s.start.Handle.terminate(&pgerr.Error{
			Severity: "FATAL", Code: pgerr.AdminShutdown,
			Message: "terminating connection because an advisory lock of the session was lost",
			Detail:  "The node that kept it was not reached for too long, or this one was not.",
			Hint:    "Connect again, and take the lock again.",
		})
	}
}

// AdvisoryLock implements builtin.LockInfo.
func (i info) AdvisoryLock(l builtin.AdvisoryLock) (bool, error) {
	if i.block.Tx == nil || i.ctx == nil {
		return false, pgerr.Unsupported("advisory locks cannot be taken here")
	}
	request := locks.Request{Mode: advisoryMode(l.Shared), NoWait: true}
	if !l.Try {
		request = i.txEnv.LockRequest(request.Mode)
	}
	acquire := i.advisoryHere
	if i.db.advisory() != nil {
		acquire = i.advisoryElsewhere
	}
	switch err := acquire(i.advisoryTag(l.Key), request, l.Transaction); {
	case errors.Is(err, locks.ErrNotAvailable):
		return false, nil
	case err != nil:
		return false, tx.LockError(i.ctx, err)
	}
	return true, nil
}

func (i info) advisoryHere(tag locks.Tag, r locks.Request, transaction bool) error {
	// The transaction waits for a lock of the session too, so that the wait joins the same cycle as
	// the waits for the transaction's rows.
	owner := i.block.Tx.LockOwner()
	if transaction {
		return owner.Acquire(i.ctx, tag, r)
	}
	return i.locks.Acquire(i.ctx, tag, r)
}

func (i info) advisoryElsewhere(tag locks.Tag, r locks.Request, transaction bool) error {
	owner := i.block.Tx.LockOwner()
	l := locks.AdvisoryRequest{PID: i.start.PID, Within: owner.ID(), Tag: tag, Request: r}
	adopt := i.locks.Adopt
	if transaction {
		l.Owner, adopt = owner.ID(), owner.Adopt
		if owner.Holds(tag).Has(r.Mode) {
			return nil
		}
	} else if i.locks.Has(tag, r.Mode) {
		adopt(tag, r.Mode)
		return nil
	}
	ctx, cancel := i.block.Tx.LockTimeout(i.ctx)
	defer cancel()
	if !r.NoWait {
		defer i.txEnv.WaitElsewhere()()
	}
	err := i.db.advisory().Acquire(ctx, l)
	if err == nil {
		adopt(tag, r.Mode)
	} else if ctx.Err() != nil && i.ctx.Err() == nil {
		return context.Cause(ctx) // lock_timeout
	}
	return err
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
