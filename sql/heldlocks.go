package sql

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/locks"
	"github.com/sherddb/sherd/txn"
)

// heldName names a prepared transaction.
type heldName struct {
	database catalog.OID
	gid      string
}

// keepHeld keeps the locks of a transaction that has become a prepared one: nothing changes the definitions of its tables.
func (db *Server) keepHeld(name heldName, owner *locks.Owner) {
	if owner == nil {
		return
	}
	db.mu.Lock()
	db.held[name] = owner
	db.mu.Unlock()
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
	if e := db.services.TableLocks; e != nil {
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
			db.adopt(ctx)
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
	ended := map[catalog.OID]func(txn.ID) bool{}
	for name, owner := range held {
		if ended[name.database] == nil {
			ended[name.database] = db.endedIn(ctx, name.database)
		}
		if ended[name.database](owner.ID()) {
			db.dropHeld(name, owner)
		}
	}
}

// endedIn tells of prepared transactions of a database whether they have ended for certain: those of one that was dropped have, and none has while a fragment
// does not answer.
func (db *Server) endedIn(ctx context.Context, database catalog.OID) func(txn.ID) bool {
	if db.cfg.Catalog.View().Database(database) == nil {
		return func(txn.ID) bool { return true }
	}
	list, missing, err := db.cfg.Fragments.PreparedSoon(ctx, database, heldPatience)
	return func(id txn.ID) bool {
		return err == nil && len(missing) == 0 && !slices.ContainsFunc(list, func(h txn.HeldTransaction) bool { return h.ID == id })
	}
}
