package sysview

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/catalog/acl"
	"github.com/sherddb/sherd/sql/privilege"
	"github.com/sherddb/sherd/sql/rowsecurity"
)

// schemaSources are the views of information_schema.
func schemaSources() map[string]source {
	return map[string]source{
		"information_schema_catalog_name": catalogName,
		"schemata":                        schemata,
		"tables":                          schemaTables,
		"views":                           schemaViews,
		"view_table_usage":                viewUsage(false),
		"view_column_usage":               viewUsage(true),
		"columns":                         schemaColumns, "element_types": elementTypes,
		"table_constraints":       tableConstraints,
		"key_column_usage":        keyColumnUsage,
		"constraint_column_usage": constraintColumnUsage,
		"constraint_table_usage":  constraintTableUsage, "check_constraints": checkConstraints,
		"domains": schemaDomains, "domain_constraints": domainConstraints, "domain_udt_usage": domainUDTUsage,
		"character_sets":                        characterSets,
		"collations":                            schemaCollations,
		"collation_character_set_applicability": collationCharacterSets,
		"enabled_roles":                         enabledRoles,
		"applicable_roles":                      applicableRoles,
		"administrable_role_authorizations":     administrableRoles,
		"table_privileges":                      tablePrivileges(false),
		"role_table_grants":                     tablePrivileges(true),
		"column_privileges":                     columnPrivileges(false),
		"role_column_grants":                    columnPrivileges(true),
		"routine_privileges":                    routinePrivileges(false),
		"role_routine_grants":                   routinePrivileges(true),
		"routines":                              routines,
		"parameters":                            parameters,
		"referential_constraints":               referentialConstraints,
		"sequences":                             schemaSequences,
		"triggers":                              triggers,
		"triggered_update_columns":              triggeredColumns,
		"attributes":                            schemaAttributes,
		"user_defined_types":                    userDefinedTypes,
	}
}

// emptySchema are views of information_schema without rows, because Sherd has no such objects.
var emptySchema = map[string]bool{
	"_pg_foreign_data_wrappers":      true,
	"_pg_foreign_servers":            true,
	"_pg_foreign_table_columns":      true,
	"_pg_foreign_tables":             true,
	"_pg_user_mappings":              true,
	"foreign_data_wrapper_options":   true,
	"foreign_data_wrappers":          true,
	"foreign_server_options":         true,
	"foreign_servers":                true,
	"foreign_table_options":          true,
	"foreign_tables":                 true,
	"user_mapping_options":           true,
	"user_mappings":                  true,
	"column_options":                 true,
	"check_constraint_routine_usage": true,
	"transforms":                     true,
	"view_routine_usage":             true,
	"routine_column_usage":           true,
	"routine_routine_usage":          true,
	"routine_sequence_usage":         true,
	"routine_table_usage":            true,
	"role_udt_grants":                true,
}

func yesNo(v bool) string {
	if v {
		return "YES"
	}
	return "NO"
}

// database sets the name of the database.
func (r *record) database(columns ...string) *record {
	for _, c := range columns {
		r.text(c, r.b.env.Database.Name)
	}
	return r
}

func catalogName(b *builder) error { return b.row().database("catalog_name").send() }

// canSee reports whether the session's role has the privileges of an owner.
func (b *builder) canSee(owner uint32) bool { return b.env.Role != nil && b.env.Role.Acts(owner) }

// canRead reports whether the session's role may read all rows of a table, and so may see their keys.
func (b *builder) canRead(table uint32) bool {
	t, me := b.env.View.Table(table), b.env.Role
	return t != nil && me != nil && me.Relation(t, acl.Select, true) != 0 && !rowsecurity.Active(t, me)
}

func schemata(b *builder) error {
	return b.env.each("pg_namespace", func(r *reader) error {
		s := b.env.View.Schema(r.oid("oid"))
		switch {
		case b.canSee(r.oid("nspowner")):
		case b.env.Role == nil || s == nil && hidden(r.text("nspname")):
			return nil
		case s != nil && b.env.Role.Schema(s, acl.Create|acl.Usage) == 0:
			return nil
		}
		return b.row().database("catalog_name").set("schema_name", r.get("nspname")).
			text("schema_owner", b.env.roleName(r.oid("nspowner"))).send()
	})
}

