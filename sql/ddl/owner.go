package ddl

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/catalog/acl"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/privilege"
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
	if kind := viewKind(&change{runner: r, view: r.View()}, n.ObjectType, n.Relation); kind != "" {
		return tag, true, setViewSchema(r, n, kind)
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
			if err != nil || s.OID == t.Schema {
				return err
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
	if role.OID != s.Owner {
		if err := c.mayCreateIn(c.view.Database(c.Database)); err != nil {
			return err
		}
	}
	s.ACL = privilege.SchemaList(s).WithOwner(s.Owner, role.OID)
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
	if role.OID != d.Owner && !c.me.Superuser && !c.me.CreateDB {
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied to change owner of database")
	}
	d.ACL = d.ACL.WithOwner(d.Owner, role.OID)
	d.Owner = role.OID
	return c.ch.PutDatabase(d)
}

// subject returns the current role with what it may do.
func subject(c *change) *privilege.Subject { return privilege.Of(c.view, c.Database, c.Role) }

// mayUse returns an error unless the role has one of the privileges on a relation.
func mayUse(c *change, t *catalog.Table, anyOf acl.Mode) error {
	if subject(c).Relation(t, anyOf, true) == 0 {
		return privilege.Denied(t)
	}
	return nil
}

// owns reports whether the role has the rights of an owner.
func (c *change) owns(owner catalog.OID) bool {
	return privilege.Owns(c.view, c.Database, c.me.OID, owner)
}

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
		kind = found{table: t}.kind()
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
	if !c.owns(d.Owner) {
		return pgerr.New(pgerr.InsufficientPrivilege, "must be owner of database %s", d.Name)
	}
	return nil
}

// mayCreateIn returns an error unless the role may create schemas in the database.
func (c *change) mayCreateIn(d *catalog.Database) error {
	if subject(c).OnDatabase(d, acl.Create) == 0 {
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied for database %s", d.Name)
	}
	return nil
}

// role finds the role that a RoleSpec names.
func (c *change) role(spec *pg_query.RoleSpec) (*catalog.Role, error) {
	switch spec.GetRoletype() {
	case pg_query.RoleSpecType_ROLESPEC_CURRENT_ROLE, pg_query.RoleSpecType_ROLESPEC_CURRENT_USER:
		return c.me, nil
	case pg_query.RoleSpecType_ROLESPEC_SESSION_USER:
		if r := c.view.Role(c.SessionRole); r != nil {
			return r, nil
		}
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

// newOwner finds the role that becomes an owner. The current role must be a member of it.
func (c *change) newOwner(spec *pg_query.RoleSpec) (*catalog.Role, error) {
	r, err := c.role(spec)
	if err != nil {
		return nil, err
	}
	if !subject(c).Member(r.OID) {
		return nil, pgerr.New(pgerr.InsufficientPrivilege, `must be member of role "%s"`, r.Name)
	}
	return r, nil
}

// newOwnerIn is newOwner for an object in a schema, in which the new owner must be able to create it.
func newOwnerIn(c *change, spec *pg_query.RoleSpec, old, schema catalog.OID) (*catalog.Role, error) {
	role, err := c.newOwner(spec)
	s := c.view.Schema(schema)
	if err != nil || role.OID == old || c.me.Superuser || s == nil {
		return role, err
	}
	return role, mayCreateInSchema(privilege.Of(c.view, c.Database, role.OID), s)
}

// giveTable makes a role the owner of a relation.
func giveTable(t *catalog.Table, owner catalog.OID) {
	t.ACL = t.ACL.WithOwner(t.Owner, owner)
	for i := range t.Columns {
		t.Columns[i].ACL = t.Columns[i].ACL.WithOwner(t.Owner, owner)
	}
	t.Owner = owner
}
