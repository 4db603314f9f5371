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

// keepHeld keeps the locks of a transaction when it becomes a prepared transaction, so that the
// definitions of its tables cannot change.
func (db *Server) keepHeld(name heldName, owner *locks.Owner) {
	if owner == nil {
		return
	}
	db.mu.Lock()
	db.held[name] = owner
	db.mu.Unlock()
}

// dropLocks releases the locks of a prepared transaction that has ended. A commit whose outcome is
// unknown will end without this session.
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

// dropHeld releases the locks of one prepared transaction, unless another transaction of the same
// name has taken its place.
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

// heldLook is the interval between checks whether prepared transactions have ended at other nodes.
const heldLook = time.Second

// FollowPrepared releases the locks of prepared transactions that were ended through another node,
// until ctx ends.
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
	held := maps.Clone(db.held) // all of these are durable already
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

// endedIn returns a function that reports whether a prepared transaction of a database has
// certainly ended. All transactions of a dropped database have; none has while a fragment does not
// answer.
func (db *Server) endedIn(ctx context.Context, database catalog.OID) func(txn.ID) bool {
	if db.cfg.Catalog.View().Database(database) == nil {
		return func(txn.ID) bool { return true }
	}
	list, missing, err := db.cfg.Fragments.PreparedSoon(ctx, database, heldPatience)
	return func(id txn.ID) bool {
		return err == nil && len(missing) == 0 && !slices.ContainsFunc(list, func(h txn.HeldTransaction) bool {
			return h.ID == id
		})
	}
}
