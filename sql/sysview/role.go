package sysview

import (
	"maps"
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/catalog/acl"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/privilege"
	"github.com/sherddb/sherd/sql/types"
)

const (
	defaultTablespace = 1663
	utf8Encoding      = 6
	locale            = "C.UTF-8"
	hiddenPassword    = "********"
)

// roles calls f for every role; a dump for PostgreSQL leaves out the roles that PostgreSQL does not
// have.
func (b *builder) roles(f func(r *catalog.Role) error) error {
	for r := range b.env.View.Roles() {
		if b.env.Portable && r.OID == catalog.AdminRole {
			continue
		}
		if err := f(r); err != nil {
			return err
		}
	}
	return nil
}

// validUntil sets a timestamp that the catalog stores as text.
func (r *record) validUntil(column, text string) *record {
	if text == "" {
		return r
	}
	d, err := types.Input(types.TimestampTZ, -1, text, r.b.env.Types)
	if err != nil {
		return r
	}
	return r.set(column, d)
}

// settings sets an array of name=value, null if there are none.
func (r *record) settings(column string, m map[string]string) *record {
	if len(m) == 0 {
		return r
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		list = append(list, name+"="+m[name])
	}
	return r.texts(column, list)
}

// Object is what a privilege is asked for.
type Object struct {
	Kind   builtin.ObjectKind
	OID    uint32
	Column int16 // of ObjColumn; 0 is any
}

// HasPrivilege reports whether a role has a privilege on an object.
func HasPrivilege(n *Names, me *privilege.Subject, x Object, mode acl.Mode) bool {
	if me.Superuser() {
		return true
	}
	switch x.Kind {
	case builtin.ObjRelation, builtin.ObjColumn:
		t := n.View.Table(x.OID)
		if t == nil {
			return (mode == acl.Select && readable(x.OID)) || me.Is(catalog.BootstrapRole)
		}
		if x.Kind == builtin.ObjRelation {
			return me.Relation(t, mode, true) != 0
		}
		if c := t.ColumnByNum(x.Column); x.Column != 0 {
			return c != nil && me.HasColumn(t, c, mode)
		}
		return me.HasAnyColumn(t, mode)
	case builtin.ObjSchema:
		if s := n.View.Schema(x.OID); s != nil {
			return me.Schema(s, mode) != 0
		}
		return mode == acl.Usage
	case builtin.ObjDatabase:
		d := n.View.Database(x.OID)
		return d != nil && me.OnDatabase(d, mode) != 0
	case builtin.ObjFunction, builtin.ObjProcedure:
		if f := catalog.FunctionByOID(n.View, x.OID); f != nil {
			return me.Function(f, mode) != 0
		}
		return mode == acl.Execute && !restricted(x.OID)
	case builtin.ObjType:
		if t := catalog.TypeByOID(n.View, catalog.TypeNumber(x.OID)); t != nil {
			return me.Type(t, mode) != 0
		}
		return mode == acl.Usage
	}
	return false
}

// readable reports whether all roles may read a system relation.
func readable(oid uint32) bool {
	r := pgcatalog.RelationByOID(oid)
	return r != nil && !secret(r.Name)
}

// restricted reports whether a built-in function has an access list, which none has that all roles may
// call.
func restricted(oid uint32) bool {
	rel := pgcatalog.RelationByName(pgCatalog, "pg_proc")
	at, list := place(rel, "oid"), place(rel, "proacl")
	for _, row := range staticRows("pg_proc") {
		if row[at].Oid() == oid {
			return !row[list].IsNull()
		}
	}
	return false
}

