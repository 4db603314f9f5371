package sql

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/locks"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/txn"
)

// adoptPatience bounds what a start waits for fragments that do not answer. A fragment whose replicas are gone takes down its own documents, and not
// the nodes that are started meanwhile.
const adoptPatience = 5 * time.Second

// AdoptPrepared takes, after a restart, the table locks of the prepared transactions that are still held. It knows their tables by the rows
// that they have locked, and what they define by the catalog. It must be called before sessions are served. Databases of which not every fragment
// answers are asked again by FollowPrepared; until then their tables are read and written, and no lock is given that such a transaction may exclude. The error is
// the context's, or that of a clock too far ahead, by which nobody answers this node.
func (db *Server) AdoptPrepared(ctx context.Context) error {
	db.mu.Lock()
	for d := range db.cfg.Catalog.View().Databases() {
		db.adopting[d.OID] = nil
	}
	db.mu.Unlock()
	db.locks.Withhold(db.withheld)
	db.adopt(ctx)
	db.mu.Lock()
	defer db.mu.Unlock()
	for _, why := range db.adopting {
		if txn.IsAhead(why) {
			return why
		}
	}
	return ctx.Err()
}

// adopt asks the databases of which it is not known yet what is prepared there.
func (db *Server) adopt(ctx context.Context) {
	db.mu.Lock()
	missing := slices.Collect(maps.Keys(db.adopting))
	db.mu.Unlock()
	if len(missing) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, adoptPatience)
	defer cancel()
	rows, _ := db.cfg.Fragments.ListRowLocks()
	var wg sync.WaitGroup
	for _, database := range missing {
		wg.Go(func() {
			err := db.adoptIn(ctx, database, rows)
			db.mu.Lock()
			defer db.mu.Unlock()
			if err == nil {
				delete(db.adopting, database)
			} else {
				db.adopting[database] = err
			}
		})
	}
	wg.Wait()
	db.mu.Lock()
	defer db.mu.Unlock()
	if len(db.adopting) == 0 {
		db.locks.Withhold(nil)
	}
}

// adoptIn takes the locks of a database's prepared transactions: of all, or of none.
func (db *Server) adoptIn(ctx context.Context, database catalog.OID, rows []txn.RowLock) error {
	view := db.cfg.Catalog.View()
	if view.Database(database) == nil {
		return nil // dropped meanwhile
	}
	list, err := db.cfg.Fragments.Prepared(ctx, database)
	if err != nil {
		return err
	}
	tables := table.TablesByStorage(view)
	owners := map[heldName]*locks.Owner{}
	for _, h := range list {
		owner := db.locks.NewSession(0).Begin(h.ID)
		owners[heldName{database, h.GID}] = owner
		if err = adoptOne(ctx, owner, h, view, tables, rows); err != nil {
			break
		}
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	for name, owner := range owners {
		if _, since := db.held[name]; err != nil || since { // prepared here since the node was started
			owner.Release()
		} else {
			db.held[name] = owner
		}
	}
	return err
}

func adoptOne(ctx context.Context, owner *locks.Owner, h txn.HeldTransaction, view *catalog.View, tables map[table.Storage]*catalog.Table, rows []txn.RowLock) error {
	for _, l := range rows {
		if l.Holder.ID != h.ID || !l.Granted {
			continue
		}
		t := tables[table.Storage{Fragment: l.Fragment, ID: table.StorageIDOfKey(l.Key)}]
		if t == nil {
			continue
		}
		if err := owner.Acquire(ctx, locks.Table(t.Database, t.OID), locks.Request{Mode: locks.RowExclusive, Held: true}); err != nil {
			return err
		}
	}
	if err := adoptReads(ctx, owner, tables, h); err != nil {
		return err
	}
	for _, x := range view.Held() {
		if x.ID == h.ID {
			if err := adoptDefinitions(ctx, owner, h.Database, x); err != nil {
				return err
			}
		}
	}
	return nil
}

// adoptReads takes the locks of tables that a prepared transaction has read, as far as that is to be true at its commit.
func adoptReads(ctx context.Context, owner *locks.Owner, tables map[table.Storage]*catalog.Table, h txn.HeldTransaction) error {
	for _, id := range h.Tables {
		for _, f := range h.Fragments {
			t := tables[table.Storage{Fragment: f, ID: id}]
			if t == nil {
				continue
			}
			if err := owner.Acquire(ctx, locks.Table(t.Database, t.OID), locks.Request{Mode: locks.AccessShare, Held: true}); err != nil {
				return err
			}
		}
	}
	return nil
}

// adoptDefinitions takes the locks of a prepared transaction that has changed definitions: those of tables that it had, and of what else it changes or
// refers to.
func adoptDefinitions(ctx context.Context, owner *locks.Owner, database catalog.OID, x catalog.HeldChange) error {
	for _, l := range x.Locks {
		for mode := locks.AccessShare; mode <= locks.AccessExclusive; mode++ {
			if !locks.Set(l.Modes).Has(mode) {
				continue
			}
			if err := owner.Acquire(ctx, locks.Table(database, l.Table), locks.Request{Mode: mode, Held: true}); err != nil {
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
		if err := owner.Acquire(ctx, tx.Touched(database, touch), locks.Request{Mode: mode, Held: true}); err != nil {
			return err
		}
	}
	return nil
}

// withheld refuses a lock that a prepared transaction may exclude of which this node has not heard since it was started.
func (db *Server) withheld(tag locks.Tag, mode locks.Mode) error {
	db.mu.Lock()
	why, missing := db.adopting[tag.Database]
	db.mu.Unlock()
	if !missing {
		return nil
	}
	view := db.cfg.Catalog.View()
	table := view.Table(tag.Object)
	if table == nil { // it is of a transaction that is making it
		return nil
	}
	if !locks.RowExclusive.Conflicts(mode) && !excludedByHeld(view, tag.Object, mode) {
		return nil
	}
	e := pgerr.New(pgerr.CannotConnectNow, `"%s" cannot be locked or changed before it is known which prepared transactions use it`, table.Name).
		WithHint("Start the nodes that are missing. Tables can be read and written meanwhile.")
	if pgerr.Is(why, pgerr.CannotConnectNow) {
		e = e.WithDetail("This node was started a while ago, and %s.", pgerr.From(why).Message)
	}
	return e
}

// excludedByHeld tells whether the definitions that prepared transactions change are in the way of a lock.
func excludedByHeld(view *catalog.View, table catalog.OID, mode locks.Mode) bool {
	for _, x := range view.Held() {
		for _, l := range x.Locks {
			for m := locks.AccessShare; l.Table == table && m <= locks.AccessExclusive; m++ {
				if locks.Set(l.Modes).Has(m) && m.Conflicts(mode) {
					return true
				}
			}
		}
	}
	return false
}
