package rowsecurity

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/privilege"
)

// Active reports whether a role reads and writes only some rows of a table (check_enable_rls).
func Active(t *catalog.Table, me *privilege.Subject) bool {
	switch {
	case t.RowSecurity == nil || !t.RowSecurity.Enabled:
		return false
	case me.Role == nil:
		return true
	case me.Superuser() || me.Role.BypassRLS:
		return false
	}
	return t.RowSecurity.Forced || !me.Acts(t.Owner)
}

// refused is the error of a query that row security changes, if row_security is off.
func refused(t *catalog.Table, me *privilege.Subject) error {
	err := pgerr.New(pgerr.InsufficientPrivilege,
		`query would be affected by row-level security policy for table "%s"`, t.Name)
	if me.Acts(t.Owner) {
		return err.WithHint("To disable the policy for the table's owner, use ALTER TABLE NO FORCE ROW LEVEL SECURITY.")
	}
	return err
}
