package sql

import (
	"context"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/locks"
	"github.com/sherddb/sherd/txn"
)

// LocksElsewhere takes locks of tables at the other nodes, where sessions read and write under locks of their own node alone.
type LocksElsewhere struct {
	Alone func() bool // there are no other nodes
	// Take asks all other nodes; it calls local in this node's turn. The error is locks.ErrNotAvailable, 40P01, 57P03 of a node that cannot be asked,
	// or the context's cause.
	Take func(ctx context.Context, l LockElsewhere, local func() error) error
	// Barrier waits until who holds the table at another node has let go of it.
	Barrier func(ctx context.Context, l LockElsewhere) error
	// Confirm proves that the transaction has held all along what it has taken: 40001.
	Confirm    func(ctx context.Context, owner txn.ID) error
	RollbackTo func(owner txn.ID, place int)
	Release    func(owner txn.ID)
}

// LockElsewhere is a lock that is to be taken at other nodes. What waits there ends with the context: Request.Timeout does not count.
type LockElsewhere struct {
	Owner   txn.ID
	PID     uint32
	Tag     locks.Tag
	Request locks.Request
	Place   int // Owner.Mark here
}

// concernsOthers tells whether a lock is to be taken at all nodes: those of tables that what reads and writes rows does not take. A table that the
// transaction has made is nobody else's.
func (t *transaction) concernsOthers(tag locks.Tag, mode locks.Mode) bool {
	e := t.env.tableLocks
	return e != nil && tag.Kind == locks.Relation && mode > locks.RowExclusive && !e.Alone() && !t.holder().Holds(tag).Has(mode) &&
		t.env.catalog.View().Table(tag.Object) != nil
}

func (t *transaction) lockEverywhere(ctx context.Context, tag locks.Tag, mode locks.Mode, noWait bool) error {
	o := t.holder()
	r := t.env.lockRequest(mode)
	r.NoWait = noWait
	ctx, cancel := t.lockTimeout(ctx)
	defer cancel()
	t.env.elsewhere.Store(true)
	defer t.env.elsewhere.Store(false)
	l := LockElsewhere{Owner: o.ID(), PID: t.env.pid, Tag: tag, Request: r, Place: o.Mark()}
	err := t.env.tableLocks.Take(ctx, l, func() error {
		t.env.elsewhere.Store(false)
		defer t.env.elsewhere.Store(true)
		return t.lockHere(ctx, tag, mode, noWait)
	})
	return lockError(ctx, err)
}

// lockTimeout bounds what waits for a lock.
func (t *transaction) lockTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	d := t.env.milliseconds("lock_timeout")
	if d <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, d, pgerr.New(pgerr.LockNotAvailable, "canceling statement due to lock timeout"))
}

// confirmLocks proves, before the transaction commits, that it has held its locks at the other nodes all along.
func (t *transaction) confirmLocks(ctx context.Context) error {
	e := t.env.tableLocks
	if e == nil || t.locks == nil {
		return nil
	}
	err := e.Confirm(ctx, t.locks.ID())
	if a := t.env.advisoryLocks; a != nil && err == nil {
		err = a.Confirm(ctx, t.env.pid, t.locks.ID())
	}
	if err != nil && ctx.Err() != nil {
		return cancelled(ctx)
	}
	return err
}

// barrier waits until all sessions of the cluster that hold the table now have let go of it.
func (x *services) barrier(ctx context.Context, o *locks.Owner, pid uint32, tag locks.Tag) error {
	if err := o.Barrier(ctx, tag); err != nil {
		return err
	}
	e := x.tableLocks
	if e == nil || e.Alone() {
		return nil
	}
	return e.Barrier(ctx, LockElsewhere{Owner: o.ID(), PID: pid, Tag: tag})
}
