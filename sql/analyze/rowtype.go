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
	"github.com/sherddb/sherd/sql/usertype"
)

// Rows. Values of composite types have the columns of the type; those of type record have columns as
// far as they follow from the expression. The row types of tables are composite types, but there are no
// columns of them and no arrays.

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

// columnsOfType returns the columns of the values of a composite type; nil for other types.
func columnsOfType(ctx *Context, oid types.OID) []query.Column {
	if ctx.Catalog == nil || !types.IsComposite(oid) {
		return nil
	}
	var out []query.Column
	for _, a := range usertype.Attributes(ctx.Catalog, oid) {
		out = append(out, query.Column{Name: a.Name, Type: a.Type, Typmod: a.Typmod})
	}
	return out
}

// rowTypeOf returns the type of the rows of a range table entry: the row type of a table or view, record
// for others.
func rowTypeOf(r *query.Rel) types.OID {
	switch {
	case r == nil:
	case r.View != nil:
		return rowType(r.View)
	case r.Kind == query.RelTable && r.Table != nil:
		return rowType(r.Table)
	}
	return types.Record
}

// asText returns a field of ROW(…) that has no type as text, which it is unless the row becomes one of a
// composite type.
func asText(s *scope, e query.Expr, loc int32) (query.Expr, error) {
	out, err := s.coerce(e, types.Text, -1, implicit, loc)
	if err == nil {
		if s.untyped == nil {
			s.untyped = map[query.Expr]query.Expr{}
		}
		s.untyped[out] = e
	}
	return out, err
}

// untype returns a field as it was before asText.
func untype(s *scope, was query.Expr) query.Expr {
	if p, ok := was.(*query.Param); ok && s.params[p.N-1] == types.Text {
		s.params[p.N-1] = types.Unknown
	}
	return was
}

// attributeNumbers returns the numbers of the columns of a composite type.
func attributeNumbers(ctx *Context, oid types.OID) (out []int16) {
	if ctx.Catalog == nil || !types.IsComposite(oid) {
		return nil
	}
	if t := catalog.TypeByOID(ctx.Catalog, catalog.TypeNumber(oid)); t != nil {
		for _, a := range t.Live() {
			out = append(out, a.Number)
		}
		return out
	}
	if t := ctx.Catalog.Table(catalog.TypeNumber(oid)); t != nil {
		for i := range t.Columns {
			if !t.Columns[i].Dropped {
				out = append(out, t.Columns[i].AttNum)
			}
		}
	}
	return out
}

// rowType returns the OID of a table's row type.
func rowType(t *catalog.Table) types.OID { return types.RowTypeOf(t.OID) }

