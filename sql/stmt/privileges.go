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
	var err error
	check := func(t *catalog.Table, role catalog.OID) {
		if err == nil {
			err = c.checkTable(t, role)
		}
	}
	eachAs(q, c.Role, check)
	return err
}

// eachAs calls f for the relations of q and of every query in it, with the role whose privileges
// count: those of a view's query are used by its owner, except that a view with security_invoker
// leaves them to the user of the view.
func eachAs(q *query.Query, role catalog.OID, f func(t *catalog.Table, role catalog.OID)) {
	if q == nil {
		return
	}
	each := func(q *query.Query) { eachAs(q, role, f) }
	for _, r := range q.Rels {
		own := role
		for _, v := range r.Through {
			f(v, own)
			own = queryRole(v, own)
		}
		if r.Table != nil {
			f(r.Table, own)
		}
		if r.View == nil {
			each(r.Subquery)
			continue
		}
		f(r.View, role)
		eachAs(r.Subquery, queryRole(r.View, role), f)
	}
	for _, s := range subLinks(q) {
		each(s)
	}
	for _, x := range q.CTEs {
		each(x.Query)
	}
	if q.SetOp != nil {
		each(q.SetOp.Left)
		each(q.SetOp.Right)
	}
	each(q.Source)
}

// queryRole returns the role with whose privileges the query of a view runs, if role uses the view.
func queryRole(view *catalog.Table, role catalog.OID) catalog.OID {
	if view.SecurityInvoker() {
		return role
	}
	return view.Owner
}

// subLinks returns the subqueries in the expressions of q itself.
func subLinks(q *query.Query) (out []*query.Query) {
	query.WalkQuery(q, func(e query.Expr, depth int) {
		if s, ok := e.(*query.SubLink); ok && depth == 0 {
			out = append(out, s.Query)
		}
	})
	return out
}

// CheckTable refuses the use of a table by the compiler's role.
func (c *Compiler) CheckTable(t *catalog.Table) error { return c.checkTable(t, c.Role) }

func (c *Compiler) checkTable(t *catalog.Table, role catalog.OID) error {
	me, in := c.View.Role(role), c.View.Database(c.Database)
	if me.Owns(in, t.Owner) {
		return nil
	}
	if s := c.View.Schema(t.Schema); s != nil && s.Name != publicSchema && !me.Owns(in, s.Owner) {
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied for schema %s", s.Name)
	}
	if t.Sequence != nil {
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied for sequence %s", t.Name)
	}
	if t.View != nil {
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied for view %s", t.Name)
	}
	return pgerr.New(pgerr.InsufficientPrivilege, "permission denied for table %s", t.Name)
}

// publicSchema is the schema that every role may look into.
const publicSchema = "public"
