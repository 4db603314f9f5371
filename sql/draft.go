package sql

import (
	"context"

	"github.com/sherddb/sherd/catalog"
)

// view is the catalog as the running statement sees it.
func (s *Session) view() *catalog.View {
	if s.tx == nil {
		return s.db.cfg.Catalog.View()
	}
	return s.tx.View()
}

// drafted tells whether the transaction sees definitions that are not in force: nothing made of them may be kept for others.
func (s *Session) drafted() bool { return s.tx != nil && s.tx.Schema != nil }

// completeID gives a document the id that its client left to the server. Ids of a table that the transaction has made are numbered here: nobody
// else knows the table.
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

// Observe notes the storages that a new view of the catalog has, before a statement uses them: the past can be read from here on.
func (db *Server) Observe(v *catalog.View) { db.services.Storages.ObserveAll(v) }
