package sql

import (
	"strings"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/pgcatalog"
)

// HasPrivilege implements builtin.PrivilegeInfo. There is no GRANT yet: owners and superusers may do everything, everybody what
// PostgreSQL lets PUBLIC do from the start.
func (i info) HasPrivilege(role uint32, kind builtin.ObjectKind, oid uint32, _ int16, privilege string) (bool, error) {
	names := i.names()
	r := names.View.Role(role)
	if r == nil {
		return false, nil
	}
	owner, public := i.ownership(kind, oid)
	if r.Superuser || owner == role {
		return true, nil
	}
	grantable := strings.HasSuffix(privilege, " WITH GRANT OPTION")
	for _, p := range public {
		if p == privilege && !grantable {
			return true, nil
		}
	}
	if owner == catalog.DatabaseOwnerRole {
		return names.Database.Owner == role, nil
	}
	return false, nil
}

// ownership gives an object's owner and what everybody may do with it.
func (i info) ownership(kind builtin.ObjectKind, oid uint32) (owner catalog.OID, public []string) {
	view := i.view()
	switch kind {
	case builtin.ObjRelation, builtin.ObjColumn:
		if t := view.Table(oid); t != nil {
			return t.Owner, nil
		}
		return catalog.BootstrapRole, readable(oid)
	case builtin.ObjSchema:
		if s := view.Schema(oid); s != nil {
			if s.Name == "public" {
				public = []string{"USAGE"}
			}
			return s.Owner, public
		}
		return catalog.BootstrapRole, []string{"USAGE"}
	case builtin.ObjDatabase:
		if d := view.Database(oid); d != nil {
			return d.Owner, []string{"CONNECT", "TEMPORARY", "TEMP"}
		}
	case builtin.ObjFunction:
		return catalog.BootstrapRole, []string{"EXECUTE"}
	case builtin.ObjType:
		return catalog.BootstrapRole, []string{"USAGE"}
	}
	return catalog.BootstrapRole, nil
}

// readable gives what everybody may do with a system relation.
func readable(oid uint32) []string {
	if r := pgcatalog.RelationByOID(oid); r != nil {
		switch r.Name {
		case "pg_authid", "pg_shadow", "pg_hba_file_rules", "pg_file_settings", "pg_statistic", "pg_user_mapping", "pg_largeobject":
			return nil
		}
		return []string{"SELECT"}
	}
	return nil
}

// HasRole implements builtin.PrivilegeInfo. There are no memberships yet.
func (i info) HasRole(role, other uint32, privilege string) (bool, error) {
	names := i.names()
	r := names.View.Role(role)
	if r == nil {
		return false, nil
	}
	switch {
	case role == other, r.Superuser:
		return true, nil
	case other == catalog.DatabaseOwnerRole && !strings.HasPrefix(privilege, "SET"):
		return names.Database.Owner == role, nil
	}
	return false, nil
}
