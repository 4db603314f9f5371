package sysview

import (
	"strconv"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/types"
)

const collationKind = builtin.ObjCollation

// column is a column of any relation; dropped columns are left out.
type column struct {
	num       int16
	name      string
	typ       types.OID
	typmod    int32
	notNull   bool
	collation uint32
	own       *catalog.Column // nil for a system relation
}

// columns returns the columns of a table or view.
func (e *Env) columns(relation uint32) []column {
	var out []column
	if rel := pgcatalog.RelationByOID(relation); rel != nil {
		for i, c := range rel.Columns {
			out = append(out, column{num: int16(i + 1), name: c.Name, typ: c.Type, typmod: c.Typmod, notNull: c.NotNull,
				collation: typeCollation(c.Type)})
		}
		return out
	}
	t := e.table(relation)
	if t == nil {
		return nil
	}
	for i := range t.Columns {
		if c := &t.Columns[i]; !c.Dropped {
			out = append(out, column{c.AttNum, c.Name, c.Type, c.Typmod, c.NotNull, collationOf(c), c})
		}
	}
	return out
}

// typeCollation returns the collation of a type.
func typeCollation(typ types.OID) uint32 {
	if t := pgcatalog.TypeByOID(typ); t != nil {
		return t.Collation
	}
	return 0
}

func (e *Env) columnNames(relation uint32) []string {
	var out []string
	for _, c := range e.columns(relation) {
		out = append(out, c.name)
	}
	return out
}

func schemaColumns(b *builder) error {
	return b.visibleClasses(func(c *class) error {
		for _, col := range b.env.columns(c.oid) {
			if !b.usableColumn(c, col.name) {
				continue
			}
			r := b.row().database("table_catalog", "udt_catalog").text("table_schema", c.schema).
				text("table_name", c.name).
				text("column_name", col.name).int("ordinal_position", int64(col.num)).
				text("is_nullable", yesNo(!col.notNull)).
				dataType(col.typ, col.typmod).collation(col.collation).
				text("dtd_identifier", strconv.Itoa(int(col.num))).
				text("is_self_referencing", "NO").text("is_updatable", yesNo(c.kind == 'r' ||
				Updatable(&b.env.Names, c.oid, col.num)&(updatable|deletable) == updatable|deletable))
			r.origin(c.oid, col.own)
			if err := r.send(); err != nil {
				return err
			}
		}
		return nil
	})
}

// origin sets the columns about default, identity and generation.
func (r *record) origin(table uint32, c *catalog.Column) {
	r.text("is_identity", "NO").text("identity_cycle", "NO").text("is_generated", "NEVER")
	if c == nil {
		return
	}
	if c.Default != "" {
		r.text("column_default", r.b.env.Expression(table, c.Default, false))
	}
	if c.Generated != "" {
		r.text("is_generated", "ALWAYS").text("generation_expression", r.b.env.Expression(table, c.Generated, false))
	}
	if c.Identity == 0 {
		return
	}
	how := "BY DEFAULT"
	if c.Identity == 'a' {
		how = "ALWAYS"
	}
	r.text("is_identity", "YES").text("identity_generation", how)
	if s := r.b.env.table(c.Sequence); s != nil && s.Sequence != nil {
		q := s.Sequence
		r.number("identity_start", q.Start).number("identity_increment", q.Increment).number("identity_maximum", q.Max).
			number("identity_minimum", q.Min).text("identity_cycle", yesNo(q.Cycle))
	}
}

func elementTypes(b *builder) error {
	return b.visibleClasses(func(c *class) error {
		kind := "TABLE"
		for _, col := range b.env.columns(c.oid) {
			elem := pgcatalog.ElementOf(col.typ)
			if elem == 0 {
				continue
			}
			num := strconv.Itoa(int(col.num))
			schema, name, _ := b.env.TypeName(elem)
			err := b.row().database("object_catalog", "udt_catalog").text("object_schema", c.schema).
				text("object_name", c.name).
				text("object_type", kind).text("collection_type_identifier", num).
				text("data_type", b.env.dataTypeName(elem)).
				text("udt_schema", schema).text("udt_name", name).text("dtd_identifier", "a"+num).send()
			if err != nil {
				return err
			}
		}
		return nil
	})
}
