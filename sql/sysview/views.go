package sysview

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/statistics"
	"github.com/sherddb/sherd/sql/tablestats"
)

// class is a row of pg_class with its schema's name.
type class struct {
	oid, owner           uint32
	schema, name         string
	kind                 byte
	hasIndexes, hasRules bool
	hasTriggers, secured bool
	rows                 int64 // -1 if unknown
}

// classes calls f for every relation of the database.
func (e *Env) classes(f func(c *class) error) error {
	return e.each("pg_class", func(r *reader) error {
		c := &class{
			oid: r.oid("oid"), owner: r.oid("relowner"), name: r.text("relname"), kind: r.char("relkind"),
			hasIndexes: r.bool("relhasindex"), hasRules: r.bool("relhasrules"), hasTriggers: r.bool("relhastriggers"),
			secured: r.bool("relrowsecurity"),
			rows:    int64(r.get("reltuples").Float()),
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
			bool("rowsecurity", c.secured).send()
	})
}

// pgViews lists views; system views have no definition in SQL.
func pgViews(b *builder) error {
	return b.env.classes(func(c *class) error {
		if c.kind != 'v' {
			return nil
		}
		r := b.row().text("schemaname", c.schema).text("viewname", c.name).text("viewowner", b.env.roleName(c.owner))
		if text, ok := ViewDef(&b.env.Names, c.oid, false, 0); ok && text != "" {
			r.text("definition", text)
		}
		return r.send()
	})
}

// pgMatviews lists materialized views.
func pgMatviews(b *builder) error {
	return b.env.classes(func(c *class) error {
		if c.kind != 'm' {
			return nil
		}
		r := b.row().text("schemaname", c.schema).text("matviewname", c.name).
			text("matviewowner", b.env.roleName(c.owner)).bool("hasindexes", c.hasIndexes)
		if t := b.env.View.Table(c.oid); t != nil && t.View != nil {
			r.bool("ispopulated", t.View.Populated)
		}
		if text, ok := ViewDef(&b.env.Names, c.oid, false, 0); ok && text != "" {
			r.text("definition", text)
		}
		return r.send()
	})
}

// ViewDef returns the query of a view as pg_get_viewdef does; ok is false if it is no view. That of
// a system view is "".
func ViewDef(n *Names, oid uint32, pretty bool, width int) (text string, ok bool) {
	if t := n.View.Table(oid); t != nil && t.View != nil && t.Database == n.Database.OID {
		if n.ViewText == nil {
			return t.View.Query, true
		}
		return n.ViewText(t, pretty, width), true
	}
	r := pgcatalog.RelationByOID(oid)
	return "", r != nil && r.Kind == 'v'
}

// Bits of Updatable.
const (
	updatable  = 4
	insertable = 8
	deletable  = 16
)

// Updatable returns the events that a relation allows, as pg_relation_is_updatable does: of a column
// if column is not 0.
func Updatable(n *Names, relation uint32, column int16) int {
	t := n.View.Table(relation)
	if t == nil {
		if r := pgcatalog.RelationByOID(relation); r != nil && r.Kind == 'r' {
			return updatable | insertable | deletable
		}
		return 0
	}
	return analyze.Updatable(&analyze.Context{Catalog: n.View, Database: n.Database.OID}, t, column)
}

// RelationText returns the quoted name of a relation, with its schema if the search path does not
// lead to it, or if qualify is set.
func RelationText(n *Names, oid uint32, qualify bool) string {
	t := n.View.Table(oid)
	if t == nil {
		return strconv.FormatUint(uint64(oid), 10)
	}
	schema, _ := n.SchemaName(t.Schema)
	return n.qualify(schema, t.Name, !qualify && n.first([]string{t.Name}, n.relationIn) == t.OID)
}

// pgRewrite lists the rules of views.
func pgRewrite(b *builder) error {
	return eachView(b, func(t *catalog.Table) error {
		return b.row().oid("oid", t.View.OID).text("rulename", returnRule).oid("ev_class", t.OID).char("ev_type", '1').
			char("ev_enabled", 'O').bool("is_instead", true).text("ev_qual", "").text("ev_action", "").send()
	})
}

// returnRule is the name of the rule that makes a relation a view.
const returnRule = "_RETURN"

// eachView calls f for the views of the database.
func eachView(b *builder, f func(t *catalog.Table) error) error {
	return b.relations(func(t *catalog.Table) error {
		if t.View == nil {
			return nil
		}
		return f(t)
	})
}

// viewClass is the row of a view in pg_class.
func viewClass(b *builder, t *catalog.Table) error {
	r := relation(b, t.OID, t.Name, t.Schema, t.Owner, 'v').persistence(t).oid("reltype", RowType(t.OID)).
		int("relnatts", int64(len(t.Columns))).bool("relhasrules", true).
		bool("relhastriggers", len(t.Triggers) > 0).acl("relacl", t.ACL)
	var o []string
	for _, name := range []string{catalog.OptionSecurityBarrier, catalog.OptionSecurityInvoker, catalog.OptionCheck} {
		if value := t.Options[name]; value != "" {
			o = append(o, name+"="+value)
		}
	}
	if len(o) > 0 {
		r.texts("reloptions", o)
	}
	return r.send()
}

// viewEdges returns the dependencies of a view's rule.
func viewEdges(t *catalog.Table) []edge {
	rule, view := object{rewriteClass, t.View.OID, 0}, object{relationClass, t.OID, 0}
	out := []edge{{rule, view, 'i'}, {rule, view, 'n'}}
	for _, u := range t.View.Uses {
		switch {
		case u.Constraint != 0:
			out = append(out, edge{rule, object{constraintClass, u.Constraint, 0}, 'n'})
		case len(u.Columns) == 0:
			out = append(out, edge{rule, object{relationClass, u.Relation, 0}, 'n'})
		}
		for _, att := range u.Columns {
			out = append(out, edge{rule, object{relationClass, u.Relation, att}, 'n'})
		}
	}
	return out
}

// schemaViews is information_schema.views.
func schemaViews(b *builder) error {
	return b.visibleClasses(func(c *class) error {
		if c.kind != 'v' {
			return nil
		}
		check := "NONE"
		if t := b.env.table(c.oid); t != nil && t.Options[catalog.OptionCheck] != "" {
			check = strings.ToUpper(t.Options[catalog.OptionCheck])
		}
		r := b.row().database("table_catalog").text("table_schema", c.schema).text("table_name", c.name).
			text("check_option", check)
		if text, ok := ViewDef(&b.env.Names, c.oid, false, 0); ok && text != "" && b.canSee(c.owner) {
			r.text("view_definition", text)
		}
		events := Updatable(&b.env.Names, c.oid, 0)
		r.text("is_updatable", yesNo(events&updatable != 0 && events&deletable != 0)).
			text("is_insertable_into", yesNo(events&insertable != 0))
		for column, event := range map[string]catalog.TriggerEvents{
			"is_trigger_updatable": catalog.TriggerUpdate, "is_trigger_deletable": catalog.TriggerDelete,
			"is_trigger_insertable_into": catalog.TriggerInsert,
		} {
			t := b.env.View.Table(c.oid)
			r.text(column, yesNo(t != nil && slices.ContainsFunc(t.Triggers, func(x catalog.Trigger) bool {
				return x.Is(catalog.TriggerInstead | event)
			})))
		}
		return r.send()
	})
}

// viewUsage is information_schema.view_table_usage, or view_column_usage: the tables of the role that
// views use.
func viewUsage(columns bool) source {
	return func(b *builder) error {
		return eachView(b, func(t *catalog.Table) error {
			if !t.IsView() {
				return nil
			}
			for _, u := range t.View.Uses {
				used := b.env.View.Table(u.Relation)
				if used == nil || used.Kind == catalog.KindSequence || !b.canSee(used.Owner) {
					continue
				}
				names := []string{""}
				if columns {
					names = nil
					for _, att := range u.Columns {
						names = append(names, used.ColumnByNum(att).Name)
					}
				}
				for _, name := range names {
					if err := b.viewUse(t, used, name); err != nil {
						return err
					}
				}
			}
			return nil
		})
	}
}

func (b *builder) viewUse(t, used *catalog.Table, column string) error {
	schema, _ := b.env.SchemaName(t.Schema)
	usedSchema, _ := b.env.SchemaName(used.Schema)
	r := b.row().database("view_catalog", "table_catalog").text("view_schema", schema).text("view_name", t.Name).
		text("table_schema", usedSchema).text("table_name", used.Name)
	if column != "" {
		r.text("column_name", column)
	}
	return r.send()
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
			if c.kind != 'r' && c.kind != 'm' || !in(c.schema) {
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
