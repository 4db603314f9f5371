package sysview

import (
	"sync"

	"github.com/sherddb/sherd/catalog"
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
