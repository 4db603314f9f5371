package sysview

import (
	"strings"
	"sync"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/statistics"
	"github.com/sherddb/sherd/sql/tablestats"
)

// class is a row of pg_class with its schema's name.
type class struct {
	oid, owner           uint32
	schema, name         string
	kind                 byte
	hasIndexes, hasRules bool
	hasTriggers          bool
	rows                 int64 // -1 if unknown
}

// classes calls f for every relation of the database.
func (e *Env) classes(f func(c *class) error) error {
	return e.each("pg_class", func(r *reader) error {
		c := &class{
			oid: r.oid("oid"), owner: r.oid("relowner"), name: r.text("relname"), kind: r.char("relkind"),
			hasIndexes: r.bool("relhasindex"), hasRules: r.bool("relhasrules"), hasTriggers: r.bool("relhastriggers"),
			rows: int64(r.get("reltuples").Float()),
		}
		c.schema, _ = e.SchemaName(r.oid("relnamespace"))
		return f(c)
	})
}

func (e *Env) roleName(oid uint32) string {
	if r := e.View.Role(oid); r != nil {
		return r.Name
	}
	return ""
}

func pgTables(b *builder) error {
	return b.env.classes(func(c *class) error {
		if c.kind != 'r' {
			return nil
		}
		return b.row().text("schemaname", c.schema).text("tablename", c.name).
			text("tableowner", b.env.roleName(c.owner)).
			bool("hasindexes", c.hasIndexes).bool("hasrules", c.hasRules).bool("hastriggers", c.hasTriggers).
			bool("rowsecurity", false).send()
	})
}

// pgViews lists views; system views have no definition in SQL.
func pgViews(b *builder) error {
	return b.env.classes(func(c *class) error {
		if c.kind != 'v' {
			return nil
		}
		return b.row().text("schemaname", c.schema).text("viewname", c.name).text("viewowner", b.env.roleName(c.owner)).
			send()
	})
}

// index is a row of pg_index with the related names.
type index struct {
	oid, table       uint32
	schema, relation string
	name             string
}

func (e *Env) indexes(f func(x *index) error) error {
	return e.each("pg_index", func(r *reader) error {
		x := &index{oid: r.oid("indexrelid"), table: r.oid("indrelid")}
		x.schema, x.relation, _ = e.RelationName(x.table)
		_, x.name, _ = e.RelationName(x.oid)
		if x.schema == "pg_toast" || x.name == "" {
			return nil
		}
		return f(x)
	})
}

func pgIndexes(b *builder) error {
	return b.env.indexes(func(x *index) error {
		def, _ := b.env.IndexDef(x.oid, 0, false)
		return b.row().text("schemaname", x.schema).text("tablename", x.relation).text("indexname", x.name).
			text("indexdef", def).send()
	})
}

// tableSet reports whether a statistics view shows the tables of a schema.
type tableSet func(schema string) bool

func allTables(string) bool { return true }

func sysTables(schema string) bool {
	return schema == pgCatalog || schema == "information_schema" || strings.HasPrefix(schema, "pg_toast")
}

func userTables(schema string) bool { return !sysTables(schema) }

// statTables is pg_stat_*_tables and pg_statio_*_tables; what is not counted is null.
func statTables(in tableSet) source {
	return func(b *builder) error {
		totals := sync.OnceValues(b.env.totals)
		return b.env.classes(func(c *class) error {
			if c.kind != 'r' || !in(c.schema) {
				return nil
			}
			r := b.row().oid("relid", c.oid).text("schemaname", c.schema).text("relname", c.name)
			if _, ok := b.at["n_live_tup"]; ok {
				r.int("n_live_tup", max(c.rows, 0)).analyzed(b.env.table(c.oid), totals)
			}
			return r.send()
		})
	}
}

// totals returns what the fragments have of tables, by storage id. It reports whether all have answered.
func (e *Env) totals() (of map[uint32][]tablestats.Total, ok bool) {
	list, err := e.Totals()
	if err != nil {
		return nil, false
	}
	of = map[uint32][]tablestats.Total{}
	for _, x := range list {
		of[x.Storage] = append(of[x.Storage], x)
	}
	return of, true
}

// analyzed sets when ANALYZE has run on a table, how often, and how many rows have changed since. A
// system table has none.
func (r *record) analyzed(t *catalog.Table, totals func() (map[uint32][]tablestats.Total, bool)) *record {
	var known statistics.Table
	if t != nil {
		k := r.b.env.Analyzed(t)
		if k != nil {
			known = *k
		}
		if of, ok := totals(); ok {
			r.int("n_mod_since_analyze", tablestats.Changed(k, of[t.StorageID]))
		}
	}
	return r.int("analyze_count", known.Manual.Count).time("last_analyze", known.Manual.Last).
		int("autoanalyze_count", known.Automatic.Count).time("last_autoanalyze", known.Automatic.Last)
}

func statIndexes(in tableSet) source {
	return func(b *builder) error {
		return b.env.indexes(func(x *index) error {
			if !in(x.schema) {
				return nil
			}
			return b.row().oid("relid", x.table).oid("indexrelid", x.oid).text("schemaname", x.schema).
				text("relname", x.relation).
				text("indexrelname", x.name).send()
		})
	}
}