// pgAuthMembers lists the members of roles. The memberships of pg_monitor are embedded.
func pgAuthMembers(b *builder) error {
	return b.roles(func(r *catalog.Role) error {
		for _, m := range r.MemberOf {
			if b.env.Portable && m.Role == catalog.AdminRole {
				continue
			}
			err := b.row().oid("roleid", m.Role).oid("member", r.OID).oid("grantor", m.Grantor).
				bool("admin_option", m.Admin).send()
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// pgDefaultACL lists the access lists of ALTER DEFAULT PRIVILEGES.
func pgDefaultACL(b *builder) error {
	for i := range b.env.Database.DefaultACLs {
		x := &b.env.Database.DefaultACLs[i]
		err := b.row().oid("oid", x.OID).oid("defaclrole", x.Role).oid("defaclnamespace", x.Schema).
			char("defaclobjtype", x.Kind).acl("defaclacl", x.ACL).send()
		if err != nil {
			return err
		}
	}
	return nil
}

// pgLanguage lists the built-in languages with their access lists.
func pgLanguage(b *builder) error {
	oid, at := place(b.rel, "oid"), place(b.rel, "lanacl")
	for _, row := range staticRows("pg_language") {
		if list := b.env.Database.LanguageACLs[row[oid].Oid()]; list != nil {
			row = slices.Clone(row)
			row[at] = b.row().acl("lanacl", list).values[at]
		}
		if err := b.emit(row); err != nil {
			return err
		}
	}
	return nil
}

// secret reports whether passwords are hidden from the session.
func (b *builder) secret() bool { return b.env.Role == nil || !b.env.Role.Superuser() }

func (r *record) role(x *catalog.Role) *record {
	return r.oid("oid", x.OID).text("rolname", x.Name).bool("rolsuper", x.Superuser).bool("rolinherit", x.Inherit).
		bool("rolcreaterole", x.CreateRole).bool("rolcreatedb", x.CreateDB).bool("rolcanlogin", x.Login).
		bool("rolreplication", x.Replication).
		bool("rolbypassrls", x.BypassRLS).int("rolconnlimit", int64(x.ConnectionLimit)).
		validUntil("rolvaliduntil", x.ValidUntil)
}

func pgAuthid(b *builder) error {
	if b.secret() {
		return permission("table", "pg_authid")
	}
	return b.roles(func(x *catalog.Role) error { return b.row().role(x).optional("rolpassword", x.Password).send() })
}

func pgRoles(b *builder) error {
	return b.roles(func(x *catalog.Role) error {
		return b.row().role(x).text("rolpassword", hiddenPassword).settings("rolconfig", x.Settings).send()
	})
}

func (r *record) user(x *catalog.Role) *record {
	return r.text("usename", x.Name).oid("usesysid", x.OID).bool("usecreatedb", x.CreateDB).
		bool("usesuper", x.Superuser).
		bool("userepl", x.Replication).bool("usebypassrls", x.BypassRLS).validUntil("valuntil", x.ValidUntil).
		settings("useconfig", x.Settings)
}

func pgUser(b *builder) error {
	return b.roles(func(x *catalog.Role) error {
		if !x.Login {
			return nil
		}
		return b.row().user(x).text("passwd", hiddenPassword).send()
	})
}

func pgShadow(b *builder) error {
	if b.secret() {
		return permission("view", "pg_shadow")
	}
	return b.roles(func(x *catalog.Role) error {
		if !x.Login {
			return nil
		}
		return b.row().user(x).optional("passwd", x.Password).send()
	})
}

func pgGroup(b *builder) error {
	members := map[uint32][]uint32{}
	err := b.env.each("pg_auth_members", func(r *reader) error {
		members[r.oid("roleid")] = append(members[r.oid("roleid")], r.oid("member"))
		return nil
	})
	if err != nil {
		return err
	}
	return b.roles(func(x *catalog.Role) error {
		if x.Login {
			return nil
		}
		return b.row().text("groname", x.Name).oid("grosysid", x.OID).oids("grolist", members[x.OID]).send()
	})
}

func pgDatabase(b *builder) error {
	for d := range b.env.View.Databases() {
		err := b.row().oid("oid", d.OID).text("datname", d.Name).oid("datdba", d.Owner).acl("datacl", d.ACL).
			int("encoding", utf8Encoding).
			char("datlocprovider", 'c').
			bool("datallowconn", true).int("datconnlimit", int64(d.ConnectionLimit)).oid("datfrozenxid", 3).
			oid("datminmxid", 1).
			oid("dattablespace", defaultTablespace).text("datcollate", locale).text("datctype", locale).send()
		if err != nil {
			return err
		}
	}
	return nil
}

func pgDBRoleSetting(b *builder) error {
	for d := range b.env.View.Databases() {
		if len(d.Settings) > 0 {
			if err := b.row().oid("setdatabase", d.OID).settings("setconfig", d.Settings).send(); err != nil {
				return err
			}
		}
	}
	return b.roles(func(x *catalog.Role) error {
		if len(x.Settings) == 0 {
			return nil
		}
		return b.row().oid("setrole", x.OID).settings("setconfig", x.Settings).send()
	})
}
