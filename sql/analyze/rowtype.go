package analyze

import (
	"slices"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// The row types of tables. Their values are records whose columns follow from the expression. NULL
// and ROW(…) can be cast to the type of a table, as jsonb_populate_record and similar functions
// need; there are no columns of a row type and no arrays.

// rowTypeOf returns the table whose row type has this name, nil if there is none.
func (s *scope) rowTypeOf(t *pg_query.TypeName) *catalog.Table {
	name := nodeStrings(t.Names)
	if len(name) > 1 && name[0] == s.databaseName() {
		name = name[1:]
	}
	schemas := s.searchPath()
	if len(name) == 2 {
		schemas, name = name[:1], name[1:]
	}
	if len(name) != 1 || len(t.ArrayBounds) > 0 || len(t.Typmods) > 0 || t.Setof || t.PctType {
		return nil
	}
	if s.ctx.Stored && len(t.Names) == 2 && schemas[0] == storedSchema {
		if table := storedTable(s, name[0]); table != nil {
			return table
		}
	}
	for _, schema := range schemas {
		if table, _ := s.relationIn(schema, name[0]); table != nil {
			return table
		}
	}
	return nil
}

// namesRowType reports whether a name is that of a table's row type or of its array type.
func (s *scope) namesRowType(t *pg_query.TypeName) bool {
	if s.ctx.Catalog == nil {
		return false
	}
	if s.rowTypeOf(&pg_query.TypeName{Names: t.Names}) != nil {
		return true
	}
	names := nodeStrings(t.Names)
	bare, ok := strings.CutPrefix(names[len(names)-1], "_")
	if !ok {
		return false
	}
	element := append(slices.Clip(t.Names[:len(t.Names)-1]), pg_query.MakeStrNode(bare))
	return s.rowTypeOf(&pg_query.TypeName{Names: element}) != nil
}

func liveColumns(columns []query.Column) []query.Column {
	return slices.DeleteFunc(slices.Clone(columns), func(c query.Column) bool { return c.Dropped })
}

// rowCast is a cast to the row type of a table.
func (s *scope) rowCast(c *pg_query.TypeCast, columns []query.Column) (query.Expr, error) {
	name := nodeStrings(c.TypeName.Names)
	arg, err := s.expr(c.Arg)
	if err != nil {
		return nil, err
	}
	switch e := arg.(type) {
	case *query.Const:
		if e.Value.IsNull() {
			return &query.Const{T: query.Of(types.Record), Pos: e.Pos, Columns: columns}, nil
		}
	case *query.Row:
		if c.Arg.GetRowExpr() != nil {
			return s.rowOf(e, columns, name[len(name)-1], c.Location)
		}
	}
	return nil, s.unsupported(c.TypeName.Location, "a cast of this expression to the row type %q is not supported yet",
		name[len(name)-1]).
		WithHint("NULL and ROW(…) can be cast to the row type of a table.")
}

// rowOf converts ROW(…) to a row of columns, each field cast to its type.
func (s *scope) rowOf(e *query.Row, columns []query.Column, name string, loc int32) (query.Expr, error) {
	if len(e.Fields) != len(columns) {
		few := "Input has too few columns."
		if len(e.Fields) > len(columns) {
			few = "Input has too many columns."
		}
		return nil, s.errorf(loc, pgerr.CannotCoerce, "cannot cast type record to %s", name).WithDetail("%s", few)
	}
	out := &query.Row{T: query.Of(types.Record)}
	for i, f := range e.Fields {
		to := columns[i]
		field, err := s.coerceTo(f, to.Type, to.Typmod, explicit, loc)
		if err != nil {
			return nil, err
		}
		if field == nil {
			return nil, s.errorf(loc, pgerr.CannotCoerce, "cannot cast type record to %s", name).
				WithDetail("Cannot cast type %s to %s in column %d.", s.ctx.name(f.Type()), s.ctx.name(to.Type), i+1)
		}
		out.Fields, out.Names = append(out.Fields, field), append(out.Names, to.Name)
	}
	return out, nil
}

// populates are the functions whose result has the columns of their first argument.
var populates = []string{"jsonb_populate_record", "json_populate_record", "jsonb_populate_recordset",
	"json_populate_recordset"}

// resultColumns sets the columns of the record that a call returns.
func (s *scope) resultColumns(c *query.Call) {
	if c.Type() == types.Record && slices.Contains(populates, c.Proc.Src) {
		columns, _ := s.rowColumns(c.Args[0])
		c.Columns = liveColumns(columns)
	}
	if c.Proc.Language != "" && c.Type() == types.Record {
		f := catalog.FunctionByOID(s.ctx.Catalog, c.Proc.OID)
		if t := s.ctx.Catalog.Table(f.ResultRelation); t != nil {
			c.Columns = liveColumns(columnsOfTable(t))
		}
	}
}

// VariableType returns the type of a variable of a function that is declared by a name: of a type,
// of a column (t.a%TYPE), or of a table, whose columns are returned (t or t%ROWTYPE).
func VariableType(ctx *Context, text string) (types.OID, int32, []query.Column, error) {
	kind := ""
	if i := strings.LastIndexByte(text, '%'); i >= 0 {
		text, kind = text[:i], strings.ToLower(strings.TrimSpace(text[i+1:]))
	}
	const before = "SELECT NULL::"
	list, err := parse.Parse(before + text)
	if err != nil {
		return 0, 0, nil, err
	}
	targets := list[0].Node.GetSelectStmt().GetTargetList()
	if len(list) != 1 || len(targets) != 1 || targets[0].GetResTarget().GetVal().GetTypeCast() == nil {
		return 0, 0, nil, pgerr.New(pgerr.SyntaxError, "invalid type name \"%s\"", text)
	}
	name := targets[0].GetResTarget().GetVal().GetTypeCast().TypeName
	s := storedScope(ctx, "", "", nil, inOther)
	switch kind {
	case "rowtype":
		rel, err := relationNamed(s, nodeStrings(name.Names), -1)
		if err != nil {
			return 0, 0, nil, err
		}
		return types.Record, -1, liveColumns(rel.Columns), nil
	case "type":
		c, err := columnNamed(s, nodeStrings(name.Names), -1)
		if err != nil {
			return 0, 0, nil, err
		}
		return c.Type, c.Typmod, nil, nil
	}
	oid, typmod, err := s.typeName(name)
	if pgerr.Is(err, pgerr.UndefinedObject) || pgerr.Is(err, pgerr.FeatureNotSupported) {
		if table := s.rowTypeOf(name); table != nil {
			return types.Record, -1, liveColumns(columnsOfTable(table)), nil
		}
	}
	if e := pgerr.From(err); e != nil {
		own := *e
		own.Position = 0
		return 0, 0, nil, &own
	}
	return oid, typmod, nil, nil
}

// relationNamed finds a relation by the parts of its name.
func relationNamed(s *scope, parts []string, loc int32) (*query.Rel, error) {
	rv := &pg_query.RangeVar{Relname: parts[len(parts)-1], Inh: true, Relpersistence: "p", Location: loc}
	if n := len(parts); n > 1 {
		rv.Schemaname = parts[n-2]
	}
	if len(parts) > 2 {
		rv.Catalogname = parts[0]
	}
	rel, _, err := s.relation(rv)
	return rel, err
}
