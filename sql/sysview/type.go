package sysview

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/catalog/acl"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/sql/usertype"
)

// pgType returns the types of users, and the row types of tables, with their array types.
func pgType(b *builder) error {
	for t := range catalog.TypesOf(b.env.View, b.env.Database.OID) {
		if err := b.userType(t); err != nil {
			return err
		}
	}
	return b.relations(func(t *catalog.Table) error {
		if t.Sequence != nil {
			return nil
		}
		row := b.row().oid("oid", RowType(t.OID)).text("typname", t.Name).oid("typnamespace", t.Schema).
			oid("typowner", t.Owner).
			int("typlen", -1).char("typtype", 'c').char("typcategory", 'C').bool("typisdefined", true).
			char("typdelim", ',').
			oid("typrelid", t.OID).oid("typarray", ArrayType(t.OID)).oid("typinput", recordIn).
			oid("typoutput", recordOut).
			oid("typreceive", recordRecv).oid("typsend", recordSend).char("typalign", 'd').char("typstorage", 'x').
			int("typtypmod", -1)
		if err := row.send(); err != nil {
			return err
		}
		return b.row().oid("oid", ArrayType(t.OID)).text("typname", "_"+t.Name).oid("typnamespace", t.Schema).
			oid("typowner", t.Owner).
			int("typlen", -1).char("typtype", 'b').char("typcategory", 'A').bool("typisdefined", true).
			char("typdelim", ',').
			oid("typelem", RowType(t.OID)).oid("typsubscript", arraySubscript).oid("typinput", arrayIn).
			oid("typoutput", arrayOut).
			oid("typreceive", arrayRecv).oid("typsend", arraySend).oid("typanalyze", arrayAnalyze).
			char("typalign", 'd').char("typstorage", 'x').int("typtypmod", -1).send()
	})
}

func (b *builder) userType(t *catalog.Type) error {
	oid := t.TypeOID()
	if t.Domain != nil {
		return b.domainType(t)
	}
	row := b.typeRow(t, oid).text("typname", t.Name).acl("typacl", t.ACL).oid("typarray", types.ArrayTypeOf(oid))
	align := byte('i')
	if t.Kind == catalog.CompositeType {
		align = 'd'
		row.int("typlen", -1).char("typtype", 'c').char("typcategory", 'C').oid("typrelid", t.OID).
			oid("typinput", recordIn).oid("typoutput", recordOut).oid("typreceive", recordRecv).
			oid("typsend", recordSend).char("typstorage", 'x').char("typalign", align)
	} else {
		row.int("typlen", 4).bool("typbyval", true).char("typtype", 'e').char("typcategory", 'E').
			oid("typinput", enumIn).oid("typoutput", enumOut).oid("typreceive", enumRecv).oid("typsend", enumSend).
			char("typstorage", 'p')
	}
	if err := row.send(); err != nil {
		return err
	}
	return b.typeRow(t, types.ArrayTypeOf(oid)).char("typalign", align).
		text("typname", usertype.ArrayName(b.env.View, t)).int("typlen", -1).
		char("typtype", 'b').char("typcategory", 'A').oid("typelem", oid).oid("typsubscript", arraySubscript).
		oid("typinput", arrayIn).oid("typoutput", arrayOut).oid("typreceive", arrayRecv).oid("typsend", arraySend).
		oid("typanalyze", arrayAnalyze).char("typstorage", 'x').send()
}

func (b *builder) domainType(t *catalog.Type) error {
	d, base := t.Domain, pgcatalog.TypeByOID(types.BaseOf(t.OID))
	row := b.typeRow(t, t.OID).text("typname", t.Name).int("typlen", int64(base.Len)).bool("typbyval", base.ByVal).
		char("typtype", 'd').char("typcategory", base.Category).char("typdelim", base.Delim).oid("typinput", domainIn).
		oid("typreceive", domainRecv).char("typalign", base.Align).char("typstorage", base.Storage).
		bool("typnotnull", d.NotNull).oid("typbasetype", d.Base).int("typtypmod", int64(d.Typmod)).
		oid("typcollation", d.Collation).acl("typacl", t.ACL)
	functions := functionsOf(types.BaseOf(t.OID))
	row.oid("typoutput", functions[0]).oid("typsend", functions[1])
	if d.Default != "" {
		row.text("typdefaultbin", d.Default).text("typdefault", b.env.Expression(typeClass, d.Default, false))
	}
	return row.send()
}