// coerceRow is coerce_record_to_complex: it converts a row to a composite type, field by field.
func coerceRow(s *scope, e query.Expr, target types.OID, ctx coercion, loc int32) (query.Expr, error) {
	fail := func(detail string, args ...any) error {
		err := s.errorf(loc, pgerr.CannotCoerce, "cannot cast type %s to %s", s.ctx.name(e.Type()), s.ctx.name(target))
		if detail != "" {
			err.WithDetail(detail, args...)
		}
		return err
	}
	columns := columnsOfType(s.ctx, target)
	from, fields := s.rowColumns(e)
	from = liveColumns(from)
	literal, _ := e.(*query.Row)
	if literal == nil {
		if from == nil {
			return nil, fail("")
		}
		fields = make([]query.Expr, len(from))
		row := &query.Element{T: query.Of(e.Type())}
		for i, c := range from {
			fields[i] = &query.Field{T: query.T{OID: c.Type, Mod: c.Typmod}, Arg: row, N: i, Name: c.Name}
		}
	}
	kept := s.ctx.Stored || s.ctx.Env == nil // an expression of the catalog
	for kept && len(fields) < len(columns) { // attributes were added since
		fields = append(fields, &query.Const{T: query.Of(types.Unknown)})
	}
	out := &query.Row{T: query.Of(target), Implicit: ctx != explicit}
	for i, c := range columns {
		if i >= len(fields) {
			return nil, fail("Input has too few columns.")
		}
		if was := s.untyped[fields[i]]; was != nil {
			fields[i] = untype(s, was)
		}
		f, err := s.coerceTo(fields[i], c.Type, c.Typmod, ctx, loc)
		if err != nil {
			return nil, err
		}
		if f == nil {
			return nil, fail("Cannot cast type %s to %s in column %d.", s.ctx.name(fields[i].Type()),
				s.ctx.name(c.Type), i+1)
		}
		out.Fields, out.Names = append(out.Fields, f), append(out.Names, c.Name)
	}
	if len(fields) > len(columns) {
		return nil, fail("Input has too many columns.")
	}
	if literal != nil {
		return out, nil
	}
	return &query.RowCoerce{T: query.Of(target), Arg: e, Row: out, Explicit: ctx == explicit}, nil
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
	if types.IsComposite(c.Type()) {
		c.Columns = columnsOfType(s.ctx, c.Type())
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
		return rowTypeOf(rel), -1, liveColumns(rel.Columns), nil
	case "type":
		c, err := columnNamed(s, nodeStrings(name.Names), -1)
		if err != nil {
			return 0, 0, nil, err
		}
		return c.Type, c.Typmod, nil, nil
	}
	oid, typmod, err := s.typeName(name)
	if err == nil && types.IsComposite(oid) {
		return oid, -1, columnsOfType(ctx, oid), nil
	}
	if pgerr.Is(err, pgerr.UndefinedObject) || pgerr.Is(err, pgerr.FeatureNotSupported) {
		if table := s.rowTypeOf(name); table != nil {
			return rowType(table), -1, liveColumns(columnsOfTable(table)), nil
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

// part is a part of a column or variable that a statement assigns: fields and subscripts lead to it.
type part struct {
	name string // of the column
	path []*pg_query.Node
	loc  int32
}

// partDefault is the error of DEFAULT for a part of a column.
func partDefault(s *scope, path []*pg_query.Node, loc int32) error {
	if path[0].GetAIndices() != nil {
		return s.errorf(loc, pgerr.FeatureNotSupported, "cannot set an array element to DEFAULT")
	}
	return s.errorf(loc, pgerr.FeatureNotSupported, "cannot set a subfield to DEFAULT")
}

// isWhole reports whether a target of INSERT is a whole column.
func isWhole(s *scope, target int) bool {
	_, is := s.parts[target]
	return !is
}

// given converts a value of INSERT to the type of its target.
func given(s *scope, target, col int, value query.Expr, loc int32) (query.Expr, error) {
	p, ok := s.parts[target]
	if !ok {
		return s.assign(col, value, loc)
	}
	var out query.Expr
	c := s.q.Rels[s.q.Result].Table.Columns[col]
	base := &query.Const{T: query.T{OID: c.Type, Mod: c.Typmod}}
	_, err := storePart(s, p, p.path, base, func(to query.T, subscript bool) (e query.Expr, err error) {
		out, err = partValue(s, p, value, to, subscript)
		return out, err
	})
	return out, err
}

// storeGiven assigns a part of a column in INSERT.
func storeGiven(s *scope, col int, p part, value query.Expr) error {
	at := slices.IndexFunc(s.q.Assign, func(a query.Assignment) bool { return a.Col == col })
	c := s.q.Rels[s.q.Result].Table.Columns[col]
	base := query.Expr(&query.Const{T: query.T{OID: c.Type, Mod: c.Typmod}})
	if at >= 0 {
		base = s.q.Assign[at].Expr
	}
	e, err := assignPart(s, p, base, value)
	if err != nil {
		return err
	}
	if at < 0 {
		s.q.Assign = append(s.q.Assign, query.Assignment{Col: col, Expr: e})
	} else {
		s.q.Assign[at].Expr = e
	}
	return nil
}

// assignPart returns base with a new value of a part (transformAssignmentIndirection).
func assignPart(s *scope, p part, base, value query.Expr) (query.Expr, error) {
	return storePart(s, p, p.path, base, func(to query.T, subscript bool) (query.Expr, error) {
		return partValue(s, p, value, to, subscript)
	})
}

// partValue converts a value to the type of a part.
func partValue(s *scope, p part, value query.Expr, to query.T, subscript bool) (query.Expr, error) {
	v, err := s.coerceTo(value, to.OID, to.Mod, assignment, p.loc)
	if err != nil || v != nil {
		return v, err
	}
	const hint = "You will need to rewrite or cast the expression."
	if subscript {
		return nil, s.errorf(p.loc, pgerr.DatatypeMismatch,
			"subscripted assignment to %q requires type %s but expression is of type %s", p.name, s.ctx.name(to.OID),
			s.ctx.name(value.Type())).WithHint(hint)
	}
	name := p.path[len(p.path)-1].GetString_().GetSval()
	return nil, s.errorf(p.loc, pgerr.DatatypeMismatch, "subfield %q is of type %s but expression is of type %s", name,
		s.ctx.name(to.OID), s.ctx.name(value.Type())).WithHint(hint)
}

// storePart returns base with a new value of the part that a path leads to. value returns the value for
// the type of the part.
func storePart(s *scope, p part, path []*pg_query.Node, base query.Expr,
	value func(to query.T, subscript bool) (query.Expr, error)) (query.Expr, error) {
	if domain := base.Type(); types.IsDomain(domain) {
		typmod := usertype.BaseTypmod(s.ctx.Catalog, domain)
		base = &query.Relabel{T: query.T{OID: types.BaseOf(domain), Mod: typmod}, Arg: base, Cast: 'i'}
		e, err := storePart(s, p, path, base, value)
		if err != nil {
			return nil, err
		}
		return s.coerceTo(e, domain, -1, assignment, p.loc)
	}
	if name, ok := path[0].GetNode().(*pg_query.Node_String_); ok {
		return storeField(s, p, path, base, name.String_.Sval, value)
	}
	n := slices.IndexFunc(path, func(x *pg_query.Node) bool { return x.GetAIndices() == nil })
	if n < 0 {
		n = len(path)
	}
	e, err := s.indirect(base, path[:n], p.loc)
	if err != nil {
		return nil, err
	}
	sub, ok := e.(*query.Subscript)
	if !ok {
		return nil, s.unsupported(p.loc, "this assignment is not supported")
	}
	out := *sub
	if n == len(path) {
		to := query.T{OID: sub.Elem, Mod: base.Typmod()}
		if sub.Slice {
			to.OID = base.Type()
		}
		out.Assign, err = value(to, true)
	} else {
		out.Assign, err = storePart(s, p, path[n:], sub, value)
	}
	out.T = query.T{OID: base.Type(), Mod: base.Typmod()}
	return &out, err
}

// storeField is storePart for a field of a row.
func storeField(s *scope, p part, path []*pg_query.Node, base query.Expr, name string,
	value func(to query.T, subscript bool) (query.Expr, error)) (query.Expr, error) {
	columns := columnsOfType(s.ctx, base.Type())
	if columns == nil {
		return nil, s.errorf(p.loc, pgerr.DatatypeMismatch,
			"cannot assign to field %q of column %q because its type %s is not a composite type", name, p.name,
			s.ctx.name(base.Type()))
	}
	at := slices.IndexFunc(columns, func(c query.Column) bool { return c.Name == name })
	if at < 0 {
		return nil, s.errorf(p.loc, pgerr.UndefinedColumn,
			"cannot assign to field %q of column %q because there is no such column in data type %s", name, p.name,
			s.ctx.name(base.Type()))
	}
	out := &query.Row{T: query.Of(base.Type()), Implicit: true}
	was, _ := base.(*query.Row)
	for i, c := range columns {
		var f query.Expr
		if was != nil {
			f = was.Fields[i]
		} else {
			f = &query.Field{T: query.T{OID: c.Type, Mod: c.Typmod}, Arg: base, N: i, Name: c.Name}
		}
		if i == at {
			var err error
			if len(path) == 1 {
				f, err = value(query.T{OID: c.Type, Mod: c.Typmod}, false)
			} else {
				f, err = storePart(s, p, path[1:], f, value)
			}
			if err != nil {
				return nil, err
			}
		}
		out.Fields, out.Names = append(out.Fields, f), append(out.Names, c.Name)
	}
	return out, nil
}

// callOrField is a call, or the field of a row that is written as one: name(row).
func callOrField(s *scope, f *pg_query.FuncCall) (query.Expr, error) {
	e, err := s.funcCall(f)
	plain := len(f.Funcname) == 1 && len(f.Args) == 1 && f.AggFilter == nil && f.Over == nil
	if !pgerr.Is(err, pgerr.UndefinedFunction) || !plain || f.AggStar || f.AggDistinct || f.FuncVariadic ||
		f.AggWithinGroup || len(f.AggOrder) > 0 {
		return e, err
	}
	row, failed := s.expr(f.Args[0])
	if failed != nil || !isComposite(row.Type()) {
		return nil, err
	}
	if field, failed := columnOfRow(s, row, nodeStrings(f.Funcname)[0], f.Location); failed == nil {
		return field, nil
	}
	return nil, err
}

// callByField returns the call of a function that is written as the field of a row: row.name. It
// returns nil if there is no such function.
func callByField(s *scope, e query.Expr, name string, loc int32) (query.Expr, error) {
	args := callArgs{items: []item{{e, loc}}}
	f := &pg_query.FuncCall{Funcname: []*pg_query.Node{pg_query.MakeStrNode(name)}, Location: loc}
	found, err := s.findFunction([]string{name}, args, f)
	if err != nil || found.castTo != 0 || found.proc.Kind != 'f' || found.proc.RetSet || s.ctx.Form {
		return nil, nil
	}
	call, err := s.buildCall(found, args, f)
	if err != nil || call.Proc.Language == "" {
		return call, err
	}
	return inlined(s, call)
}
