package tx

import (
	"context"
	"errors"

	"github.com/sherddb/sherd/txn/locks"
)

// AdvisoryLock asks for an advisory lock.
type AdvisoryLock struct {
	Tag    locks.Tag
	Shared bool
	Try    bool // it is not waited for
	// OfTransaction makes it end with the transaction. Otherwise it belongs to the session.
	OfTransaction bool
}

// AdvisoryMode returns the mode of a lock that is shared or exclusive.
func AdvisoryMode(shared bool) locks.Mode {
	if shared {
		return locks.Share
	}
	return locks.Exclusive
}

// LockAdvisory takes an advisory lock, and reports whether it has: false if it would have to wait
// for a lock that it only tries to take. The error is 40P01, 55P03, 57P03 while no node keeps the
// locks, or the context's cause.
func (l *Locks) LockAdvisory(ctx context.Context, a AdvisoryLock) (bool, error) {
	r := locks.Request{Mode: AdvisoryMode(a.Shared), NoWait: true}
	if !a.Try {
		r = l.env.LockRequest(r.Mode)
	}
	acquire := l.advisoryHere
	if l.env.Advisory != nil {
		acquire = l.advisoryElsewhere
	}
	switch err := acquire(ctx, a, r); {
	case errors.Is(err, locks.ErrNotAvailable):
		return false, nil
	case err != nil:
		return false, LockError(ctx, err)
	}
	return true, nil
}

func (l *Locks) advisoryHere(ctx context.Context, a AdvisoryLock, r locks.Request) error {
	// The transaction waits for a lock of the session too, so that the wait joins the same cycle as
	// the waits for the transaction's rows.
	owner := l.LockOwner()
	if a.OfTransaction {
		return owner.Acquire(ctx, a.Tag, r)
	}
	return l.env.Locks.Acquire(ctx, a.Tag, r)
}

func (l *Locks) advisoryElsewhere(ctx context.Context, a AdvisoryLock, r locks.Request) error {
	owner := l.LockOwner()
	request := locks.AdvisoryRequest{PID: l.env.PID, Within: owner.ID(), Tag: a.Tag, Request: r}
	adopt := l.env.Locks.Adopt
	if a.OfTransaction {
		request.Owner, adopt = owner.ID(), owner.Adopt
		if owner.Holds(a.Tag).Has(r.Mode) {
			return nil
		}
	} else if l.env.Locks.Has(a.Tag, r.Mode) {
		adopt(a.Tag, r.Mode)
		return nil
	}
	bounded, cancel := l.LockTimeout(ctx)
	defer cancel()
	if !r.NoWait {
		defer l.env.WaitElsewhere()()
	}
	err := l.env.Advisory.Acquire(bounded, request)
	if err == nil {
		adopt(a.Tag, r.Mode)
	} else if bounded.Err() != nil && ctx.Err() == nil {
		return context.Cause(bounded) // lock_timeout
	}
	return err
}