// functionsOf returns the output and the send function of a built-in type.
func functionsOf(oid types.OID) (functions [2]uint32) {
	rel := pgcatalog.RelationByName(pgCatalog, "pg_type")
	at, out, send := place(rel, "oid"), place(rel, "typoutput"), place(rel, "typsend")
	for _, row := range staticRows("pg_type") {
		if row[at].Oid() == oid {
			return [2]uint32{row[out].Oid(), row[send].Oid()}
		}
	}
	return functions
}

// domainChecks emits the constraints of domains in pg_constraint.
func (b *builder) domainChecks() error {
	for t := range catalog.TypesOf(b.env.View, b.env.Database.OID) {
		if t.Domain == nil {
			continue
		}
		for i := range t.Domain.Checks {
			k := &t.Domain.Checks[i]
			err := b.row().oid("oid", k.OID).text("conname", k.Name).oid("connamespace", t.Schema).
				char("contype", byte(catalog.Check)).bool("convalidated", k.Valid).oid("contypid", t.OID).
				bool("conislocal", true).char("confupdtype", ' ').char("confdeltype", ' ').char("confmatchtype", ' ').
				text("conbin", k.Check).send()
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// domainCheck finds the constraint of a domain by OID, nil if there is none.
func domainCheck(n *Names, oid uint32) (*catalog.Type, *catalog.Constraint) {
	for t := range catalog.TypesOf(n.View, n.Database.OID) {
		if t.Domain == nil {
			continue
		}
		for i := range t.Domain.Checks {
			if t.Domain.Checks[i].OID == oid {
				return t, &t.Domain.Checks[i]
			}
		}
	}
	return nil, nil
}

// typeRow starts a row of pg_type with what an enum and its array type share.
func (b *builder) typeRow(t *catalog.Type, oid uint32) *record {
	return b.row().oid("oid", oid).oid("typnamespace", t.Schema).oid("typowner", t.Owner).bool("typisdefined", true).
		char("typdelim", ',').char("typalign", 'i').int("typtypmod", -1)
}

func pgEnum(b *builder) error {
	for t := range catalog.TypesOf(b.env.View, b.env.Database.OID) {
		labels := slices.SortedFunc(slices.Values(t.Labels),
			func(x, y catalog.EnumLabel) int { return cmp.Compare(x.OID, y.OID) })
		for _, l := range labels {
			if err := b.row().oid("oid", l.OID).oid("enumtypid", t.TypeOID()).
				set("enumsortorder", types.NewFloat4(l.Order)).text("enumlabel", l.Text).send(); err != nil {
				return err
			}
		}
	}
	return nil
}

// typeEdges returns the dependencies of a type of a user.
func typeEdges(t *catalog.Type) []edge {
	from := object{typeClass, t.TypeOID(), 0}
	if t.Domain != nil {
		out := []edge{{from, object{namespaceClass, t.Schema, 0}, 'n'}}
		if types.IsDomain(t.Domain.Base) {
			out = append(out, edge{from, object{typeClass, t.Domain.Base, 0}, 'n'})
		}
		out = append(out, functionUses(from, t.Domain.Default)...)
		for i := range t.Domain.Checks {
			check := object{constraintClass, t.Domain.Checks[i].OID, 0}
			out = append(append(out, edge{check, from, 'a'}), functionUses(check, t.Domain.Checks[i].Check)...)
		}
		return out
	}
	array := edge{object{typeClass, types.ArrayTypeOf(t.TypeOID()), 0}, from, 'i'}
	if t.Kind != catalog.CompositeType {
		return []edge{{from, object{namespaceClass, t.Schema, 0}, 'n'}, array}
	}
	relation := object{relationClass, t.OID, 0}
	out := []edge{{from, object{namespaceClass, t.Schema, 0}, 'n'}, {relation, from, 'i'}, array}
	for _, a := range t.Live() {
		if catalog.TypeNumber(a.Type) != 0 {
			out = append(out, edge{object{relationClass, t.OID, a.Number}, object{typeClass, a.Type, 0}, 'n'})
		}
	}
	return out
}

// composites calls f for each composite type of CREATE TYPE.
func (b *builder) composites(f func(t *catalog.Type) error) error {
	for t := range catalog.TypesOf(b.env.View, b.env.Database.OID) {
		if t.Kind != catalog.CompositeType {
			continue
		}
		if err := f(t); err != nil {
			return err
		}
	}
	return nil
}

func compositeClass(b *builder, t *catalog.Type) error {
	return relation(b, t.OID, t.Name, t.Schema, t.Owner, 'c').oid("reltype", t.TypeOID()).
		int("relnatts", int64(len(t.Attributes))).send()
}

// schemaAttributes is information_schema.attributes.
func schemaAttributes(b *builder) error {
	return b.composites(func(t *catalog.Type) error {
		if !usableType(b, t) {
			return nil
		}
		schema, _ := b.env.SchemaName(t.Schema)
		for _, a := range t.Live() {
			attr, name, _ := b.env.TypeName(attributeBase(a.Type))
			err := b.row().database("udt_catalog", "attribute_udt_catalog").text("udt_schema", schema).
				text("udt_name", t.Name).text("attribute_name", a.Name).int("ordinal_position", int64(a.Number)).
				text("is_nullable", "YES").dataType(a.Type, a.Typmod).text("udt_schema", schema).
				text("udt_name", t.Name).text("attribute_udt_schema", attr).text("attribute_udt_name", name).
				collation(a.Collation).text("dtd_identifier", strconv.Itoa(int(a.Number))).
				text("is_derived_reference_attribute", "NO").send()
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// attributeBase returns the type by which information_schema names the type of an attribute.
func attributeBase(oid types.OID) types.OID {
	if t := pgcatalog.TypeByOID(oid); t != nil && t.Kind == 'd' {
		return t.BaseType
	}
	return oid
}

func userDefinedTypes(b *builder) error {
	return b.composites(func(t *catalog.Type) error {
		if !usableType(b, t) {
			return nil
		}
		schema, _ := b.env.SchemaName(t.Schema)
		return b.row().database("user_defined_type_catalog").text("user_defined_type_schema", schema).
			text("user_defined_type_name", t.Name).text("user_defined_type_category", "STRUCTURED").
			text("is_instantiable", "YES").send()
	})
}

// usableType reports whether the role may use a type.
func usableType(b *builder, t *catalog.Type) bool {
	return b.env.Role == nil || b.env.Role.Type(t, acl.Usage) != 0
}

func compositeAttributes(b *builder, t *catalog.Type) error {
	for _, a := range t.Attributes {
		r := attribute(b, t.OID, a.Name, a.Type, a.Typmod, a.Number)
		if a.Dropped {
			r = attribute(b, t.OID, droppedName(a.Number), a.Type, a.Typmod, a.Number).oid("atttypid", 0).
				bool("attisdropped", true).int("attstattarget", 0)
		} else if a.Collation != 0 {
			r.oid("attcollation", a.Collation)
		}
		if err := r.send(); err != nil {
			return err
		}
	}
	return nil
}

// typeUses returns the dependencies of a table on types of users: of its columns, and of their
// expressions.
func typeUses(n *Names, t *catalog.Table) []edge {
	var out []edge
	for i := range t.Columns {
		c := &t.Columns[i]
		if c.Dropped {
			continue
		}
		if used := catalog.TypeByOID(n.View, catalog.TypeNumber(c.Type)); used != nil {
			out = append(out, edge{object{relationClass, t.OID, c.AttNum}, object{typeClass, c.Type, 0}, 'n'})
		}
		attrdef := object{attrdefClass, partOID(t.OID, c.AttNum), 0}
		for used := range catalog.TypesOf(n.View, t.Database) {
			if used.TypeInText(c.Default + " " + c.Generated) {
				out = append(out, edge{attrdef, object{typeClass, used.TypeOID(), 0}, 'n'})
			}
		}
		out = append(out, functionUses(attrdef, c.Default, c.Generated)...)
	}
	for i := range t.Constraints {
		c := &t.Constraints[i]
		out = append(out, functionUses(object{constraintClass, c.OID, 0}, c.Check)...)
	}
	for i := range t.Indexes {
		x := &t.Indexes[i]
		texts := append(slices.Clip(x.Expressions), x.Predicate)
		out = append(out, functionUses(object{relationClass, x.OID, 0}, texts...)...)
	}
	for i := range t.Statistics {
		x := &t.Statistics[i]
		out = append(out, functionUses(object{statisticsClass, x.OID, 0}, x.Expressions...)...)
	}
	if t.View != nil {
		out = append(out, functionUses(object{rewriteClass, t.View.OID, 0}, t.View.Query)...)
	}
	return out
}

// functionUses returns the dependencies of an object on functions of users in its expressions.
func functionUses(from object, texts ...string) []edge {
	var out []edge
	for _, f := range catalog.FunctionsInText(texts...) {
		out = append(out, edge{from, object{procClass, f, 0}, 'n'})
	}
	return out
}

// Functions of enums, of row types and of arrays.
const (
	domainIn       = 2597
	domainRecv     = 2598
	enumIn         = 3506
	enumOut        = 3507
	enumRecv       = 3532
	enumSend       = 3533
	recordIn       = 2290
	recordOut      = 2291
	recordRecv     = 2402
	recordSend     = 2403
	arrayIn        = 750
	arrayOut       = 751
	arrayRecv      = 2400
	arraySend      = 2401
	arrayAnalyze   = 3816
	arraySubscript = 6179
)
