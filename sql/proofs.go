package sql

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/forward"
	"github.com/sherddb/sherd/sql/locks"
	"github.com/sherddb/sherd/sql/refint"
	"github.com/sherddb/sherd/sql/types"
)

// maxOrphans is how many keys that refer to nothing sherd.check() names of one foreign key.
const maxOrphans = 10

// checkForeignKeys proves all foreign keys of the database, each at one timestamp, in a transaction of its own: what the session's has not
// committed is not looked at.
func (s *Session) checkForeignKeys(ctx context.Context, emit func(check, subject string, ok bool, detail string) error) error {
	outer := s.tx
	t := s.systemTransaction(time.Now())
	s.tx = t
	defer func() {
		t.rollback()
		s.tx = outer
		if outer != nil {
			s.inTransaction(outer)
		}
	}()
	var keys []*refint.Key
	view := s.db.cfg.Catalog.View()
	for table := range view.Tables(s.database) {
		keys = append(keys, refint.From(view, table)...)
	}
	slices.SortFunc(keys, func(a, b *refint.Key) int {
		return cmp.Or(cmp.Compare(a.ChildSchema, b.ChildSchema), cmp.Compare(a.Child.Name, b.Child.Name), cmp.Compare(a.Con.OID, b.Con.OID))
	})
	for _, k := range keys {
		if err := s.proveKey(ctx, t, k, emit); err != nil {
			return err
		}
	}
	return nil
}

// proveKey reports on one foreign key.
func (s *Session) proveKey(ctx context.Context, t *transaction, k *refint.Key, emit func(check, subject string, ok bool, detail string) error) error {
	const what = "foreign key"
	subject := k.ChildSchema + "." + k.Child.Name + " " + k.Con.Name
	for _, table := range []catalog.OID{k.Child.OID, k.Parent.OID} {
		err := t.lockTable(ctx, table, locks.AccessShare, true) // it may be this very session that is changing it
		if errors.Is(err, locks.ErrNotAvailable) {
			return emit(what, subject, true, "not looked at: the definition of its tables is being changed")
		}
		if err != nil {
			return err
		}
	}
	view := s.catalog.View()
	if k = current(view, k); k == nil {
		return nil // dropped meanwhile
	}
	if !k.Con.Valid {
		return emit(what, subject, true, "not looked at: it is NOT VALID")
	}
	found := 0
	err := s.queryAgainst(ctx, view, k.Orphans(maxOrphans+1), func(row []types.Datum) error {
		if found++; found > maxOrphans {
			return emit(what, subject, false, "and more")
		}
		return emit(what, subject, false, k.Broken(row, s.Env()).Detail)
	})
	if err != nil || found > 0 {
		return err
	}
	rows := int64(0)
	err = s.queryAgainst(ctx, view, k.Count(), func(row []types.Datum) error {
		rows = row[0].N
		return nil
	})
	if err != nil {
		return err
	}
	return emit(what, subject, true, fmt.Sprintf("%d keys", rows))
}

// maxLost is how many faulty former ids sherd.check() names of one collection.
const maxLost = 10

// checkFormerIDs proves of all collections whose documents have former ids that each of these leads to a document, and is no document's present id. It looks at
// what is committed, in a transaction of its own.
func (s *Session) checkFormerIDs(ctx context.Context, emit func(check, subject string, ok bool, detail string) error) error {
	outer, byID := s.tx, s.byID
	t := s.systemTransaction(time.Now())
	s.tx, s.byID = t, true
	defer func() {
		t.rollback()
		s.tx, s.byID = outer, byID
		if outer != nil {
			s.inTransaction(outer)
		}
	}()
	for table := range s.db.cfg.Catalog.View().Tables(s.database) {
		if table.Forwarding == 0 {
			continue
		}
		if err := s.proveFormerIDs(ctx, t, table.OID, emit); err != nil {
			return err
		}
	}
	return nil
}

func (s *Session) proveFormerIDs(ctx context.Context, t *transaction, oid catalog.OID, emit func(check, subject string, ok bool, detail string) error) error {
	const what = "former ids"
	if err := t.lockTable(ctx, oid, locks.AccessShare, false); err != nil {
		return err
	}
	view := s.catalog.View()
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
		err := s.queryAgainst(ctx, view, fmt.Sprintf(fault.text, entries, name, key, maxLost), func(row []types.Datum) error {
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
	err := s.queryAgainst(ctx, view, "SELECT count(*) FROM "+entries, func(row []types.Datum) error {
		n = row[0].N
		return nil
	})
	if err != nil {
		return err
	}
	return emit(what, subject, true, fmt.Sprintf("%d former ids", n))
}
