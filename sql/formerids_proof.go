package sql

import (
	"context"
	"fmt"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/forward"
	"github.com/sherddb/sherd/sql/locks"
	"github.com/sherddb/sherd/sql/types"
)

// maxLost is how many faulty former ids sherd.check() names of one collection.
const maxLost = 10

// checkFormerIDs proves of all collections whose documents have former ids that each of these leads to a document, and is no document's present id. It looks at
// what is committed, in a transaction of its own.
func (s *Session) checkFormerIDs(ctx context.Context, emit func(check, subject string, ok bool, detail string) error) error {
	outer, byID := s.tx, s.byID
	t := &transaction{s: s, began: time.Now(), modes: modes{level: "read committed"}}
	s.tx, s.byID = t, true
	defer func() {
		t.rollback()
		s.tx, s.byID = outer, byID
		if outer != nil {
			s.inTransaction(outer)
		}
	}()
	t.open()
	for table := range s.db.cfg.Catalog.View().Tables(s.database) {
		if table.Forwarding == 0 {
			continue
		}
		if err := t.proveFormerIDs(ctx, table.OID, emit); err != nil {
			return err
		}
	}
	return nil
}

func (t *transaction) proveFormerIDs(ctx context.Context, oid catalog.OID, emit func(check, subject string, ok bool, detail string) error) error {
	const what = "former ids"
	if err := t.lockTable(ctx, oid, locks.AccessShare, false); err != nil {
		return err
	}
	view := t.s.db.cfg.Catalog.View()
	table := view.Table(oid)
	if table == nil || table.Forwarding == 0 || forward.Key(table) < 0 {
		return nil
	}
	schema := view.Schema(table.Schema).Name
	subject, entries := schema+"."+table.Name, forward.EntriesOf(view, table)
	name, key := builtin.QuoteIdent(schema)+"."+builtin.QuoteIdent(table.Name), builtin.QuoteIdent(table.Columns[forward.Key(table)].Name)
	found := 0
	for _, fault := range []struct{ text, says string }{
		{"SELECT f.old, f.new FROM %[1]s f WHERE NOT EXISTS (SELECT FROM %[2]s x WHERE x.%[3]s = f.new) LIMIT %[4]d", "%s leads to %s, which does not exist"},
		{"SELECT f.old, f.new FROM %[1]s f JOIN %[2]s x ON x.%[3]s = f.old LIMIT %[4]d", "%s leads to %s, but is a document itself"},
	} {
		err := t.s.queryAgainst(ctx, view, fmt.Sprintf(fault.text, entries, name, key, maxLost), func(row []types.Datum) error {
			found++
			return emit(what, subject, false, fmt.Sprintf(fault.says, row[0].S, row[1].S))
		})
		if err != nil {
			return err
		}
	}
	if found > 0 {
		return nil
	}
	n := int64(0)
	err := t.s.queryAgainst(ctx, view, "SELECT count(*) FROM "+entries, func(row []types.Datum) error {
		n = row[0].N
		return nil
	})
	if err != nil {
		return err
	}
	return emit(what, subject, true, fmt.Sprintf("%d former ids", n))
}
