package sql

import (
	"context"
	"slices"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/sysview"
	"github.com/sherddb/sherd/txn"
)

// prepareTransaction runs PREPARE TRANSACTION: the transaction leaves the session, and waits under
// its name for COMMIT PREPARED or ROLLBACK PREPARED, also after restarts.
func (s *Session) prepareTransaction(ctx context.Context, gid string, w stmt.ResultWriter) error {
	t := s.tx
	if t == nil || !t.Explicit {
		if err := s.noTransaction(w); err != nil {
			return err
		}
		if t != nil {
			s.closePortals()
			s.endImplicit()
		}
		return s.ended("ROLLBACK", w)
	}
	if t.failed {
		s.closePortals()
		s.endImplicit()
		return s.ended("ROLLBACK", w)
	}
	if err := s.hold(ctx, gid); err != nil {
		if s.tx != nil {
			s.closePortals()
			s.endImplicit()
		}
		return err
	}
	return s.ended("PREPARE TRANSACTION", w)
}

// hold turns the transaction into a prepared transaction. An error ends it, as at COMMIT.
func (s *Session) hold(ctx context.Context, gid string) error {
	t := s.tx
	if len(gid) > txn.MaxGID {
		return pgerr.New(pgerr.InvalidParameterValue, `transaction identifier "%s" is too long`, gid)
	}
	for _, p := range s.portals {
		if p.hold && !p.held {
			return pgerr.Unsupported("cannot PREPARE a transaction that has created a cursor WITH HOLD")
		}
	}
	if !t.pending.IsEmpty() {
		return pgerr.Unsupported("cannot PREPARE a transaction that has executed LISTEN, UNLISTEN, or NOTIFY")
	}
	if t.HasExported() {
		return pgerr.Unsupported("cannot PREPARE a transaction that has exported snapshots")
	}
	if err := t.MayKeepLocks(); err != nil {
		return err
	}
	if err := s.tx.constraints.CheckDeferred(ctx, s.executor, true); err != nil {
		return err
	}
	s.closePortals()
	if err := t.ConfirmLocks(ctx); err != nil {
		return err
	}
	if t.Schema != nil {
		t.Schema.Change.KeepLocks(t.TableLocks())
	}
	if err := s.define(); err != nil {
		return err
	}
	err := t.Prepare(ctx, txn.HoldRequest{GID: gid, Owner: uint32(s.role), At: time.Now()})
	if err == nil {
		s.db.keepHeld(heldName{s.database, gid}, t.DetachLocks())
	}
	t.Release()
	if err != nil {
		return err
	}
	s.tx = nil
	s.vars.End(true, 1)
	return nil
}

// commitPrepared runs COMMIT PREPARED.
func (s *Session) commitPrepared(ctx context.Context, gid string, w stmt.ResultWriter) error {
	const what = "COMMIT PREPARED"
	if err := s.mayEnd(ctx, what, gid); err != nil {
		return err
	}
	ts, err := s.db.cfg.Fragments.CommitPrepared(ctx, s.database, gid, s.txEnv.Floor)
	s.dropLocks(gid, err)
	if err != nil {
		return err
	}
	s.db.services.Storages.ObserveAll(s.db.cfg.Catalog.View())
	s.txEnv.Floor = max(s.txEnv.Floor, ts)
	return w.Complete(what)
}

// rollbackPrepared runs ROLLBACK PREPARED.
func (s *Session) rollbackPrepared(ctx context.Context, gid string, w stmt.ResultWriter) error {
	const what = "ROLLBACK PREPARED"
	if err := s.mayEnd(ctx, what, gid); err != nil {
		return err
	}
	err := s.db.cfg.Fragments.RollbackPrepared(ctx, s.database, gid)
	s.dropLocks(gid, err)
	if err != nil {
		return err
	}
	return w.Complete(what)
}

// mayEnd returns an error if the session may not end a prepared transaction now.
func (s *Session) mayEnd(ctx context.Context, what, gid string) error {
	if err := s.outsideBlock(what); err != nil {
		return err
	}
	named := func(h txn.HeldTransaction) bool { return h.GID == gid }
	list, missing, err := s.db.cfg.Fragments.PreparedSoon(ctx, s.database, 0)
	// It may be in a fragment that did not answer.
	if err == nil && len(missing) > 0 && !slices.ContainsFunc(list, named) {
		list, err = s.db.cfg.Fragments.Prepared(ctx, s.database)
	}
	if err != nil {
		return err
	}
	for _, h := range list {
		if !named(h) {
			continue
		}
		if r := s.view().Role(s.role); h.Owner != uint32(s.role) && (r == nil || !r.Superuser) {
			return pgerr.New(pgerr.InsufficientPrivilege, "permission denied to finish prepared transaction").
				WithHint("Must be superuser or the user that prepared the transaction.")
		}
		return nil
	}
	return s.noPrepared(ctx, gid)
}

// noPrepared returns the error that there is no such prepared transaction here.
func (s *Session) noPrepared(ctx context.Context, gid string) error {
	for d := range s.view().Databases() {
		list, err := s.db.cfg.Fragments.Prepared(ctx, d.OID)
		if err != nil {
			return err
		}
		for _, h := range list {
			if h.GID == gid && d.OID != s.database {
				return pgerr.New(pgerr.FeatureNotSupported, "prepared transaction belongs to another database").
					WithHint("Connect to the database where the transaction was prepared to finish it.")
			}
		}
	}
	return pgerr.New(pgerr.UndefinedObject, `prepared transaction with identifier "%s" does not exist`, gid)
}

// outsideBlock refuses a statement that cannot be undone with the statements around it.
func (s *Session) outsideBlock(what string) error {
	if s.inBlock() {
		return pgerr.New(pgerr.ActiveSQLTransaction, "%s cannot run inside a transaction block", what)
	}
	return nil
}

// heldRows lists the prepared transactions of all databases.
func (s *Session) heldRows() ([]sysview.Held, error) {
	ctx := orBackground(s.running)
	var out []sysview.Held
	for d := range s.view().Databases() {
		list, err := s.db.cfg.Fragments.Prepared(ctx, d.OID)
		if err != nil {
			return nil, err
		}
		for _, h := range list {
			out = append(out, sysview.Held{
				XID: h.ID.XID(), GID: h.GID, At: h.At, Role: catalog.OID(h.Owner), Database: d.OID,
			})
		}
	}
	return out, nil
}
