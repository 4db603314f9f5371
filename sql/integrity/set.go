package integrity

import (
	"maps"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/stmt"
)

// Set is SET CONSTRAINTS, for the constraints that FindConstraints returned. The caller checks at
// once what is immediate from now on.
func (t *Transaction) Set(n *pg_query.ConstraintsSetStmt, list []*catalog.Constraint) {
	if len(n.Constraints) == 0 {
		t.state.all, t.state.modes = 'i', nil
		if n.Deferred {
			t.state.all = 'd'
		}
		return
	}
	modes := maps.Clone(t.state.modes)
	if modes == nil {
		modes = map[catalog.OID]bool{}
	}
	for _, con := range list {
		modes[con.OID] = n.Deferred
	}
	t.state.modes = modes
}

// FindConstraints finds the constraints that SET CONSTRAINTS names: all of a name in the first
// schema of the compiler's path that has one.
func FindConstraints(c *stmt.Compiler, n *pg_query.ConstraintsSetStmt) ([]*catalog.Constraint, error) {
	view := c.View
	var out []*catalog.Constraint
	for _, x := range n.Constraints {
		rv := x.GetRangeVar()
		if d := view.Database(c.Database); rv.Catalogname != "" && d != nil && rv.Catalogname != d.Name {
			return nil, pgerr.Unsupported(`cross-database references are not implemented: "%s.%s.%s"`,
				rv.Catalogname, rv.Schemaname, rv.Relname)
		}
		path := c.SearchPath()
		if rv.Schemaname != "" {
			if path = []string{rv.Schemaname}; view.SchemaByName(c.Database, rv.Schemaname) == nil {
				return nil, pgerr.New(pgerr.InvalidSchemaName, `schema "%s" does not exist`, rv.Schemaname)
			}
		}
		found, err := deferrableNamed(view, c.Database, path, rv.Relname, n.Deferred)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

func deferrableNamed(
	view *catalog.View, database catalog.OID, path []string, name string, deferred bool,
) ([]*catalog.Constraint, error) {
	for _, schema := range path {
		sc := view.SchemaByName(database, schema)
		if sc == nil {
			continue
		}
		var out []*catalog.Constraint
		found := false
		for t := range view.TablesIn(sc.OID) {
			con := t.Constraint(name)
			if x := t.Trigger(name); con == nil && x != nil && x.Constraint != 0 {
				con = x.AsConstraint()
			}
			if con == nil {
				continue
			}
			found = true
			switch {
			case con.Deferrable:
				out = append(out, con)
			case deferred:
				return nil, pgerr.New(pgerr.WrongObjectType, `constraint "%s" is not deferrable`, name)
			}
		}
		if found {
			return out, nil
		}
	}
	return nil, pgerr.New(pgerr.UndefinedObject, `constraint "%s" does not exist`, name)
}
