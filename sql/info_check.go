package sql

import "github.com/sherddb/sherd/internal/pgerr"

// Check implements builtin.PolicyInfo: it looks over this session's database, for superusers and the database's owner, since what it finds
// may show keys of any table. It takes a timestamp of its own, and sees neither the transaction's snapshot nor what it has not committed.
func (i info) Check(emit func(check, subject string, ok bool, detail string) error) error {
	if i.ctx == nil {
		return pgerr.Unsupported("sherd.check() cannot run here")
	}
	view := i.view()
	d, me := view.Database(i.database), view.Role(i.role)
	if d == nil {
		return pgerr.New(pgerr.InvalidCatalogName, "database with OID %d does not exist", i.database)
	}
	if me == nil || !me.Superuser && me.OID != d.Owner {
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied for function check").
			WithHint("Superusers and the owner of the database may check it.")
	}
	return i.db.cfg.Fragments.Check(i.ctx, i.database, emit)
}
