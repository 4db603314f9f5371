package pgcatalog

import (
	"slices"
	"sync"
)

// Relation is a table or view of pg_catalog, information_schema or sherd.
type Relation struct {
	OID     uint32
	Schema  string
	Name    string
	Kind    byte // pg_class.relkind: 'r', 'v', 'i'
	RowType uint32
	Columns []RelationColumn
	Comment string
}

// RelationColumn is a column of a Relation.
type RelationColumn struct {
	Name    string
	Type    uint32
	Typmod  int32
	NotNull bool
}

type relationIndex struct {
	byOID  map[uint32]*Relation
	byName map[[2]string]*Relation
	list   []*Relation
}

var relations = sync.OnceValue(func() *relationIndex {
	ix := &relationIndex{byOID: map[uint32]*Relation{}, byName: map[[2]string]*Relation{}}
	namespaces := catalogs().namespaces
	err := scan("pg_class", func(r *record) {
		ix.add(&Relation{
			OID: r.oid("oid"), Schema: namespaces[r.oid("relnamespace")], Name: r.text("relname"),
			Kind: r.byte("relkind"), RowType: r.oid("reltype"),
		})
	})
	if err == nil {
		err = scan("pg_attribute", func(r *record) {
			rel := ix.byOID[r.oid("attrelid")]
			rel.Columns = append(rel.Columns, RelationColumn{
				Name: r.text("attname"), Type: r.oid("atttypid"), Typmod: int32(r.int("atttypmod")),
				NotNull: r.bool("attnotnull"),
			})
		})
	}
	if err != nil {
		panic("pgcatalog: embedded data: " + err.Error()) // the binary is damaged
	}
	for _, rel := range slices.Concat(sherdViews, planViews, topologyViews, zoneViews, prefixViews, idViews,
		segmentViews) {
		ix.add(rel)
	}
	return ix
})

func (ix *relationIndex) add(rel *Relation) {
	ix.byOID[rel.OID] = rel
	ix.byName[[2]string{rel.Schema, rel.Name}] = rel
	ix.list = append(ix.list, rel)
}

// RelationByOID returns a system relation; nil if there is none.
func RelationByOID(oid uint32) *Relation { return relations().byOID[oid] }

// RelationByName returns a system table or view, but no index; nil if there is none.
func RelationByName(schema, name string) *Relation {
	rel := relations().byName[[2]string{schema, name}]
	if rel == nil || rel.Kind == 'i' {
		return nil
	}
	return rel
}

// Relations returns the system relations including indexes, PostgreSQL's by OID and then Sherd's.
// The slice is shared.
func Relations() []*Relation { return relations().list }
