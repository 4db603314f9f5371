package sysview

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/types"
)

// sherdExtension is the OID of the extension that has the schema sherd, its views and its functions
// as members. It is built in, like plpgsql in PostgreSQL: below the first OID of users, so that
// pg_dump leaves it and its members out.
const sherdExtension = pgcatalog.SherdNamespace

func pgExtension(b *builder) error {
	err := b.row().oid("oid", sherdExtension).text("extname", "sherd").oid("extowner", catalog.BootstrapRole).
		oid("extnamespace", pgcatalog.SherdNamespace).bool("extrelocatable", false).text("extversion", "1.0").
		set("extconfig", types.Null).set("extcondition", types.Null).send()
	if err != nil {
		return err
	}
	return formerIDsExtension(b)
}

// formerIDsExtension returns the extension sherd_former_ids of databases whose documents have
// former ids. The tables of these are its configuration tables, whose rows pg_dump writes. Its OID
// is that of their schema, above those of built-in objects.
func formerIDsExtension(b *builder) error {
	schema := b.env.View.SchemaByName(b.env.Database.OID, forwardingSchema)
	if schema == nil || b.env.Portable {
		return nil
	}
	var tables []uint32
	var conditions []types.Datum
	for t := range b.env.View.Tables(b.env.Database.OID) {
		if t.ForwardingOf != 0 {
			tables, conditions = append(tables, t.OID), append(conditions, types.NewText(""))
		}
	}
	if len(tables) == 0 {
		return nil
	}
	return b.row().oid("oid", schema.OID).text("extname", "sherd_former_ids").oid("extowner", catalog.BootstrapRole).
		oid("extnamespace", catalogNamespace).bool("extrelocatable", false).text("extversion", "1.0").
		oids("extconfig", tables).set("extcondition", types.NewList(types.Text, conditions)).send()
}

// forwardingSchema is the schema of the tables of former ids.
const forwardingSchema = "pg_forwarding"

// catalogNamespace is the OID of pg_catalog.
const catalogNamespace = 11

// extensionEdges are the members of the extension.
func extensionEdges() []edge {
	extension := object{extensionClass, sherdExtension, 0}
	member := func(class, oid uint32) edge { return edge{object{class, oid, 0}, extension, 'e'} }
	edges := []edge{member(namespaceClass, pgcatalog.SherdNamespace)}
	for _, rel := range pgcatalog.Relations() {
		if rel.Schema == "sherd" {
			edges = append(edges, member(relationClass, rel.OID))
		}
	}
	pgcatalog.Procs(func(p *pgcatalog.Proc) {
		if p.Namespace == "sherd" {
			edges = append(edges, member(procClass, p.OID))
		}
	})
	return edges
}

// pgInitPrivs returns the initial rights on built-in objects for pg_dump. They are the current
// rights, because these cannot be changed.
func pgInitPrivs(b *builder) error {
	for _, from := range []struct {
		table, oid, sub, acl string
		class                uint32
	}{
		{"pg_class", "oid", "", "relacl", relationClass},
		{"pg_attribute", "attrelid", "attnum", "attacl", relationClass},
		{"pg_proc", "oid", "", "proacl", procClass},
		{"pg_namespace", "oid", "", "nspacl", namespaceClass},
	} {
		rel := pgcatalog.RelationByName(pgCatalog, from.table)
		oid, acl := place(rel, from.oid), place(rel, from.acl)
		for _, row := range staticRows(from.table) {
			if row[acl].IsNull() || from.class == namespaceClass && row[oid].Oid() == catalog.PostgresPublic {
				continue
			}
			sub := int64(0)
			if from.sub != "" {
				sub = row[place(rel, from.sub)].N
			}
			if err := b.initPriv(from.class, row[oid].Oid(), sub, row[acl]); err != nil {
				return err
			}
		}
	}
	for s := range b.env.View.Schemas(b.env.Database.OID) {
		if s.Name == "public" {
			if err := b.initPriv(namespaceClass, s.OID, 0, initialPublicACL); err != nil {
				return err
			}
		}
	}
	return b.initPriv(namespaceClass, pgcatalog.SherdNamespace, 0, builtinACL)
}

func (b *builder) initPriv(class, oid uint32, sub int64, acl types.Datum) error {
	return b.row().oid("objoid", oid).oid("classoid", class).int("objsubid", sub).char("privtype", 'i').
		set("initprivs", acl).send()
}
