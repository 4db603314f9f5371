package analyze

import (
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/function"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// columnRef resolves a name: a column, table.column, schema.table.column, or a table's whole row.
func (s *scope) columnRef(c *pg_query.ColumnRef) (query.Expr, error) {
	e, err := s.resolveColumn(c)
	if v, ok := e.(*query.Var); ok && err == nil {
		own := *v
		s.locs[&own] = c.Location
		return &own, nil
	}
	return e, err
}

// resolveColumn resolves a name that may also be that of a variable of a function.
func (s *scope) resolveColumn(c *pg_query.ColumnRef) (query.Expr, error) {
	fields := nodeStrings(c.Fields)
	if s.ctx.Names == nil || len(fields) != len(c.Fields) || len(fields) > 3 {
		return columnOf(s, c)
	}
	v, found := s.ctx.Names.Find(fields)
	if e, err := argumentField(s, fields, found, c.Location); e != nil || err != nil {
		if _, own := columnOf(s, c); own != nil { // a column has the name, or else a field of an argument
			return e, err
		}
	}
	if found && s.ctx.Names.Conflict() == function.PreferVariable {
		return variable(s, v, c.Location)
	}
	e, err := columnOf(s, c)
	switch {
	case found && (pgerr.Is(err, pgerr.UndefinedColumn) || pgerr.Is(err, pgerr.UndefinedTable)):
		return variable(s, v, c.Location)
	case found && err == nil && s.ctx.Names.Conflict() == function.Refuse:
		return nil, s.errorf(c.Location, pgerr.AmbiguousColumn, "column reference %q is ambiguous",
			strings.Join(fields, ".")).
			WithDetail("It could refer to either a PL/pgSQL variable or a table column.")
	}
	return e, err
}

// argumentField returns a field of an argument of a function in SQL that is a row: argument.field, or
// function.argument.field; nil if there is none.
func argumentField(s *scope, fields []string, found bool, loc int32) (query.Expr, error) {
	n := len(fields) - 1
	if _, sql := s.ctx.Names.(arguments); !sql || found || n < 1 {
		return nil, nil
	}
	v, ok := s.ctx.Names.Find(fields[:n])
	if !ok || !types.IsComposite(v.Type) {
		return nil, nil
	}
	e, err := variable(s, v, loc)
	if err != nil {
		return nil, err
	}
	return s.field(e, fields[n], loc)
}

// variable returns the parameter that has the value of a variable.
func variable(s *scope, v function.Variable, loc int32) (query.Expr, error) {
	for len(s.params) < v.N {
		s.params = append(s.params, types.Void) // it is not used
	}
	s.params[v.N-1] = types.BaseOf(v.Type)
	e := &query.Param{T: query.T{OID: types.BaseOf(v.Type), Mod: v.Typmod}, N: v.N}
	s.locs[e] = loc
	if v.Columns != nil {
		if s.rows == nil {
			s.rows = map[int][]query.Column{}
		}
		s.rows[v.N] = v.Columns
	}
	if types.IsDomain(v.Type) { // its value has been checked
		return &query.Relabel{T: query.T{OID: v.Type, Mod: v.Typmod}, Arg: e, Cast: 'i'}, nil
	}
	return e, nil
}

func columnOf(s *scope, c *pg_query.ColumnRef) (query.Expr, error) {
	if s.place == inDefault {
		return nil, s.errorf(c.Location, pgerr.FeatureNotSupported, "cannot use column reference in DEFAULT expression")
	}
	fields := nodeStrings(c.Fields)
	if len(fields) != len(c.Fields) {
		return s.starRef(c, fields)
	}
	switch len(fields) {
	case 1:
		return s.plainColumn(fields[0], c.Location)
	case 2:
		return s.qualifiedColumn("", fields[0], fields[1], c.Location)
	case 3:
		return s.qualifiedColumn(fields[0], fields[1], fields[2], c.Location)
	case 4:
		if db := s.databaseName(); fields[0] != db {
			return nil, s.errorf(c.Location, pgerr.FeatureNotSupported,
				"cross-database references are not implemented: %s", strings.Join(fields, "."))
		}
		return s.qualifiedColumn(fields[1], fields[2], fields[3], c.Location)
	}
	return nil, s.errorf(c.Location, pgerr.SyntaxError, "improper qualified name (too many dotted names): %s",
		strings.Join(fields, "."))
}

func (s *scope) databaseName() string {
	if s.ctx.Catalog == nil {
		return ""
	}
	if d := s.ctx.Catalog.Database(s.ctx.Database); d != nil {
		return d.Name
	}
	return ""
}

// starRef resolves rel.* in a place that needs one value: the whole row.
func (s *scope) starRef(c *pg_query.ColumnRef, fields []string) (query.Expr, error) {
	if len(fields) == 0 {
		return nil, s.errorf(c.Location, pgerr.SyntaxError, `row expansion via "*" is not supported here`)
	}
	schema := ""
	if len(fields) > 1 {
		schema = fields[len(fields)-2]
	}
	name := fields[len(fields)-1]
	it, up, err := s.lookupItem(schema, name, c.Location)
	if err != nil {
		return nil, err
	}
	if it == nil {
		return nil, s.missingTable(schema, name, c.Location)
	}
	return s.wholeRow(it, up), nil
}

func (s *scope) plainColumn(name string, loc int32) (query.Expr, error) {
	_, e, err := s.lookupColumn(name, loc)
	if err != nil || e != nil {
		return e, err
	}
	it, up, err := s.lookupItem("", name, loc)
	if err != nil {
		return nil, err
	}
	if it != nil {
		return s.wholeRow(it, up), nil
	}
	return nil, s.missingColumn("", name, loc)
}

func (s *scope) qualifiedColumn(schema, rel, name string, loc int32) (query.Expr, error) {
	it, up, err := s.lookupItem(schema, rel, loc)
	if err != nil {
		return nil, err
	}
	if it == nil {
		return nil, s.missingTable(schema, rel, loc)
	}
	c, err := s.find(it, name, loc)
	if err != nil {
		return nil, err
	}
	if c != nil {
		return raise(c.expr, up), nil
	}
	if call, err := callByField(s, s.wholeRow(it, up), name, loc); call != nil || err != nil {
		return call, err
	}
	return nil, s.missingColumn(rel, name, loc)
}

// origin returns the table column that an output column comes from.
func (s *scope) origin(n *pg_query.Node, e query.Expr) (table uint32, att int16) {
	v, ok := e.(*query.Var)
	if !ok || v.Up != 0 || v.Col < 0 || n.GetColumnRef() == nil && n != nil {
		return 0, 0
	}
	return s.originOf(v)
}

// originOf returns the table column of a variable, also through subqueries.
func (s *scope) originOf(v *query.Var) (table uint32, att int16) {
	if v.Col < 0 || v.Up != 0 {
		return 0, 0
	}
	rel := s.q.Rels[v.Rel]
	switch {
	case rel.View != nil:
		return rel.View.OID, rel.View.Columns[v.Col].AttNum
	case rel.Table != nil && v.Col < len(rel.Table.Columns) && rel.Kind == query.RelTable:
		return rel.Table.OID, rel.Table.Columns[v.Col].AttNum
	case rel.Subquery != nil:
		if t := rel.Subquery.Targets; v.Col < len(t) {
			return t[v.Col].OriginTable, t[v.Col].OriginCol
		}
	case rel.CTE != nil && rel.CTE.Query != nil && !rel.CTE.Recursive:
		if t := rel.CTE.Query.Targets; v.Col < len(t) {
			return t[v.Col].OriginTable, t[v.Col].OriginCol
		}
	}
	return 0, 0
}
