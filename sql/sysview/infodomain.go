package sysview

import (
	"strconv"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/catalog/acl"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/types"
)

// domains calls f for every domain.
func (b *builder) domains(f func(oid uint32, schema, name string, base types.OID, typmod int32,
	def types.Datum) error) error {
	if !b.canSee(catalog.BootstrapRole) {
		return nil
	}
	return b.env.each("pg_type", func(r *reader) error {
		if r.char("typtype") != 'd' {
			return nil
		}
		schema, _ := b.env.SchemaName(r.oid("typnamespace"))
		return f(r.oid("oid"), schema, r.text("typname"), r.oid("typbasetype"), int32(r.int("typtypmod")),
			r.get("typdefault"))
	})
}

func (r *record) domain(schema, name string) *record {
	return r.database("domain_catalog").text("domain_schema", schema).text("domain_name", name)
}

func schemaDomains(b *builder) error {
	return b.domains(func(oid uint32, schema, name string, base types.OID, typmod int32, def types.Datum) error {
		if types.IsDomain(base) {
			baseSchema, baseName, _ := b.env.TypeName(base)
			return b.row().domain(schema, name).database("udt_catalog").text("data_type", "USER-DEFINED").
				text("udt_schema", baseSchema).text("udt_name", baseName).set("domain_default", def).
				text("dtd_identifier", "1").send()
		}
		r := b.row().domain(schema, name).database("udt_catalog").dataType(base, typmod).
			collation(typeCollation(oid)).set("domain_default", def).text("dtd_identifier", "1")
		if types.IsArray(base) {
			r.text("data_type", b.env.FormatType(base, -1))
		}
		return r.send()
	})
}

func domainUDTUsage(b *builder) error {
	return b.domains(func(_ uint32, schema, name string, base types.OID, _ int32, _ types.Datum) error {
		baseSchema, baseName, _ := b.env.TypeName(base)
		return b.row().domain(schema, name).database("udt_catalog").text("udt_schema", baseSchema).
			text("udt_name", baseName).send()
	})
}

// domainConstraints calls f for the CHECK constraints of domains.
func (b *builder) domainConstraints(f func(r *reader, schema, domain string) error) error {
	if !b.canSee(catalog.BootstrapRole) {
		return nil
	}
	return b.env.each("pg_constraint", func(r *reader) error {
		if r.oid("contypid") == 0 {
			return nil
		}
		schema, name, ok := b.env.TypeName(r.oid("contypid"))
		if !ok {
			return nil
		}
		return f(r, schema, name)
	})
}

func domainConstraints(b *builder) error {
	return b.domainConstraints(func(r *reader, schema, domain string) error {
		return b.row().database("constraint_catalog").text("constraint_schema", schema).
			set("constraint_name", r.get("conname")).
			domain(schema, domain).text("is_deferrable", "NO").text("initially_deferred", "NO").send()
	})
}

func domainChecks(b *builder) error {
	return b.domainConstraints(func(r *reader, schema, _ string) error {
		return b.row().database("constraint_catalog").text("constraint_schema", schema).
			set("constraint_name", r.get("conname")).
			text("check_clause", "("+r.text("conbin")+")").send()
	})
}

func routines(b *builder) error {
	return b.env.each("pg_proc", func(p *reader) error {
		if !b.callable(p) {
			return nil
		}
		schema, _ := b.env.SchemaName(p.oid("pronamespace"))
		r := b.row().database("specific_catalog", "routine_catalog").text("specific_schema", schema).
			text("specific_name", specificName(p)).
			text("routine_schema", schema).set("routine_name", p.get("proname"))
		switch p.char("prokind") {
		case 'f':
			r.text("routine_type", "FUNCTION")
		case 'p':
			r.text("routine_type", "PROCEDURE")
		}
		language := languages[p.oid("prolang")]
		body := "EXTERNAL"
		if language == "SQL" {
			body = "SQL"
		}
		result := p.oid("prorettype")
		typeSchema, typeName, _ := b.env.TypeName(result)
		r.text("data_type", b.env.dataTypeName(result)).database("type_udt_catalog").
			text("type_udt_schema", typeSchema).
			text("type_udt_name", typeName).text("dtd_identifier", "0").text("routine_body", body).
			set("external_language", upperOr(language))
		if b.canSee(p.oid("proowner")) {
			r.set("routine_definition", p.get("prosrc"))
		}
		if language == "C" {
			r.set("external_name", p.get("prosrc"))
		}
		return r.text("parameter_style", "GENERAL").text("is_deterministic", yesNo(p.char("provolatile") == 'i')).
			text("sql_data_access", "MODIFIES").text("is_null_call", yesNo(p.bool("proisstrict"))).
			text("schema_level_routine", "YES").
			int("max_dynamic_result_sets", 0).text("security_type", securityType(p)).text("as_locator", "NO").
			text("is_udt_dependent", "NO").send()
	})
}

// callable reports whether the role may call a function.
func (b *builder) callable(p *reader) bool {
	x := Object{Kind: builtin.ObjFunction, OID: p.oid("oid")}
	return b.canSee(p.oid("proowner")) || b.env.Role != nil && HasPrivilege(&b.env.Names, b.env.Role, x, acl.Execute)
}

func securityType(p *reader) string {
	if p.bool("prosecdef") {
		return "DEFINER"
	}
	return "INVOKER"
}

func upperOr(language string) types.Datum {
	if language == "" {
		return types.Null
	}
	return types.NewText(language)
}

func specificName(p *reader) string {
	return p.text("proname") + "_" + strconv.FormatUint(uint64(p.oid("oid")), 10)
}

var parameterModes = map[byte]string{'i': "IN", 'o': "OUT", 'b': "INOUT", 'v': "IN", 't': "OUT"}

func parameters(b *builder) error {
	return b.env.each("pg_proc", func(r *reader) error {
		p := procOf(&b.env.Names, r.oid("oid"))
		if p == nil || !b.callable(r) {
			return nil
		}
		all := p.AllArgTypes
		if all == nil {
			all = p.ArgTypes
		}
		for i, t := range all {
			if err := parameter(b, r, p, i, t); err != nil {
				return err
			}
		}
		return nil
	})
}

func parameter(b *builder, r *reader, p *pgcatalog.Proc, i int, t types.OID) error {
	mode, name := byte('i'), ""
	if i < len(p.ArgModes) {
		mode = p.ArgModes[i]
	}
	if i < len(p.ArgNames) {
		name = p.ArgNames[i]
	}
	schema, typeName, _ := b.env.Name(builtin.ObjType, t)
	row := b.row().database("specific_catalog", "udt_catalog").text("specific_schema", p.Namespace).
		text("specific_name", specificName(r)).
		int("ordinal_position", int64(i+1)).text("parameter_mode", parameterModes[mode]).text("is_result", "NO").
		text("as_locator", "NO").
		optional("parameter_name", name).text("data_type", b.env.dataTypeName(t)).text("udt_schema", schema).
		text("udt_name", typeName).
		text("dtd_identifier", strconv.Itoa(i+1))
	if d := i - (len(p.ArgTypes) - len(p.Defaults)); d >= 0 && d < len(p.Defaults) && p.AllArgTypes == nil {
		row.text("parameter_default", defaultText(&b.env.Names, p, d))
	}
	return row.send()
}
