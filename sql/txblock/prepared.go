package txblock

import (
	"context"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/txn"
)

// prepareStmt runs PREPARE TRANSACTION: the transaction leaves the session, and waits under its
// name for COMMIT PREPARED or ROLLBACK PREPARED, also after restarts. An error ends it, as at
// COMMIT.
func (b *Block) prepareStmt(ctx context.Context, gid string, w stmt.ResultWriter) error {
	if !b.isExplicit() {
		if err := warnNoTransaction(w); err != nil {
			return err
		}
	}
	if !b.isExplicit() || b.Tx.failed {
		if b.Tx != nil {
			b.Rollback()
		}
		return b.complete("ROLLBACK", w)
	}
	if err := b.prepare(ctx, gid); err != nil {
		b.Rollback()
		return err
	}
	b.leave(true)
	return b.complete("PREPARE TRANSACTION", w)
}

// prepare turns the transaction into a prepared transaction.
func (b *Block) prepare(ctx context.Context, gid string) error {
	t := b.Tx
	if err := b.mayPrepare(gid); err != nil {
		return err
	}
	if err := t.Constraints.CheckDeferred(ctx, b.env.Executor, true); err != nil {
		return err
	}
	b.env.Portals.Close()
	if err := t.ConfirmLocks(ctx); err != nil {
		return err
	}
	if t.Schema != nil {
		t.Schema.Change.KeepLocks(t.TableLocks())
	}
	if err := t.define(b.env.Database, b.env.Temporary); err != nil {
		return err
	}
	err := t.Prepare(ctx, txn.PreparationRequest{GID: gid, Owner: uint32(b.env.Role()), At: time.Now()})
	if err == nil {
		b.env.Prepared.Keep(b.env.Database, gid, t.DetachLocks())
	}
	t.Release()
	return err
}

// mayPrepare returns an error if the transaction has done something that cannot outlive its
// session.
func (b *Block) mayPrepare(gid string) error {
	switch t := b.Tx; {
	case len(gid) > txn.MaxGID:
		return pgerr.New(pgerr.InvalidParameterValue, `transaction identifier "%s" is too long`, gid)
	case b.env.Portals.AnyToKeep():
		return pgerr.Unsupported("cannot PREPARE a transaction that has created a cursor WITH HOLD")
	case !t.Pending.IsEmpty():
		return pgerr.Unsupported("cannot PREPARE a transaction that has executed LISTEN, UNLISTEN, or NOTIFY")
	case t.HasExported():
		return pgerr.Unsupported("cannot PREPARE a transaction that has exported snapshots")
	default:
		if err := b.env.Temporary.MayPrepare(t.Tx); err != nil {
			return err
		}
		return t.MayKeepLocks()
	}
}

// commitPrepared runs COMMIT PREPARED.
func (b *Block) commitPrepared(ctx context.Context, gid string, w stmt.ResultWriter) error {
	const what = "COMMIT PREPARED"
	if err := b.mayEnd(ctx, what, gid); err != nil {
		return err
	}
	ts, err := b.env.Prepared.Commit(ctx, b.env.Database, gid, b.env.Floor)
	if err != nil {
		return err
	}
	b.env.Storages.ObserveAll(b.env.Catalog.View())
	b.env.Floor = max(b.env.Floor, ts)
	return w.Complete(what)
}

// rollbackPrepared runs ROLLBACK PREPARED.
func (b *Block) rollbackPrepared(ctx context.Context, gid string, w stmt.ResultWriter) error {
	const what = "ROLLBACK PREPARED"
	if err := b.mayEnd(ctx, what, gid); err != nil {
		return err
	}
	if err := b.env.Prepared.Rollback(ctx, b.env.Database, gid); err != nil {
		return err
	}
	return w.Complete(what)
}

// mayEnd returns an error if the session may not end a prepared transaction now.
func (b *Block) mayEnd(ctx context.Context, what, gid string) error {
	if err := b.refuseInside(what); err != nil {
		return err
	}
	h, err := b.env.Prepared.Find(ctx, b.View(), b.env.Database, gid)
	if err != nil {
		return err
	}
	if r := b.View().Role(b.env.Role()); h.Owner != uint32(b.env.Role()) && (r == nil || !r.Superuser) {
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied to finish prepared transaction").
			WithHint("Must be superuser or the user that prepared the transaction.")
	}
	return nil
}
