package sql_test

import (
	"testing"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/session"
)

// olderAdmin replaces the predefined sherd_admin by a login role of that name, as users of older
// releases could make it.
func (w *world) olderAdmin(t *testing.T) {
	t.Helper()
	oid, err := w.cfg.Catalog.NewOID(t.Context())
	must(t, err)
	w.change(t, func(_ *catalog.Database, ch *catalog.Change) error {
		ch.DropRole(catalog.AdminRole)
		return ch.PutRole(&catalog.Role{
			OID: oid, Name: catalog.AdminRoleName, Login: true, Inherit: true, ConnectionLimit: -1,
		})
	})
}

// TestAdminRole checks that sherd_admin is a predefined role, and that names with its prefix are
// reserved, as names with pg_ are.
func TestAdminRole(t *testing.T) {
	w := newWorld(t)
	a := w.connect(t)
	const reserved = ` is reserved (SQLSTATE 42939): Role names starting with "sherd_" are reserved.`
	for _, catalogTable := range []string{"pg_roles", "pg_authid"} {
		a.want("SELECT rolname, rolcanlogin, rolsuper, rolcreaterole, "+
			"rolinherit FROM "+catalogTable+" WHERE rolname LIKE 'sherd%'", "sherd_admin|f|f|f|t\nSELECT 1")
	}
	a.want("SET sherd.portable_dump = on; SELECT count(*) FROM pg_roles WHERE rolname ~ '^sherd_'; "+
		"RESET sherd.portable_dump", "SET\n0\nSELECT 1\nRESET")
	a.want("CREATE ROLE bob CREATEROLE LOGIN", "CREATE ROLE")
	b := w.connectAs(t, "bob", session.Handle{})
	for _, c := range []*client{a, b} {
		c.want("CREATE ROLE sherd_admin LOGIN", `role name "sherd_admin"`+reserved)
		c.want("CREATE USER sherd_other", `role name "sherd_other"`+reserved)
		c.want("ALTER ROLE sherd_admin LOGIN PASSWORD 'x'", `role name "sherd_admin"`+reserved)
		c.want("ALTER ROLE sherd_admin SET sherd.max_fanout = 1", `role name "sherd_admin"`+reserved)
		c.want("ALTER ROLE sherd_admin RENAME TO boss", `role name "sherd_admin"`+reserved)
		c.want("DROP ROLE sherd_admin",
			"cannot drop role sherd_admin because it is required by the database system (SQLSTATE 2BP01)")
	}
	const dumped = "ALTER ROLE sherd_admin WITH NOSUPERUSER INHERIT NOCREATEROLE NOCREATEDB NOLOGIN NOREPLICATION " +
		"NOBYPASSRLS"
	a.want(dumped, "ALTER ROLE")
	b.want(dumped, `role name "sherd_admin"`+reserved)
	a.want("ALTER ROLE pg_monitor NOLOGIN",
		`role name "pg_monitor" is reserved (SQLSTATE 42939): Role names starting with "pg_" are reserved.`)
	a.want("CREATE ROLE carol", "CREATE ROLE")
	a.want("ALTER ROLE carol RENAME TO sherd_carol", `role name "sherd_carol"`+reserved)
	if _, err := w.server.NewSession(
		t.Context(), session.StartupParams{User: "sherd_admin", Database: "postgres"},
	); err == nil {
		t.Error("sherd_admin can log in")
	}
}

// TestOlderAdminRole checks that a login role of that name, made when users could make it, keeps
// working.
func TestOlderAdminRole(t *testing.T) {
	w := newWorld(t)
	w.olderAdmin(t)
	a, admin := w.connect(t), w.connectAs(t, "sherd_admin", session.Handle{})
	admin.want("SELECT sherd.apply_plan(0)", "plan 0 does not exist (SQLSTATE 42704)")
	a.want("ALTER ROLE sherd_admin PASSWORD 'new'", "ALTER ROLE")
	a.want("ALTER ROLE sherd_admin RENAME TO boss", "ALTER ROLE")
	a.want("DROP ROLE boss", "DROP ROLE")
}
