package ddl

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
)

// setSchema is ALTER TABLE … SET SCHEMA.
func (r *runner) setSchema(n *pg_query.AlterObjectSchemaStmt) (string, bool, error) {
	tag := "ALTER " + kindWord(n.ObjectType)
	if n.ObjectType == pg_query.ObjectType_OBJECT_SEQUENCE {
		return tag, true, r.alterSequenceAs(n.Relation, n.MissingOk,
			func(c *change, t *catalog.Table) error { return c.setSequenceSchema(t, n.Newschema) })
	}
	if n.ObjectType == pg_query.ObjectType_OBJECT_STATISTIC_EXT {
		return tag, true, moveStatistics(r, n)
	}
	if n.ObjectType == pg_query.ObjectType_OBJECT_VIEW ||
		n.ObjectType == pg_query.ObjectType_OBJECT_TABLE && isView(&change{runner: r, view: r.View()}, n.Relation) {
		return tag, true, setViewSchema(r, n)
	}
	if n.ObjectType == pg_query.ObjectType_OBJECT_TYPE || n.ObjectType == pg_query.ObjectType_OBJECT_DOMAIN {
		return tag, true, moveType(r, n)
	}
	if routineKinds[n.ObjectType] != "" {
		return tag, true, moveRoutine(r, n)
	}
	if n.ObjectType != pg_query.ObjectType_OBJECT_TABLE && n.MissingOk && n.Relation != nil {
		return tag, true, r.missing(n.Relation, tag)
	}
	if n.ObjectType != pg_query.ObjectType_OBJECT_TABLE {
		return tag, true, pgerr.Unsupported("%s is not supported yet", tag).
			WithHint("There are no objects of this kind yet, except those that are built in.")
	}
	return tag, true, r.updateExclusive(func(c *change) []catalog.OID { return c.find(n.Relation) },
		func(c *change) error {
			if t := c.sequenceNamed(n.Relation); t != nil {
				if _, err := c.sequence(n.Relation); err != nil {
					return err
				}
				return c.setSequenceSchema(t, n.Newschema)
			}
			t, err := c.table(n.Relation)
			if n.MissingOk && c.skipsMissing(err, n.Relation) {
				return nil
			}
			if err != nil {
				return err
			}
			s, err := c.schemaToFill(n.Newschema, t.Name)
			if err != nil {
				return err
			}
			if s.OID == t.Schema {
				return nil
			}
			owned, err := c.ownedBy([]*catalog.Table{t})
			if err != nil {
				return err
			}
			moved := t.Clone()
			moved.Schema = s.OID
			if err := c.moveParts(moved); err != nil {
				return err
			}
			for _, x := range append([]*catalog.Table{t}, owned...) {
				if err := c.setRelationSchema(x, s); err != nil {
					return err
				}
			}
			return nil
		})
}

func indexNames(t *catalog.Table) []string {
	var out []string
	for _, x := range t.Indexes {
		out = append(out, x.Name)
	}
	return out
}

// setOwner is ALTER … OWNER TO of objects other than tables.
func (r *runner) setOwner(n *pg_query.AlterOwnerStmt) (string, bool, error) {
	tag := "ALTER " + kindWord(n.ObjectType)
	name := n.Object.GetString_().GetSval()
	switch n.ObjectType {
	case pg_query.ObjectType_OBJECT_SCHEMA:
		return tag, true, r.update(func(c *change) error { return c.schemaOwner(name, n.Newowner) })
	case pg_query.ObjectType_OBJECT_DATABASE:
		return tag, true, r.update(func(c *change) error { return c.databaseOwner(name, n.Newowner) })
	case pg_query.ObjectType_OBJECT_STATISTIC_EXT:
		return tag, true, statisticsOwner(r, n)
	case pg_query.ObjectType_OBJECT_TYPE, pg_query.ObjectType_OBJECT_DOMAIN:
		return tag, true, typeOwner(r, n)
	case pg_query.ObjectType_OBJECT_FUNCTION, pg_query.ObjectType_OBJECT_PROCEDURE,
		pg_query.ObjectType_OBJECT_ROUTINE:
		return tag, true, routineOwner(r, n)
	}
	return tag, true, pgerr.Unsupported("%s is not supported yet", tag).
		WithHint("There are no objects of this kind yet, except those that are built in.")
}

func (c *change) schemaOwner(name string, spec *pg_query.RoleSpec) error {
	s, err := c.schemaNamed(name)
	if err != nil {
		return err
	}
	if err := c.mustOwnSchema(s); err != nil {
		return err
	}
	role, err := c.newOwner(spec)
	if err != nil {
		return err
	}
	s = s.Clone()
	s.Owner = role.OID
	return c.ch.PutSchema(s)
}

func (c *change) databaseOwner(name string, spec *pg_query.RoleSpec) error {
	role, err := c.role(spec)
	if err != nil {
		return err
	}
	d, err := c.databaseNamed(name)
	if err != nil {
		return err
	}
	if err := c.mustOwnDatabase(d); err != nil {
		return err
	}
	if _, err := c.newOwner(spec); err != nil {
		return err
	}
	d = d.Clone()
	d.Owner = role.OID
	return c.ch.PutDatabase(d)
}

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
