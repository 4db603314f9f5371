package sysview

import (
	"maps"
	"slices"
	"strconv"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/catalog/acl"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/privilege"
	"github.com/sherddb/sherd/sql/types"
)

// OIDs of access methods, and of the catalogs themselves.
const (
	heapAM  = 2
	btreeAM = 403
)

// tables calls f for the database's tables and materialized views.
func (b *builder) tables(f func(t *catalog.Table) error) error {
	return b.relations(func(t *catalog.Table) error {
		if t.Kind != catalog.KindTable && !t.IsMaterialized() {
			return nil
		}
		return f(t)
	})
}

// relations calls f for the database's tables and sequences.
func (b *builder) relations(f func(t *catalog.Table) error) error {
	for t := range b.env.View.Tables(b.env.Database.OID) {
		if t.Kind == catalog.KindParts {
			continue
		}
		if err := f(t); err != nil {
			return err
		}
	}
	return nil
}

// indexes calls f for the database's indexes.
func (b *builder) indexes(f func(t *catalog.Table, ix *catalog.Index) error) error {
	return b.tables(func(t *catalog.Table) error {
		for i := range t.Indexes {
			if err := f(t, &t.Indexes[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

func pgNamespace(b *builder) error {
	oid := place(b.rel, "oid")
	for _, row := range staticRows("pg_namespace") {
		if row[oid].Oid() != catalog.PostgresPublic {
			if err := b.emit(row); err != nil {
				return err
			}
		}
	}
	if err := b.row().oid("oid", pgcatalog.SherdNamespace).text("nspname", "sherd").
		oid("nspowner", catalog.BootstrapRole).
		set("nspacl", builtinACL).send(); err != nil {
		return err
	}
	for s := range b.env.View.Schemas(b.env.Database.OID) {
		r := b.row().oid("oid", s.OID).text("nspname", s.Name).oid("nspowner", s.Owner)
		r.acl("nspacl", privilege.SchemaList(s))
		if err := r.send(); err != nil {
			return err
		}
	}
	return nil
}

// aclTexts returns an array of aclitem.
func aclTexts(items ...string) types.Datum {
	data := make([]types.Datum, len(items))
	for i, s := range items {
		data[i] = types.NewText(s)
	}
	return types.NewList(types.AclItem, data)
}

var (
	builtinACL       = aclTexts("postgres=UC/postgres", "=U/postgres")
	initialPublicACL = aclTexts("pg_database_owner=UC/pg_database_owner", "=U/pg_database_owner")
)

// acl sets an access list, null if it is nil.
func (r *record) acl(column string, list acl.List) *record {
	if list == nil {
		return r
	}
	items := make([]string, len(list))
	for i, x := range list {
		items[i] = x.String(r.b.env.roleOrNumber)
	}
	return r.set(column, aclTexts(items...))
}

// roleOrNumber returns the name of a role, or its number if it does not exist.
func (e *Env) roleOrNumber(oid uint32) string {
	if r := e.View.Role(oid); r != nil {
		return r.Name
	}
	return strconv.FormatUint(uint64(oid), 10)
}

func pgClass(b *builder) error {
	if err := b.composites(func(t *catalog.Type) error { return compositeClass(b, t) }); err != nil {
		return err
	}
	return b.relations(func(t *catalog.Table) error {
		if t.Sequence != nil {
			return sequenceClass(b, t)
		}
		if t.IsView() {
			return viewClass(b, t)
		}
		docs, bytes, err := b.env.size(t)
		if err != nil {
			return err
		}
		if err := tableClass(b, t, docs, bytes); err != nil {
			return err
		}
		for i := range t.Indexes {
			if err := indexClass(b, t, &t.Indexes[i], docs); err != nil {
				return err
			}
		}
		return nil
	})
}

// sherdClass returns the views of the schema sherd.
func sherdClass(b *builder) error {
	for _, rel := range pgcatalog.Relations() {
		if rel.Schema != "sherd" {
			continue
		}
		err := relation(b, rel.OID, rel.Name, pgcatalog.SherdNamespace, catalog.BootstrapRole, 'v').
			int("relnatts", int64(len(rel.Columns))).bool("relhasrules", true).
			set("relacl", aclTexts("postgres=arwdDxt/postgres", "=r/postgres")).send()
		if err != nil {
			return err
		}
	}
	return nil
}

func relation(b *builder, oid uint32, name string, schema, owner uint32, kind byte) *record {
	return b.row().oid("oid", oid).text("relname", name).oid("relnamespace", schema).oid("relowner", owner).
		char("relkind", kind).
		char("relpersistence", 'p').char("relreplident", 'n').bool("relispopulated", true).
		set("reltuples", types.NewFloat4(-1))
}

func tableClass(b *builder, t *catalog.Table, docs, bytes int64) error {
	checks := 0
	for _, c := range b.env.constraints(t) {
		if c.Kind == catalog.Check {
			checks++
		}
	}
	r := relation(b, t.OID, t.Name, t.Schema, t.Owner, byte(t.Kind)).
		oid("reltype", RowType(t.OID)).oid("relam", heapAM).oid("relfilenode", t.StorageID).
		int("relnatts", int64(len(t.Columns))).int("relchecks", int64(checks)).bool("relhasindex", len(t.Indexes) > 0).
		bool("relhastriggers", hasForeignKeys(&b.env.Names, t) || len(t.Triggers) > 0).char("relreplident", 'd').
		acl("relacl", t.ACL)
	if s := t.RowSecurity; s != nil {
		r.bool("relrowsecurity", s.Enabled).bool("relforcerowsecurity", s.Forced)
	}
	if t.IsMaterialized() {
		r.bool("relispopulated", t.View.Populated).bool("relhasrules", true)
	}
	r.set("reltuples", types.NewFloat4(float32(docs))).int("relpages", (bytes+pageSize-1)/pageSize).persistence(t)
	if o := b.env.relOptions(t); len(o) > 0 {
		r.texts("reloptions", o)
	}
	return r.send()
}

// persistence sets pg_class.relpersistence.
func (r *record) persistence(t *catalog.Table) *record {
	if t.IsTemporary() {
		r.char("relpersistence", 't')
	}
	return r
}

const pageSize = 8192

// ownOptions are the storage parameters that PostgreSQL does not have.
var ownOptions = map[string]bool{
	shardmap.OptionBy: true, shardmap.OptionRange: true, shardmap.OptionMutable: true, types.OptionSplits: true,
	types.OptionAutoSplits: true,
	"document":             true,
	"anchors":              true,
	"anchor_by":            true,
	"pk_order":             true,
	"counters":             true,
	"scope":                true,
	"former_ids":           true,
	catalog.PrefixOption:   true,
}

// printOptions returns storage parameters sorted by name; a portable dump only has PostgreSQL's.
func (n *Names) printOptions(options map[string]string) []string {
	var out []string
	for name, value := range options {
		if !n.Portable || !ownOptions[name] {
			out = append(out, name+"="+value)
		}
	}
	slices.Sort(out)
	return out
}

// relOptions returns a table's storage parameters, including those that its definition stores
// elsewhere. CREATE TABLE … WITH these defines the same table.
func (n *Names) relOptions(t *catalog.Table) []string {
	options := map[string]string{}
	maps.Copy(options, t.Options)
	if len(t.Segments) > 0 {
		maps.Copy(options, types.SplitOptions(splitColumns(t), t.Segments))
	}
	if len(t.Prefixes) > 0 && t.ForwardingOf == 0 {
		options[catalog.PrefixOption] = n.Database.PrefixText()
	}
	if e := n.View.Table(t.Forwarding); t.Forwarding != 0 && e != nil {
		options["former_ids"] = e.Name
	}
	return n.printOptions(options)
}

// indexClass returns the row of an index. How many rows a partial index has is not counted.
func indexClass(b *builder, t *catalog.Table, ix *catalog.Index, docs int64) error {
	r := relation(b, ix.OID, ix.Name, t.Schema, t.Owner, 'i').
		oid("relam", methodOIDs[ix.Method]).oid("relfilenode", ix.OID).
		int("relnatts", int64(len(ix.Columns)+len(ix.Include)))
	if ix.Predicate == "" && ix.State == catalog.IndexPublic {
		r.set("reltuples", types.NewFloat4(float32(docs)))
	}
	r.persistence(t)
	if o := b.env.printOptions(ix.Options); len(o) > 0 {
		r.texts("reloptions", o)
	}
	return r.send()
}

// size returns the documents and bytes of a table. As in PostgreSQL, -1 documents means unknown,
// because a fragment does not respond.
func (e *Env) size(t *catalog.Table) (docs, bytes int64, err error) {
	stats, missing, err := e.Stats(e.Database, t.StorageID)
	if err != nil || len(missing) > 0 {
		return -1, 0, err
	}
	docs, bytes = total(stats, nil)
	return docs, bytes, nil
}
