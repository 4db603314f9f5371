package sysview

import (
	"sync"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/pgcatalog"
)

// commentKey identifies the object of a comment.
type commentKey struct {
	class, object uint32
	sub           int32
}

// comments are those on PostgreSQL's own objects.
var comments = sync.OnceValue(func() map[commentKey]string {
	rel := pgcatalog.RelationByName(pgCatalog, "pg_description")
	obj, class, sub, text := place(rel, "objoid"), place(rel, "classoid"), place(rel, "objsubid"),
		place(rel, "description")
	rows := staticRows("pg_description")
	m := make(map[commentKey]string, len(rows))
	for _, row := range rows {
		m[commentKey{row[class].Oid(), row[obj].Oid(), int32(row[sub].N)}] = row[text].S
	}
	return m
})

// classOID returns the OID of a system catalog, which says what kind of object an OID in pg_depend
// and pg_description belongs to.
func classOID(name string) uint32 {
	if r := pgcatalog.RelationByName(pgCatalog, name); r != nil {
		return r.OID
	}
	return 0
}

// Comment returns the comment on an object. sub is the column's number, 0 for the object itself.
// class is the system catalog's name; "" means any.
func (n *Names) Comment(class string, oid uint32, sub int32) (string, bool) {
	if text := n.ownComment(class, oid, sub); text != "" {
		return text, true
	}
	if class != "" {
		text, ok := comments()[commentKey{classOID(class), oid, sub}]
		return text, ok
	}
	for _, c := range []string{"pg_class", "pg_type", "pg_proc", "pg_operator", "pg_namespace"} {
		if text, ok := comments()[commentKey{classOID(c), oid, sub}]; ok {
			return text, true
		}
	}
	return "", false
}

func (n *Names) ownComment(class string, oid uint32, sub int32) string {
	is := func(name string) bool { return class == "" || class == name }
	if r := pgcatalog.RelationByOID(oid); r != nil && r.Schema == "sherd" && is("pg_class") && sub == 0 {
		return r.Comment
	}
	if p := pgcatalog.ProcByOID(oid); p != nil && p.Comment != "" && is("pg_proc") && sub == 0 {
		return p.Comment
	}
	if t := n.table(oid); t != nil && is("pg_class") {
		if sub != 0 {
			return t.ColumnComments[int16(sub)]
		}
		return t.Comment
	}
	if t := compositeOf(n, oid); t != nil && is("pg_class") {
		for _, a := range t.Live() {
			if int32(a.Number) == sub {
				return a.Comment
			}
		}
	}
	if sub != 0 {
		return ""
	}
	if t, ix := n.index(oid); t != nil && is("pg_class") {
		return ix.Comment
	}
	if t, c := n.constraint(oid); t != nil && is("pg_constraint") {
		return c.Comment
	}
	if _, k := domainCheck(n, oid); k != nil && is("pg_constraint") {
		return k.Comment
	}
	if t, x := extended(n, oid); t != nil && is("pg_statistic_ext") {
		return x.Comment
	}
	if t, x := trigger(n, oid); t != nil && is("pg_trigger") {
		return x.Comment
	}
	if _, x := rowPolicy(n, oid); x != nil && is("pg_policy") {
		return x.Comment
	}
	if t := catalog.TypeByOID(n.View, catalog.TypeNumber(oid)); t != nil && t.TypeOID() == oid && is("pg_type") {
		return t.Comment
	}
	if f := catalog.FunctionByOID(n.View, oid); f != nil && is("pg_proc") {
		return f.Comment
	}
	if s := n.View.Schema(oid); s != nil && is("pg_namespace") {
		return s.Comment
	}
	return n.sharedComment(class, oid)
}

// sharedComment returns the comment on a shared object, which belongs to no database.
func (n *Names) sharedComment(class string, oid uint32) string {
	if d := n.View.Database(oid); d != nil && class == "pg_database" {
		return d.Comment
	}
	if r := n.View.Role(oid); r != nil && class == "pg_authid" {
		return r.Comment
	}
	return ""
}
