package analyze

import (
	"fmt"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// indirection is (expr)[…].field….
func (s *scope) indirection(a *pg_query.A_Indirection) (query.Expr, error) {
	e, err := s.expr(a.Arg)
	if err != nil {
		return nil, err
	}
	return s.indirect(e, a.Indirection, location(a.Arg))
}

func (s *scope) indirect(e query.Expr, path []*pg_query.Node, loc int32) (query.Expr, error) {
	var subscripts []*pg_query.A_Indices
	var err error
	for _, n := range path {
		switch v := n.GetNode().(type) {
		case *pg_query.Node_AIndices:
			subscripts = append(subscripts, v.AIndices)
			continue
		case *pg_query.Node_AStar:
			return nil, s.unsupported(loc, "row expansion via \"*\" is not supported here")
		case *pg_query.Node_String_:
			if e, err = s.subscript(e, subscripts, loc); err != nil {
				return nil, err
			}
			subscripts = nil
			if e, err = s.field(e, v.String_.Sval, loc); err != nil {
				return nil, err
			}
		}
	}
	return s.subscript(e, subscripts, loc)
}

// subscript applies a run of subscripts to a container.
func (s *scope) subscript(e query.Expr, list []*pg_query.A_Indices, loc int32) (query.Expr, error) {
	if len(list) == 0 {
		return e, nil
	}
	base := baseType(e.Type())
	switch base {
	case types.Int2Vector, types.OidVector:
	case types.JSONB:
		return s.jsonbSubscript(e, list)
	}
	elem := elementOf(base)
	if base == types.Name { // an array of bytes from 0: pg_dump asks for typname[0]
		elem = types.CharInternal
	}
	if elem == 0 {
		return nil, s.errorf(loc, pgerr.DatatypeMismatch,
			"cannot subscript type %s because it does not support subscripting", s.ctx.name(e.Type()))
	}
	out := &query.Subscript{T: query.T{OID: elem, Mod: e.Typmod()}, Base: e, Elem: elem}
	for _, x := range list {
		out.Slice = out.Slice || x.IsSlice
	}
	for _, x := range list {
		upper, err := s.arraySubscript(x.Uidx)
		if err != nil {
			return nil, err
		}
		lower, err := s.arraySubscript(x.Lidx)
		if err != nil {
			return nil, err
		}
		out.Upper = append(out.Upper, upper)
		if out.Slice {
			if !x.IsSlice {
				lower = intConst(1)
			}
			out.Lower = append(out.Lower, lower)
		}
	}
	if out.Slice {
		out.OID = base
	}
	if out.Slice && base == types.Name {
		return nil, pgerr.New(pgerr.FeatureNotSupported, "slices of fixed-length arrays not implemented")
	}
	if len(out.Upper) > 6 {
		return nil, s.errorf(loc, pgerr.ProgramLimitExceeded,
			"number of array dimensions (%d) exceeds the maximum allowed (%d)", len(out.Upper), 6)
	}
	return out, nil
}

func (s *scope) arraySubscript(n *pg_query.Node) (query.Expr, error) {
	if n == nil {
		return nil, nil
	}
	e, err := s.expr(n)
	if err != nil {
		return nil, err
	}
	r, err := s.coerceTo(e, types.Int4, -1, assignment, location(n))
	if err != nil {
		return nil, err
	}
	if r == nil {
		return nil, s.errorf(location(n), pgerr.DatatypeMismatch, "array subscript must have type integer")
	}
	return r, nil
}

// jsonbSubscript accepts text keys and integer positions.
func (s *scope) jsonbSubscript(e query.Expr, list []*pg_query.A_Indices) (query.Expr, error) {
	out := &query.Subscript{T: query.Of(types.JSONB), Base: e, Elem: types.JSONB}
	for _, x := range list {
		if x.IsSlice {
			at := x.Lidx
			if x.Uidx != nil {
				at = x.Uidx
			}
			return nil, s.errorf(location(at), pgerr.DatatypeMismatch, "jsonb subscript does not support slices")
		}
		sub, err := s.expr(x.Uidx)
		if err != nil {
			return nil, err
		}
		loc := location(x.Uidx)
		target := types.OID(types.Text)
		if t := sub.Type(); t != types.Unknown {
			asInt, asText := canCoerceOne(t, types.Int4, implicit), canCoerceOne(t, types.Text, implicit)
			switch {
			case asInt == asText:
				hint := "jsonb subscript must be coercible to either integer or text."
				if asInt {
					hint = "jsonb subscript must be coercible to only one type, integer or text."
				}
				return nil, s.errorf(loc, pgerr.DatatypeMismatch, "subscript type %s is not supported", s.ctx.name(t)).
					WithHint("%s", hint)
			case asInt:
				target = types.Int4
			}
		}
		if sub, err = s.coerce(sub, target, -1, implicit, loc); err != nil {
			return nil, err
		}
		out.Upper = append(out.Upper, sub)
	}
	return out, nil
}

// field is (row).name, or a function of the row.
func (s *scope) field(e query.Expr, name string, loc int32) (query.Expr, error) {
	out, err := columnOfRow(s, e, name, loc)
	if pgerr.Is(err, pgerr.UndefinedColumn) {
		if call, failed := callByField(s, e, name, loc); call != nil || failed != nil {
			return call, failed
		}
	}
	return out, err
}

func columnOfRow(s *scope, e query.Expr, name string, loc int32) (query.Expr, error) {
	if v, ok := query.Unwritten(e).(*query.Var); ok && v.Col == query.ColWholeRow {
		columns, exprs := s.wholeRowColumns(v)
		for i, c := range columns {
			if c.Name == name && !c.Dropped {
				return exprs[i], nil
			}
		}
	}
	columns, exprs := s.rowColumns(e)
	if columns == nil {
		if isComposite(e.Type()) {
			return nil, s.errorf(loc, pgerr.UndefinedColumn, "could not identify column %q in record data type", name)
		}
		return nil, s.errorf(loc, pgerr.WrongObjectType,
			"column notation .%s applied to type %s, which is not a composite type", name, s.ctx.name(e.Type()))
	}
	numbers := attributeNumbers(s.ctx, e.Type())
	for i, c := range columns {
		if c.Dropped || c.Name != name && !(i < len(numbers) &&
			name == fmt.Sprintf("#%d.%d", baseType(e.Type()), numbers[i])) {
			continue
		}
		if exprs != nil {
			return exprs[i], nil
		}
		f := &query.Field{T: query.T{OID: c.Type, Mod: c.Typmod}, Arg: e, N: i, Name: c.Name}
		if i < len(numbers) {
			f.Attribute = int(numbers[i])
		}
		return f, nil
	}
	if e.Type() == types.Record {
		return nil, s.errorf(loc, pgerr.UndefinedColumn, "could not identify column %q in record data type", name)
	}
	return nil, s.errorf(loc, pgerr.UndefinedColumn, "column %q not found in data type %s", name, s.ctx.name(e.Type()))
}

// rowColumns returns the columns of a row value as far as they are known, and expressions for them
// if they need not be extracted from the value.
func (s *scope) rowColumns(e query.Expr) ([]query.Column, []query.Expr) {
	row, _ := query.Unwritten(e).(*query.Row)
	if columns := columnsOfType(s.ctx, e.Type()); columns != nil && row == nil {
		return columns, nil
	}
	switch v := query.Unwritten(e).(type) {
	case *query.Row:
		columns := make([]query.Column, len(v.Fields))
		for i, f := range v.Fields {
			columns[i] = query.Column{Name: v.Names[i], Type: f.Type(), Typmod: f.Typmod()}
		}
		return columns, v.Fields
	case *query.Var:
		if v.Col == query.ColWholeRow {
			return s.wholeRowColumns(v)
		}
		return s.recordVar(v), nil
	case *query.Call:
		return procColumns(v), nil
	case *query.Param:
		return s.rows[v.N], nil
	case *query.Const:
		if v.Columns != nil {
			return v.Columns, nil
		}
	case *query.SubLink:
		if v.Kind == query.SubScalar && len(v.Query.Targets) > 0 {
			inner := s.child()
			inner.q = v.Query
			columns, _ := inner.rowColumns(v.Query.Targets[0].Expr)
			return columns, nil
		}
	}
	if p := pgcatalog.TypeByOID(baseType(e.Type())); p != nil && p.RelID != 0 {
		if r := pgcatalog.RelationByOID(p.RelID); r != nil {
			return columnsOfSystem(r), nil
		}
	}
	return nil, nil
}

func (s *scope) levelAt(up int) *scope {
	level := s
	for ; up > 0 && level.parent != nil; up-- {
		level = level.parent
	}
	return level
}

func (s *scope) wholeRowColumns(v *query.Var) ([]query.Column, []query.Expr) {
	columns := s.levelAt(v.Up).q.Rels[v.Rel].Columns
	exprs := make([]query.Expr, len(columns))
	for i, c := range columns {
		exprs[i] = &query.Var{T: query.T{OID: c.Type, Mod: c.Typmod}, Rel: v.Rel, Col: i, Up: v.Up, Name: c.Name}
	}
	return columns, exprs
}

// recordVar returns the columns of a subquery's row-valued column.
func (s *scope) recordVar(v *query.Var) []query.Column {
	if v.OID != types.Record || v.Col < 0 {
		return nil
	}
	level := s.levelAt(v.Up)
	if v.Rel >= len(level.q.Rels) {
		return nil
	}
	rel := level.q.Rels[v.Rel]
	sub := rel.Subquery
	if rel.CTE != nil {
		sub = rel.CTE.Query
	}
	if sub == nil || v.Col >= len(sub.Targets) {
		return nil
	}
	inner := level.child()
	inner.q = sub
	columns, _ := inner.rowColumns(sub.Targets[v.Col].Expr)
	return columns
}

// procColumns returns the OUT columns of a function that returns a record.
func procColumns(c *query.Call) []query.Column {
	p := c.Proc
	if c.Columns != nil {
		return c.Columns
	}
	if t := pgcatalog.TypeByOID(c.Type()); t != nil && t.RelID != 0 {
		if r := pgcatalog.RelationByOID(t.RelID); r != nil {
			return columnsOfSystem(r)
		}
	}
	var out []query.Column
	for i, t := range p.AllArgTypes {
		if i >= len(p.ArgModes) || p.ArgModes[i] != 'o' && p.ArgModes[i] != 'b' && p.ArgModes[i] != 't' {
			continue
		}
		name := ""
		if i < len(p.ArgNames) {
			name = p.ArgNames[i]
		}
		if name == "" {
			name = "column" + itoa(len(out)+1)
		}
		out = append(out, query.Column{Name: name, Type: resolveOut(t, c), Typmod: -1})
	}
	return out
}

// resolveOut returns the type of a polymorphic OUT argument in a call.
func resolveOut(t types.OID, c *query.Call) types.OID {
	if !isPolymorphic(t) {
		return t
	}
	var g generic
	for i, d := range c.Proc.ArgTypes {
		if i >= len(c.Args) {
			break
		}
		a := c.Args[i].Type()
		switch d {
		case types.AnyElement, types.AnyNonArray, types.AnyEnum:
			g.elem = a
		case types.AnyArray:
			g.array, g.elem = baseType(a), elementOf(a)
		case types.AnyCompatible, types.AnyCompatibleNonArray:
			g.common = a
		case types.AnyCompatibleArray:
			g.common = elementOf(a)
		}
	}
	if r, ok := g.resolve(t); ok {
		return r
	}
	return types.Text
}
