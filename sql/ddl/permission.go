package ddl

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
)

// owns reports whether the role has the rights of an owner.
func (c *change) owns(owner catalog.OID) bool { return c.me.Owns(c.view.Database(c.Database), owner) }

func (c *change) mustOwn(t *catalog.Table) error {
	if c.owns(t.Owner) {
		return nil
	}
	if s := c.view.Schema(t.Schema); s != nil && c.owns(s.Owner) {
		// as in PostgreSQL, a schema's owner may drop, rename and move its tables; other changes
		// need the table's owner
		return nil
	}
	kind := "table"
	switch {
	case t.Sequence != nil:
		kind = "sequence"
	case t.View != nil:
		kind = "view"
	}
	return pgerr.New(pgerr.InsufficientPrivilege, "must be owner of %s %s", kind, t.Name)
}

func (c *change) mustOwnSchema(s *catalog.Schema) error {
	if !c.owns(s.Owner) {
		return pgerr.New(pgerr.InsufficientPrivilege, "must be owner of schema %s", s.Name)
	}
	return nil
}

func (c *change) mustOwnDatabase(d *catalog.Database) error {
	if !c.me.Superuser && d.Owner != c.me.OID {
		return pgerr.New(pgerr.InsufficientPrivilege, "must be owner of database %s", d.Name)
	}
	return nil
}

// mayCreateIn returns an error unless the role may create schemas in the database.
func (c *change) mayCreateIn(d *catalog.Database) error {
	if !c.me.Superuser && d.Owner != c.me.OID {
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied for database %s", d.Name)
	}
	return nil
}

// role finds the role that a RoleSpec names.
func (c *change) role(spec *pg_query.RoleSpec) (*catalog.Role, error) {
	switch spec.GetRoletype() {
	case pg_query.RoleSpecType_ROLESPEC_CURRENT_ROLE, pg_query.RoleSpecType_ROLESPEC_CURRENT_USER,
		pg_query.RoleSpecType_ROLESPEC_SESSION_USER:
		return c.me, nil
	case pg_query.RoleSpecType_ROLESPEC_PUBLIC:
		return nil, pgerr.New(pgerr.UndefinedObject, `role "public" does not exist`)
	}
	r := c.view.RoleByName(spec.GetRolename())
	if r == nil {
		return nil, pgerr.New(pgerr.UndefinedObject, `role "%s" does not exist`, spec.GetRolename())
	}
	return r, nil
}

// newOwner finds the role that becomes an owner. Another role than the current one needs a
// superuser, because there are no memberships yet.
func (c *change) newOwner(spec *pg_query.RoleSpec) (*catalog.Role, error) {
	r, err := c.role(spec)
	if err != nil {
		return nil, err
	}
	if r.OID != c.me.OID && !c.me.Superuser {
		return nil, pgerr.New(pgerr.InsufficientPrivilege, `must be member of role "%s"`, r.Name)
	}
	return r, nil
}