// hidden reports whether only superusers may look into a built-in schema.
func hidden(schema string) bool { return schema == "pg_toast" }

// visibleClasses calls f for the tables and views on which the role has any privilege.
func (b *builder) visibleClasses(f func(c *class) error) error {
	return b.env.classes(func(c *class) error {
		if c.kind != 'r' && c.kind != 'v' || !isSystemSchema(c.schema) && !b.usable(c) {
			return nil
		}
		return f(c)
	})
}

// usable reports whether the role has any privilege on a table or view, or on one of its columns.
func (b *builder) usable(c *class) bool {
	t := b.env.View.Table(c.oid)
	return b.canSee(c.owner) || t != nil && b.env.Role != nil &&
		(b.env.Role.Relation(t, acl.Relation.All(), true) != 0 || b.env.Role.HasAnyColumn(t, acl.Column.All()))
}

// usableColumn reports whether the role has any privilege on a column.
func (b *builder) usableColumn(c *class, name string) bool {
	t := b.env.View.Table(c.oid)
	return t == nil || b.canSee(c.owner) || b.env.Role.HasColumn(t, t.Column(name), acl.Column.All())
}

func isSystemSchema(schema string) bool { return catalog.IsBuiltinSchema(schema) }

func schemaTables(b *builder) error {
	return b.visibleClasses(func(c *class) error {
		kind := "BASE TABLE"
		if c.kind == 'v' {
			kind = "VIEW"
		}
		return b.row().database("table_catalog").text("table_schema", c.schema).text("table_name", c.name).
			text("table_type", kind).
			text("is_insertable_into", yesNo(Updatable(&b.env.Names, c.oid, 0)&insertable != 0)).
			text("is_typed", "NO").send()
	})
}

func characterSets(b *builder) error {
	return b.row().text("character_set_name", "UTF8").text("character_repertoire", "UCS").text("form_of_use", "UTF8").
		database("default_collate_catalog").send()
}

func schemaCollations(b *builder) error {
	for _, c := range collations() {
		err := b.row().database("collation_catalog").text("collation_schema", pgCatalog).text("collation_name", c.name).
			text("pad_attribute", "NO PAD").send()
		if err != nil {
			return err
		}
	}
	return nil
}

func collationCharacterSets(b *builder) error {
	for _, c := range collations() {
		err := b.row().database("collation_catalog").text("collation_schema", pgCatalog).text("collation_name", c.name).
			text("character_set_name", "UTF8").send()
		if err != nil {
			return err
		}
	}
	return nil
}

func enabledRoles(b *builder) error {
	return b.roles(func(x *catalog.Role) error {
		if !b.canSee(x.OID) {
			return nil
		}
		return b.row().text("role_name", x.Name).send()
	})
}

func applicableRoles(b *builder) error { return memberships(b, false) }

func administrableRoles(b *builder) error { return memberships(b, true) }

func memberships(b *builder, admin bool) error {
	grant := func(grantee, role uint32, grantable bool) error {
		if admin && !grantable || !b.canSee(grantee) {
			return nil
		}
		return b.row().text("grantee", b.env.roleName(grantee)).text("role_name", b.env.roleName(role)).
			text("is_grantable", yesNo(grantable)).send()
	}
	if err := grant(b.env.Database.Owner, catalog.DatabaseOwnerRole, false); err != nil {
		return err
	}
	return b.env.each("pg_auth_members", func(r *reader) error {
		return grant(r.oid("member"), r.oid("roleid"), r.bool("admin_option"))
	})
}

// grantRow is a privilege that a role has granted to another one.
type grantRow struct {
	grantor, grantee uint32 // grantee 0 is PUBLIC
	privilege        string
	grantable        bool
}

