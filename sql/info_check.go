package sql

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/ddl"
)

// Check implements builtin.PolicyInfo: it looks over this session's database, for superusers and the database's owner, since what it finds
// may show keys of any table. It takes a timestamp of its own, and sees neither the transaction's snapshot nor what it has not committed. With an
// index it tells about that one only, though it reads everything: the entries follow from the rows.
func (i info) Check(index uint32, emit func(check, subject string, ok bool, detail string) error) error {
	if i.ctx == nil {
		return pgerr.Unsupported("sherd.check() cannot run here")
	}
	view := i.view()
	d, me := view.Database(i.database), view.Role(i.role)
	if d == nil {
		return pgerr.New(pgerr.InvalidCatalogName, "database with OID %d does not exist", i.database)
	}
	function := "check"
	if index != 0 {
		function = "check_index"
	}
	if me == nil || !me.Superuser && me.OID != d.Owner {
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied for function %s", function).
			WithHint("Superusers and the owner of the database may check it.")
	}
	if index == 0 {
		if err := i.db.cfg.Fragments.Check(i.ctx, i.database, emit); err != nil {
			return err
		}
		if err := i.checkForeignKeys(i.ctx, emit); err != nil {
			return err
		}
		if err := i.checkFormerIDs(i.ctx, emit); err != nil {
			return err
		}
		return i.checkParts(i.ctx, emit)
	}
	about, err := indexSubject(view, i.database, index)
	if err != nil {
		return err
	}
	return i.db.cfg.Fragments.Check(i.ctx, i.database, func(check, subject string, ok bool, detail string) error {
		if check != "index" || subject != about {
			return nil
		}
		return emit(check, subject, ok, detail)
	})
}

// indexSubject is what a check calls an index: by its name, or, where it is the one in primary key order, by the table's.
func indexSubject(view *catalog.View, database, oid catalog.OID) (string, error) {
	t, ix, err := ddl.IndexOf(view, database, oid)
	if err != nil {
		return "", err
	}
	name := ix.Name
	if ix.Primary {
		name = t.Name
	}
	if s := view.Schema(t.Schema); s != nil {
		name = s.Name + "." + name
	}
	return name, nil
}
