package stmt

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/query"
)

// checkPrivileges refuses a query on tables that the role may not use. There is no GRANT yet: a table belongs to its
// owner and the superusers. The answer depends on definitions alone, so it holds as long as a cached program does.
func (c *Compiler) checkPrivileges(q *query.Query) error {
	me := c.View.Role(c.Role)
	if me == nil {
		return pgerr.New(pgerr.UndefinedObject, "role with OID %d does not exist", c.Role)
	}
	if me.Superuser {
		return nil
	}
	var err error
	eachQuery(q, func(q *query.Query) {
		for _, r := range q.Rels {
			if err == nil && r.Table != nil {
				err = c.CheckTable(r.Table)
			}
		}
	})
	return err
}

// CheckTable refuses the use of a table by the compiler's role.
func (c *Compiler) CheckTable(t *catalog.Table) error {
	me, in := c.View.Role(c.Role), c.View.Database(c.Database)
	if me.Owns(in, t.Owner) {
		return nil
	}
	if s := c.View.Schema(t.Schema); s != nil && s.Name != publicSchema && !me.Owns(in, s.Owner) {
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied for schema %s", s.Name)
	}
	if t.Sequence != nil {
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied for sequence %s", t.Name)
	}
	return pgerr.New(pgerr.InsufficientPrivilege, "permission denied for table %s", t.Name)
}

// publicSchema is the schema that every role may look into.
const publicSchema = "public"
