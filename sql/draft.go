package sql

import (
	"context"

	"github.com/sherddb/sherd/catalog"
)

// view returns the catalog as the running statement sees it.
func (s *Session) view() *catalog.View {
	if s.tx == nil {
		return s.db.cfg.Catalog.View()
	}
	return s.tx.View()
}

// drafted reports whether the transaction sees uncommitted schema changes. Nothing that was made
// from them may be kept for other transactions.
func (s *Session) drafted() bool { return s.tx != nil && s.tx.Schema != nil }

// completeID returns the id of a document whose client left part of it to the server. Ids of a
// table that the transaction has made are numbered here, because no other session knows the table.
func (s *Session) completeID(ctx context.Context, t *catalog.Table, id string) (string, error) {
	if !s.drafted() || !s.tx.Schema.Change.Makes(t.OID) {
		return s.db.ids.complete(ctx, t, id)
	}
	if s.tx.newIDs == nil {
		s.tx.newIDs = map[catalog.OID]uint64{}
	}
	n := max(s.tx.newIDs[t.OID], 1)
	full, left := s.db.ids.completeWith(t, id, n)
	if left {
		s.tx.newIDs[t.OID] = n + 1
	}
	return full, nil
}

// Observe records the storages in a new view of the catalog, before a statement uses them: from
// here on the past can be read.
func (db *Server) Observe(v *catalog.View) { db.services.Storages.ObserveAll(v) }
