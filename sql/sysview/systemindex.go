package sysview

import (
	"strings"
	"sync"

	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/pgcatalog"
)

// systemIndexDef is an index of a system table.
type systemIndexDef struct {
	table   *pgcatalog.Relation
	name    string
	unique  bool
	columns []int16
	classes []uint32
}

var systemIndexes = sync.OnceValue(func() map[uint32]*systemIndexDef {
	rel := pgcatalog.RelationByName(pgCatalog, "pg_index")
	r := &reader{at: positions(rel)}
	m := map[uint32]*systemIndexDef{}
	for _, row := range staticRows("pg_index") {
		r.row = row
		ix := &systemIndexDef{
			table: pgcatalog.RelationByOID(r.oid("indrelid")), unique: r.bool("indisunique"),
			columns: int2s(r.get("indkey")), classes: oids(r.get("indclass")),
		}
		if self := pgcatalog.RelationByOID(r.oid("indexrelid")); self != nil && ix.table != nil {
			ix.name = self.Name
			m[self.OID] = ix
		}
	}
	return m
})

// systemConstraints are the definitions of the constraints of system tables and domains.
var systemConstraints = sync.OnceValue(func() map[uint32]string {
	r := &reader{at: positions(pgcatalog.RelationByName(pgCatalog, "pg_constraint"))}
	m := map[uint32]string{}
	for _, row := range staticRows("pg_constraint") {
		r.row = row
		switch kind := r.char("contype"); kind {
		case 'c':
			m[r.oid("oid")] = "CHECK (" + r.text("conbin") + ")"
		case 'p', 'u':
			var names []string
			rel := pgcatalog.RelationByOID(r.oid("conrelid"))
			for _, n := range int2s(r.get("conkey")) {
				names = append(names, builtin.QuoteIdent(rel.Columns[n-1].Name))
			}
			m[r.oid("oid")] = constraintTypes[kind] + " (" + strings.Join(names, ", ") + ")"
		}
	}
	return m
})

// systemIndex finds an index of the system catalogs by OID.
func systemIndex(oid uint32) *systemIndexDef { return systemIndexes()[oid] }

// definition returns the index as pg_get_indexdef does; if column > 0, only that column.
func (ix *systemIndexDef) definition(column int) string {
	if column > len(ix.columns) {
		return ""
	}
	if column > 0 {
		return ix.column(column - 1)
	}
	parts := make([]string, len(ix.columns))
	for i := range parts {
		parts[i] = ix.column(i)
		if class := classSuffix(ix.classes[i]); class != "" {
			parts[i] += " " + class
		}
	}
	unique := ""
	if ix.unique {
		unique = "UNIQUE "
	}
	return "CREATE " + unique + "INDEX " + builtin.QuoteIdent(ix.name) + " ON " + ix.table.Schema + "." +
		builtin.QuoteIdent(ix.table.Name) +
		" USING btree (" + strings.Join(parts, ", ") + ")"
}

func (ix *systemIndexDef) column(i int) string {
	if n := int(ix.columns[i]); n > 0 && n <= len(ix.table.Columns) {
		return builtin.QuoteIdent(ix.table.Columns[n-1].Name)
	}
	return ""
}

// classSuffix returns the name of an operator class that is not its type's default.
func classSuffix(oid uint32) string {
	for _, c := range operatorClasses() {
		if c.oid == oid && !c.def {
			return c.name
		}
	}
	return ""
}
