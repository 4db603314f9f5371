package sysview

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/catalog/acl"
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
		"table_privileges":                      tablePrivileges,
		"role_table_grants":                     tablePrivileges,
		"column_privileges":                     columnPrivileges,
		"role_column_grants":                    columnPrivileges,
		"routines":                              routines,
		"parameters":                            parameters,
		"referential_constraints":               referentialConstraints,
		"sequences":                             schemaSequences,
		"triggers":                              triggers,
		"triggered_update_columns":              triggeredColumns,
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
	"attributes":                     true,
	"user_defined_types":             true,
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

// canRead reports whether the session's role may read a table, and so may see its keys.
func (b *builder) canRead(table uint32) bool {
	t := b.env.View.Table(table)
	return t != nil && b.env.Role != nil && b.env.Role.Relation(t, acl.Select, true) != 0
}

func schemata(b *builder) error {
	return b.env.each("pg_namespace", func(r *reader) error {
		if !b.canSee(r.oid("nspowner")) {
			return nil
		}
		return b.row().database("catalog_name").set("schema_name", r.get("nspname")).
			text("schema_owner", b.env.roleName(r.oid("nspowner"))).send()
	})
}

// visibleClasses calls f for the tables and views on which the role has any privilege.
func (b *builder) visibleClasses(f func(c *class) error) error {
	return b.env.classes(func(c *class) error {
		if c.kind != 'r' && c.kind != 'v' || !b.canSee(c.owner) && !isSystemSchema(c.schema) {
			return nil
		}
		return f(c)
	})
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

var tablePrivilegeNames = []string{"INSERT", "SELECT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER"}

// tablePrivileges: there is no GRANT, so owners have all privileges, and others may only read
// system relations.
func tablePrivileges(b *builder) error {
	return b.visibleClasses(func(c *class) error {
		if isSystemSchema(c.schema) {
			if secret(c.name) {
				return nil
			}
			return b.privilege(c, "PUBLIC", "SELECT").text("with_hierarchy", "YES").send()
		}
		for _, p := range tablePrivilegeNames {
			if err := b.privilege(c, b.env.roleName(c.owner), p).text("with_hierarchy", yesNo(p == "SELECT")).
				send(); err != nil {
				return err
			}
		}
		return nil
	})
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

func (b *builder) privilege(c *class, grantee, privilege string) *record {
	return b.row().text("grantor", b.env.roleName(c.owner)).text("grantee", grantee).database("table_catalog").
		text("table_schema", c.schema).text("table_name", c.name).text("privilege_type", privilege).
		text("is_grantable", yesNo(grantee != "PUBLIC"))
}

func columnPrivileges(b *builder) error {
	return b.visibleClasses(func(c *class) error {
		grantee, privileges := b.env.roleName(c.owner), []string{"INSERT", "SELECT", "UPDATE", "REFERENCES"}
		if isSystemSchema(c.schema) {
			if secret(c.name) {
				return nil
			}
			grantee, privileges = "PUBLIC", []string{"SELECT"}
		}
		for _, name := range b.env.columnNames(c.oid) {
			for _, p := range privileges {
				if err := b.privilege(c, grantee, p).text("column_name", name).send(); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
