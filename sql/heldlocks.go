package sql

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/locks"
	"github.com/sherddb/sherd/txn"
)

// heldName names a prepared transaction.
type heldName struct {
	database catalog.OID
	gid      string
}

// mayKeepLocks refuses what cannot be told apart later: a lock that the session would hold beside the prepared transaction.
func (t *transaction) mayKeepLocks() error {
	if t.locks != nil && t.locks.SharedWithSession() {
		return pgerr.New(pgerr.FeatureNotSupported, "cannot PREPARE while holding both session-level and transaction-level locks on the same object")
	}
	return nil
}

// keepLocks leaves the transaction's locks to the prepared transaction that it has become: nobody changes the definitions of its tables.
func (t *transaction) keepLocks(gid string) {
	if t.locks == nil {
		return
	}
	t.locks.Detach()
	db := t.s.db
	db.mu.Lock()
	db.held[heldName{t.s.database, gid}] = t.locks
	db.mu.Unlock()
	t.locks = nil
}

// dropLocks lets go of the locks of a prepared transaction that has ended; a commit whose outcome is unknown will end without us.
func (s *Session) dropLocks(gid string, err error) {
	if err != nil && !pgerr.Is(err, pgerr.StatementCompletionUnknown) {
		return
	}
	name := heldName{s.database, gid}
	s.db.mu.Lock()
	owner := s.db.held[name]
	s.db.mu.Unlock()
	if owner != nil {
		s.db.dropHeld(name, owner)
	}
}

// dropHeld lets go of the locks of one prepared transaction, unless another of its name has them meanwhile.
func (db *Server) dropHeld(name heldName, owner *locks.Owner) {
	db.mu.Lock()
	is := db.held[name] == owner
	if is {
		delete(db.held, name)
	}
	db.mu.Unlock()
	if !is {
		return
	}
	owner.Release()
	if e := db.elsewhere(); e != nil {
		e.Release(owner.ID())
	}
}

// heldLook is how often it is looked whether prepared transactions have ended at other nodes.
const heldLook = time.Second

// FollowPrepared lets go of the locks of prepared transactions that were ended through another node, until ctx ends.
func (db *Server) FollowPrepared(ctx context.Context) {
	t := time.NewTicker(heldLook)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			db.followPrepared(ctx)
		case <-ctx.Done():
			return
		}
	}
}

func (db *Server) followPrepared(ctx context.Context) {
	db.mu.Lock()
	held := maps.Clone(db.held) // what is here now has been durable before
	db.mu.Unlock()
	lists := map[catalog.OID]map[txn.ID]bool{}
	for name, owner := range held {
		if lists[name.database] == nil {
			list, err := db.cfg.Fragments.Held(ctx, name.database)
			if err != nil {
				return // nobody knows at present
			}
			ids := map[txn.ID]bool{}
			for _, h := range list {
				ids[h.ID] = true
			}
			lists[name.database] = ids
		}
		if !lists[name.database][owner.ID()] {
			db.dropHeld(name, owner)
		}
	}
}

// AdoptPrepared takes, after a restart, the table locks of the prepared transactions that are still held. It knows their tables by the rows
// that they have locked, and what they define by the catalog. It must be called before sessions are served.
func (db *Server) AdoptPrepared(ctx context.Context) error {
	rows, _ := db.cfg.Fragments.ListRowLocks()
	view := db.cfg.Catalog.View()
	tables := storedTables(view)
	for d := range view.Databases() {
		list, err := db.cfg.Fragments.Held(ctx, d.OID)
		if err != nil {
			return err
		}
		for _, h := range list {
			owner := db.locks.NewSession(0).Begin(h.ID)
			for _, l := range rows {
				if l.Holder.ID != h.ID || !l.Granted {
					continue
				}
				t := tables[storedIn{l.Fragment, exec.StorageIDOfKey(l.Key)}]
				if t == nil {
					continue
				}
				if err := owner.Acquire(ctx, locks.Table(t.Database, t.OID), locks.Request{Mode: locks.RowExclusive}); err != nil {
					return err
				}
			}
			if err := adoptReads(ctx, owner, tables, h); err != nil {
				return err
			}
			for _, x := range view.Held() {
				if x.ID == h.ID {
					if err := adoptDefinitions(ctx, owner, d.OID, x); err != nil {
						return err
					}
				}
			}
			db.mu.Lock()
			db.held[heldName{d.OID, h.GID}] = owner
			db.mu.Unlock()
		}
	}
	return nil
}

// adoptReads takes the locks of tables that a prepared transaction has read, as far as that is to be true at its commit.
func adoptReads(ctx context.Context, owner *locks.Owner, tables map[storedIn]*catalog.Table, h txn.HeldTransaction) error {
	for _, id := range h.Tables {
		for _, f := range h.Fragments {
			t := tables[storedIn{f, id}]
			if t == nil {
				continue
			}
			if err := owner.Acquire(ctx, locks.Table(t.Database, t.OID), locks.Request{Mode: locks.AccessShare}); err != nil {
				return err
			}
		}
	}
	return nil
}

// tableLocks lists the transaction's locks of tables.
func (t *transaction) tableLocks() []catalog.TableLock {
	var out []catalog.TableLock
	for tag, modes := range t.holder().Tables() {
		out = append(out, catalog.TableLock{Table: tag.Object, Modes: uint32(modes)})
	}
	slices.SortFunc(out, func(a, b catalog.TableLock) int { return cmp.Compare(a.Table, b.Table) })
	return out
}

// adoptDefinitions takes the locks of a prepared transaction that has changed definitions: those of tables that it had, and of what else it changes or
// refers to.
func adoptDefinitions(ctx context.Context, owner *locks.Owner, database catalog.OID, x catalog.HeldChange) error {
	for _, l := range x.Locks {
		for mode := locks.AccessShare; mode <= locks.AccessExclusive; mode++ {
			if !locks.Set(l.Modes).Has(mode) {
				continue
			}
			if err := owner.Acquire(ctx, locks.Table(database, l.Table), locks.Request{Mode: mode}); err != nil {
				return err
			}
		}
	}
	for _, touch := range x.Touches {
		mode := locks.AccessShare
		if touch.Changes {
			mode = locks.AccessExclusive
		}
		if touch.Table != 0 {
			continue
		}
		if err := owner.Acquire(ctx, touched(database, touch), locks.Request{Mode: mode}); err != nil {
			return err
		}
	}
	return nil
}
