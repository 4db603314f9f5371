package sql

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sherddb/sherd/catalog"
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
	t := &transaction{s: s, began: time.Now(), modes: modes{level: "read committed"}}
	s.tx = t
	defer func() {
		t.rollback()
		s.tx = outer
		if outer != nil {
			s.inTransaction(outer)
		}
	}()
	t.open()
	var keys []*refint.Key
	view := s.db.cfg.Catalog.View()
	for table := range view.Tables(s.database) {
		keys = append(keys, refint.From(view, table)...)
	}
	slices.SortFunc(keys, func(a, b *refint.Key) int {
		return cmp.Or(cmp.Compare(a.ChildSchema, b.ChildSchema), cmp.Compare(a.Child.Name, b.Child.Name), cmp.Compare(a.Con.OID, b.Con.OID))
	})
	for _, k := range keys {
		if err := t.proveKey(ctx, k, emit); err != nil {
			return err
		}
	}
	return nil
}

// proveKey reports on one foreign key.
func (t *transaction) proveKey(ctx context.Context, k *refint.Key, emit func(check, subject string, ok bool, detail string) error) error {
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
	view := t.s.db.cfg.Catalog.View()
	if k = current(view, k); k == nil {
		return nil // dropped meanwhile
	}
	if !k.Con.Valid {
		return emit(what, subject, true, "not looked at: it is NOT VALID")
	}
	found := 0
	err := t.s.queryAgainst(ctx, view, k.Orphans(maxOrphans+1), func(row []types.Datum) error {
		if found++; found > maxOrphans {
			return emit(what, subject, false, "and more")
		}
		return emit(what, subject, false, k.Broken(row, t.s.Env()).Detail)
	})
	if err != nil || found > 0 {
		return err
	}
	rows := int64(0)
	err = t.s.queryAgainst(ctx, view, k.Count(), func(row []types.Datum) error {
		rows = row[0].N
		return nil
	})
	if err != nil {
		return err
	}
	return emit(what, subject, true, fmt.Sprintf("%d keys", rows))
}
