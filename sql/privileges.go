package sql

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/ddl"
	"github.com/sherddb/sherd/sql/query"
)

// checkPrivileges refuses a query on tables that the role may not use. There is no GRANT yet: a table is its owner's and the superusers'.
// The answer depends on definitions alone, so it holds as long as a cached program does.
func checkPrivileges(view *catalog.View, database, role catalog.OID, q *query.Query) error {
	me := view.Role(role)
	if me == nil {
		return pgerr.New(pgerr.UndefinedObject, "role with OID %d does not exist", role)
	}
	if me.Superuser {
		return nil
	}
	var err error
	eachQuery(q, func(q *query.Query) {
		for _, r := range q.Rels {
			if err == nil && r.Table != nil {
				err = checkTable(view, database, me, r.Table)
			}
		}
	})
	return err
}

func checkTable(view *catalog.View, database catalog.OID, me *catalog.Role, t *catalog.Table) error {
	if ddl.Owns(view, database, me, t.Owner) {
		return nil
	}
	if s := view.Schema(t.Schema); s != nil && s.Name != publicSchema && !ddl.Owns(view, database, me, s.Owner) {
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied for schema %s", s.Name)
	}
	if t.Sequence != nil {
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied for sequence %s", t.Name)
	}
	return pgerr.New(pgerr.InsufficientPrivilege, "permission denied for table %s", t.Name)
}

// publicSchema is the schema that everybody may look into.
const publicSchema = "public"
