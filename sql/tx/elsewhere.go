package tx

import (
	"context"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/locks"
)

// LocksElsewhere takes locks of tables at the other nodes. Sessions read and write rows under locks
// of their own node only, so a stronger lock has to be held everywhere.
type LocksElsewhere struct {
	Alone func() bool // there are no other nodes
	// Take asks all other nodes; it calls local in this node's turn. The error is
	// locks.ErrNotAvailable, 40P01, 57P03 of a node that cannot be asked, or the context's cause.
	Take func(ctx context.Context, l locks.ClusterRequest, local func() error) error
	// Barrier waits until every session that holds the table at another node has released it.
	Barrier func(ctx context.Context, l locks.ClusterRequest) error
	// Confirm proves that the transaction has held all along what it has taken: 40001.
	Confirm    func(ctx context.Context, owner txn.ID) error
	RollbackTo func(owner txn.ID, place int)
	Release    func(owner txn.ID)
}

// concernsOthers reports whether a lock is to be taken at all nodes: a lock of a table that is
// stronger than those of statements that read and write rows. No other session sees a table that
// the transaction has made.
func (l *Locks) concernsOthers(tag locks.Tag, mode locks.Mode) bool {
	e := l.env.TableLocks
	return e != nil && tag.Kind == locks.Relation && mode > locks.RowExclusive && !e.Alone() &&
		!l.LockOwner().Holds(tag).Has(mode) && l.env.Catalog.View().Table(tag.Object) != nil
}

func (l *Locks) lockEverywhere(ctx context.Context, tag locks.Tag, mode locks.Mode, noWait bool) error {
	o := l.LockOwner()
	r := l.env.LockRequest(mode)
	r.NoWait = noWait
	ctx, cancel := l.LockTimeout(ctx)
	defer cancel()
	defer l.env.WaitElsewhere()()
	x := locks.ClusterRequest{Owner: o.ID(), PID: l.env.PID, Tag: tag, Request: r, Place: o.Mark()}
	err := l.env.TableLocks.Take(ctx, x, func() error {
		l.env.elsewhere.Store(false)
		defer l.env.elsewhere.Store(true)
		return l.lockHere(ctx, tag, mode, noWait)
	})
	return LockError(ctx, err)
}

// LockTimeout bounds what waits for a lock.
func (l *Locks) LockTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	d := l.env.Milliseconds("lock_timeout")
	if d <= 0 {
		return ctx, func() {}
	}
	cause := pgerr.New(pgerr.LockNotAvailable, "canceling statement due to lock timeout")
	return context.WithTimeoutCause(ctx, d, cause)
}

// ConfirmLocks proves, before the transaction commits, that it has held its locks at the other
// nodes all along.
func (l *Locks) ConfirmLocks(ctx context.Context) error {
	e := l.env.TableLocks
	if e == nil || l.owner == nil {
		return nil
	}
	err := e.Confirm(ctx, l.owner.ID())
	if a := l.env.Advisory; a != nil && err == nil {
		err = a.Confirm(ctx, l.env.PID, l.owner.ID())
	}
	if err != nil && ctx.Err() != nil {
		return pgerr.Cancelled(ctx)
	}
	return err
}

// Barrier waits until all sessions of the cluster that hold the table now have released it.
func (x *Services) Barrier(ctx context.Context, o *locks.Owner, pid uint32, tag locks.Tag) error {
	if err := o.Barrier(ctx, tag); err != nil {
		return err
	}
	e := x.TableLocks
	if e == nil || e.Alone() {
		return nil
	}
	return e.Barrier(ctx, locks.ClusterRequest{Owner: o.ID(), PID: pid, Tag: tag})
}
