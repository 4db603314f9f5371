package sysview

import (
	"strings"
	"sync"

	"github.com/sherddb/sherd/catalog"
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

// opClass is a class of operators, or a family.
type opClass struct {
	oid    uint32
	name   string
	method uint32
	in     uint32 // the type; 0 for a family
	def    bool
}

var operatorClasses = sync.OnceValue(func() []opClass {
	r := &reader{at: positions(pgcatalog.RelationByName(pgCatalog, "pg_opclass"))}
	var out []opClass
	for _, row := range staticRows("pg_opclass") {
		r.row = row
		out = append(out, opClass{r.oid("oid"), r.text("opcname"), r.oid("opcmethod"), r.oid("opcintype"),
			r.bool("opcdefault")})
	}
	return out
})

var operatorFamilies = sync.OnceValue(func() []opClass {
	r := &reader{at: positions(pgcatalog.RelationByName(pgCatalog, "pg_opfamily"))}
	var out []opClass
	for _, row := range staticRows("pg_opfamily") {
		r.row = row
		out = append(out, opClass{oid: r.oid("oid"), name: r.text("opfname"), method: r.oid("opfmethod")})
	}
	return out
})

// operatorClass finds the default operator class of an access method for a type.
func operatorClass(method catalog.AccessMethod, typ uint32) uint32 {
	c, _ := pgcatalog.DefaultClass(method.String(), typ)
	return c.OID
}

// methodOIDs are the rows of pg_am of the methods of indexes.
var methodOIDs = map[catalog.AccessMethod]uint32{
	catalog.BTree: btreeAM, catalog.Hash: 405, catalog.GIN: 2742, catalog.BRIN: 3580, catalog.SPGiST: 4000,
}

// opClassName returns the name of a class or family; all are in pg_catalog.
func opClassName(list []opClass, oid uint32) (string, bool) {
	for _, c := range list {
		if c.oid == oid {
			return c.name, true
		}
	}
	return "", false
}

var tablespaces = map[uint32]string{defaultTablespace: "pg_default", globalTablespace: "pg_global"}

const globalTablespace = 1664
