package sysview

import (
	"maps"
	"slices"

	"github.com/sherddb/sherd/catalog"
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

// secret reports whether passwords are hidden from the session.
func (b *builder) secret() bool { return b.env.Role == nil || !b.env.Role.Superuser }

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
		err := b.row().oid("oid", d.OID).text("datname", d.Name).oid("datdba", d.Owner).int("encoding", utf8Encoding).
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
