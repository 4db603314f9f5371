package tx

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/locks"
)

// adoptTimeout bounds how long a node that starts waits for fragments that do not answer. A
// fragment that has lost its replicas makes its own documents unavailable, but must not keep other
// nodes from starting.
const adoptTimeout = 5 * time.Second

// Adopt takes, after a restart, the table locks of the transactions that are still
// prepared. It finds their tables by the rows that they have locked, and the definitions that they
// change in the catalog. It must be called before sessions are served.
//
// Follow asks again for the databases in which a fragment did not answer. Until then their
// tables can be read and written, but a lock that a prepared transaction may exclude is refused.
//
// Adopt returns the error of ctx, or the error of a clock too far ahead, because then no
// node answers this one.
func (p *PreparedTransactions) Adopt(ctx context.Context) error {
	p.mu.Lock()
	for d := range p.services.Catalog.View().Databases() {
		p.adopting[d.OID] = nil
	}
	p.mu.Unlock()
	p.locks.Withhold(p.withheld)
	p.adopt(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, why := range p.adopting {
		if txn.IsAhead(why) {
			return why
		}
	}
	return ctx.Err()
}

// adopt asks the databases whose prepared transactions are not known here yet.
func (p *PreparedTransactions) adopt(ctx context.Context) {
	p.mu.Lock()
	missing := slices.Collect(maps.Keys(p.adopting))
	p.mu.Unlock()
	if len(missing) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, adoptTimeout)
	defer cancel()
	rows, _ := p.fragments.RowLocks()
	var wg sync.WaitGroup
	for _, database := range missing {
		wg.Go(func() {
			err := p.adoptIn(ctx, database, rows)
			p.mu.Lock()
			defer p.mu.Unlock()
			if err == nil {
				delete(p.adopting, database)
			} else {
				p.adopting[database] = err
			}
		})
	}
	wg.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.adopting) == 0 {
		p.locks.Withhold(nil)
	}
}

// adoptIn takes the locks of all prepared transactions of a database, or of none if it fails.
func (p *PreparedTransactions) adoptIn(ctx context.Context, database catalog.OID, rows []txn.RowLock) error {
	view := p.services.Catalog.View()
	if view.Database(database) == nil {
		return nil // dropped meanwhile
	}
	list, err := p.fragments.List(ctx, database)
	if err != nil {
		return err
	}
	tables := table.TablesByStorage(view)
	owners := map[preparedName]*locks.Owner{}
	for _, h := range list {
		owner := p.locks.NewSession(0).Begin(h.ID)
		owners[preparedName{database, h.GID}] = owner
		if err = adoptOne(ctx, owner, h, view, tables, rows); err != nil {
			break
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, owner := range owners {
		if _, since := p.held[name]; err != nil || since { // prepared here since the node was started
			owner.Release()
		} else {
			p.held[name] = owner
		}
	}
	return err
}

func adoptOne(
	ctx context.Context, owner *locks.Owner, h txn.PreparedTransaction, view *catalog.View,
	tables map[table.Storage]*catalog.Table, rows []txn.RowLock,
) error {
	for _, l := range rows {
		if l.Holder.ID != h.ID || !l.Granted {
			continue
		}
		t := tables[table.Storage{Fragment: l.Fragment, ID: table.StorageIDOfKey(l.Key)}]
		if t == nil {
			continue
		}
		if err := owner.Acquire(
			ctx, locks.Table(t.Database, t.OID), locks.Request{Mode: locks.RowExclusive, Held: true},
		); err != nil {
			return err
		}
	}
	if err := adoptReads(ctx, owner, tables, h); err != nil {
		return err
	}
	for _, x := range view.PreparedChanges() {
		if x.ID == h.ID {
			if err := adoptDefinitions(ctx, owner, h.Database, x); err != nil {
				return err
			}
		}
	}
	return nil
}

// adoptReads takes the locks of the tables whose reads must still hold when the prepared
// transaction commits.
func adoptReads(
	ctx context.Context, owner *locks.Owner, tables map[table.Storage]*catalog.Table, h txn.PreparedTransaction,
) error {
	for _, id := range h.Tables {
		for _, f := range h.Fragments {
			t := tables[table.Storage{Fragment: f, ID: id}]
			if t == nil {
				continue
			}
			if err := owner.Acquire(
				ctx, locks.Table(t.Database, t.OID), locks.Request{Mode: locks.AccessShare, Held: true},
			); err != nil {
				return err
			}
		}
	}
	return nil
}

// adoptDefinitions takes the locks of a prepared transaction that has changed definitions: its
// table locks, and locks on everything else that it changes or refers to.
func adoptDefinitions(ctx context.Context, owner *locks.Owner, database catalog.OID, x catalog.PreparedChange) error {
	for _, l := range x.Locks {
		for mode := locks.AccessShare; mode <= locks.AccessExclusive; mode++ {
			if !locks.Set(l.Modes).Has(mode) {
				continue
			}
			if err := owner.Acquire(
				ctx, locks.Table(database, l.Table), locks.Request{Mode: mode, Held: true},
			); err != nil {
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
		if err := owner.Acquire(ctx, Touched(database, touch), locks.Request{Mode: mode, Held: true}); err != nil {
			return err
		}
	}
	return nil
}

// withheld refuses a lock that may conflict with a prepared transaction, as long as this node has
// not learned which ones the database has.
func (p *PreparedTransactions) withheld(tag locks.Tag, mode locks.Mode) error {
	p.mu.Lock()
	why, missing := p.adopting[tag.Database]
	p.mu.Unlock()
	if !missing {
		return nil
	}
	view := p.services.Catalog.View()
	table := view.Table(tag.Object)
	if table == nil { // the transaction that creates it is still open
		return nil
	}
	if !locks.RowExclusive.Conflicts(mode) && !excludedByHeld(view, tag.Object, mode) {
		return nil
	}
	e := pgerr.New(pgerr.CannotConnectNow,
		`"%s" cannot be locked or changed before it is known which prepared transactions use it`, table.Name).
		WithHint("Start the nodes that are missing. Tables can be read and written meanwhile.")
	if pgerr.Is(why, pgerr.CannotConnectNow) {
		e = e.WithDetail("This node was started a while ago, and %s.", pgerr.From(why).Message)
	}
	return e
}

// excludedByHeld reports whether a lock conflicts with the definitions that prepared transactions
// change.
func excludedByHeld(view *catalog.View, table catalog.OID, mode locks.Mode) bool {
	for _, x := range view.PreparedChanges() {
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
