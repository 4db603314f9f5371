package ddl

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/pgcatalog"
)

// TableOf returns the table that a function's regclass argument names by OID. It returns 42P01 if
// there is no such relation, and 42809 if the relation is not a table.
func TableOf(v *catalog.View, database, oid catalog.OID) (*catalog.Table, error) {
	t := v.Table(oid)
	if t != nil && t.Database == database && t.Kind == catalog.KindTable {
		return t, nil
	}
	if name := relationName(v, database, oid); name != "" {
		return nil, pgerr.New(pgerr.WrongObjectType, `"%s" is not a table of this database`, name)
	}
	return nil, noRelation(oid)
}

// IndexOf is like TableOf for an index, and also returns its table.
func IndexOf(v *catalog.View, database, oid catalog.OID) (*catalog.Table, *catalog.Index, error) {
	t, ix := v.Index(oid)
	if ix != nil && t.Database == database {
		return t, ix, nil
	}
	if name := relationName(v, database, oid); name != "" {
		return nil, nil, pgerr.New(pgerr.WrongObjectType, `"%s" is not an index of this database`, name)
	}
	return nil, nil, noRelation(oid)
}

func noRelation(oid catalog.OID) error {
	return pgerr.New(pgerr.UndefinedTable, "relation with OID %d does not exist", oid)
}

// relationName returns the name of a relation that sessions of the database can name, or "".
func relationName(v *catalog.View, database, oid catalog.OID) string {
	if t := v.Table(oid); t != nil && t.Database == database && t.Kind != catalog.KindParts {
		return t.Name
	}
	if t, ix := v.Index(oid); ix != nil && t.Database == database && t.Kind != catalog.KindParts {
		return ix.Name
	}
	if r := pgcatalog.RelationByOID(oid); r != nil {
		return r.Name
	}
	return ""
}
