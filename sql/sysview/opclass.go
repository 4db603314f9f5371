package sysview

import (
	"sync"

	"github.com/sherddb/sherd/sql/pgcatalog"
)

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

// operatorClass finds the default btree operator class of a type.
func operatorClass(typ uint32) uint32 {
	ops := pgcatalog.SortOpsOf(typ)
	if ops == nil {
		return 0
	}
	for _, c := range operatorClasses() {
		if c.method == btreeAM && c.in == ops.Type && c.def {
			return c.oid
		}
	}
	return 0
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