// eachGrant calls f for the privileges in an access list that the role may know of: those that it has
// granted or got, and those of all roles. own is true for the views of role grants, which leave out
// what only PUBLIC has got.
func (b *builder) eachGrant(list acl.List, owner uint32, mask acl.Mode, own bool, f func(g grantRow) error) error {
	for _, x := range list {
		mine := b.canSee(x.Grantor) || x.Grantee != acl.Public && b.canSee(x.Grantee)
		if !mine && (own || x.Grantee != acl.Public) {
			continue
		}
		owns := privilege.Of(b.env.View, b.env.Database.OID, x.Grantee).Acts(owner)
		for bit := acl.Mode(1); bit <= mask; bit <<= 1 {
			if x.Mode&mask&bit == 0 {
				continue
			}
			g := grantRow{x.Grantor, x.Grantee, bit.Words()[0], owns || x.Mode&bit.Options() != 0}
			if err := f(g); err != nil {
				return err
			}
		}
	}
	return nil
}

// granted sets the columns of a privilege.
func (r *record) granted(g grantRow) *record {
	grantee := "PUBLIC"
	if g.grantee != acl.Public {
		grantee = r.b.env.roleName(g.grantee)
	}
	return r.text("grantor", r.b.env.roleName(g.grantor)).text("grantee", grantee).
		text("privilege_type", g.privilege).text("is_grantable", yesNo(g.grantable))
}

// systemList is the access list of a system relation.
func systemList(name string, owner uint32) acl.List {
	if secret(name) {
		return acl.List{}
	}
	return acl.List{{Grantee: acl.Public, Grantor: owner, Mode: acl.Select}}
}

// relationList returns the access list of a table or view.
func (b *builder) relationList(c *class) acl.List {
	if t := b.env.View.Table(c.oid); t != nil {
		return t.ACL.Or(acl.Relation, t.Owner)
	}
	return systemList(c.name, c.owner)
}

func tablePrivileges(own bool) source {
	return func(b *builder) error {
		return b.env.classes(func(c *class) error {
			if c.kind != 'r' && c.kind != 'v' {
				return nil
			}
			return b.eachGrant(b.relationList(c), c.owner, acl.Relation.All(), own, func(g grantRow) error {
				return b.row().granted(g).database("table_catalog").text("table_schema", c.schema).
					text("table_name", c.name).text("with_hierarchy", yesNo(g.privilege == "SELECT")).send()
			})
		})
	}
}

func columnPrivileges(own bool) source {
	return func(b *builder) error {
		return b.env.classes(func(c *class) error {
			if c.kind != 'r' && c.kind != 'v' {
				return nil
			}
			t, whole := b.env.View.Table(c.oid), b.relationList(c)
			for _, name := range b.env.columnNames(c.oid) {
				seen := map[grantRow]bool{}
				send := func(g grantRow) error {
					if seen[g] {
						return nil
					}
					seen[g] = true
					return b.row().granted(g).database("table_catalog").text("table_schema", c.schema).
						text("table_name", c.name).text("column_name", name).send()
				}
				lists := []acl.List{whole}
				if t != nil {
					lists = append(lists, t.Column(name).ACL)
				}
				for _, list := range lists {
					if err := b.eachGrant(list, c.owner, acl.Column.All(), own, send); err != nil {
						return err
					}
				}
			}
			return nil
		})
	}
}

func routinePrivileges(own bool) source {
	return func(b *builder) error {
		return b.env.each("pg_proc", func(r *reader) error {
			f, owner := catalog.FunctionByOID(b.env.View, r.oid("oid")), r.oid("proowner")
			list := acl.Default(acl.Function, owner)
			switch {
			case f != nil:
				list = f.ACL.Or(acl.Function, owner)
			case restricted(r.oid("oid")):
				list = acl.List{{Grantee: owner, Grantor: owner, Mode: acl.Execute}}
			}
			schema, _ := b.env.SchemaName(r.oid("pronamespace"))
			return b.eachGrant(list, owner, acl.Execute, own, func(g grantRow) error {
				return b.row().granted(g).database("specific_catalog", "routine_catalog").
					text("specific_schema", schema).text("specific_name", specificName(r)).
					text("routine_schema", schema).text("routine_name", r.text("proname")).send()
			})
		})
	}
}

// secret reports whether only superusers may read a system relation.
func secret(name string) bool {
	switch name {
	case "pg_authid", "pg_shadow", "pg_statistic", "pg_hba_file_rules", "pg_file_settings", "pg_user_mapping",
		"pg_largeobject":
		return true
	}
	return false
}
