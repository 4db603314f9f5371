package analyze

import (
	"strconv"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// expr analyzes an expression (transformExprRecurse). Its type may still be unknown.
func (s *scope) expr(n *pg_query.Node) (query.Expr, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	switch v := n.GetNode().(type) {
	case *pg_query.Node_ColumnRef:
		return s.columnRef(v.ColumnRef)
	case *pg_query.Node_ParamRef:
		return s.param(v.ParamRef)
	case *pg_query.Node_AConst:
		return s.constant(v.AConst)
	case *pg_query.Node_AExpr:
		return s.aExpr(v.AExpr)
	case *pg_query.Node_FuncCall:
		return callOrField(s, v.FuncCall)
	case *pg_query.Node_TypeCast:
		return s.typeCast(v.TypeCast)
	case *pg_query.Node_BoolExpr:
		return s.boolExpr(v.BoolExpr)
	case *pg_query.Node_NullTest:
		return s.nullTest(v.NullTest)
	case *pg_query.Node_BooleanTest:
		return s.booleanTest(v.BooleanTest)
	case *pg_query.Node_SubLink:
		return s.subLink(v.SubLink)
	case *pg_query.Node_CaseExpr:
		return s.caseExpr(v.CaseExpr)
	case *pg_query.Node_CoalesceExpr:
		return s.coalesce(v.CoalesceExpr)
	case *pg_query.Node_MinMaxExpr:
		return s.minMax(v.MinMaxExpr)
	case *pg_query.Node_AIndirection:
		return s.indirection(v.AIndirection)
	case *pg_query.Node_AArrayExpr:
		return s.array(v.AArrayExpr, 0, 0, -1)
	}
	return s.rareExpr(n)
}

func (s *scope) rareExpr(n *pg_query.Node) (query.Expr, error) {
	switch v := n.GetNode().(type) {
	case *pg_query.Node_RowExpr:
		return s.row(v.RowExpr)
	case *pg_query.Node_SqlvalueFunction:
		return s.sqlValue(v.SqlvalueFunction), nil
	case *pg_query.Node_GroupingFunc:
		return s.groupingFunc(v.GroupingFunc)
	case *pg_query.Node_CollateClause:
		return s.collate(v.CollateClause)
	case *pg_query.Node_SetToDefault:
		return nil, s.errorf(v.SetToDefault.Location, pgerr.SyntaxError, "DEFAULT is not allowed in this context")
	case *pg_query.Node_NamedArgExpr:
		return s.expr(v.NamedArgExpr.Arg)
	case *pg_query.Node_CurrentOfExpr:
		return nil, s.unsupported(-1, "WHERE CURRENT OF is not supported yet")
	case *pg_query.Node_XmlExpr:
		return nil, s.unsupported(v.XmlExpr.Location, "XML expressions are not supported").WithHint(xmlHint)
	case *pg_query.Node_MultiAssignRef:
		return nil, s.unsupported(-1, "multiple assignment is not allowed here")
	case nil:
		return nil, s.errorf(-1, pgerr.SyntaxError, "missing expression")
	}
	kind := strings.TrimPrefix(strings.TrimPrefix(typeOfNode(n), "*pg_query.Node_"), "Node_")
	return nil, s.unsupported(location(n), "%s is not supported yet", nodeLabel(kind)).WithHint("%s", nodeHint(kind))
}

// items analyzes a list of expressions.
func (s *scope) items(nodes []*pg_query.Node) ([]item, error) {
	out := make([]item, len(nodes))
	for i, n := range nodes {
		e, err := s.expr(n)
		if err != nil {
			return nil, err
		}
		out[i] = item{e, location(n)}
	}
	return out, nil
}

// constant returns the Const of a literal (make_const).
func (s *scope) constant(c *pg_query.A_Const) (query.Expr, error) {
	out := &query.Const{T: query.Of(types.Unknown), Pos: s.pos(c.Location)}
	if c.Isnull {
		return out, nil
	}
	s.literals.add(out, c)
	switch v := c.Val.(type) {
	case *pg_query.A_Const_Ival:
		out.T, out.Value = query.Of(types.Int4), types.NewInt(int64(v.Ival.Ival))
	case *pg_query.A_Const_Fval:
		return s.number(out, v.Fval.Fval)
	case *pg_query.A_Const_Boolval:
		out.T, out.Value = query.Of(types.Bool), types.NewBool(v.Boolval.Boolval)
	case *pg_query.A_Const_Sval:
		out.Value = types.NewText(v.Sval.Sval)
	case *pg_query.A_Const_Bsval:
		d, err := types.Input(types.Bit, -1, v.Bsval.Bsval, s.ctx.Env)
		if err != nil {
			return nil, s.placed(err, c.Location)
		}
		out.T, out.Value = query.Of(types.Bit), d
	default:
		return nil, s.unsupported(c.Location, "this kind of literal is not supported")
	}
	return out, nil
}

// number reads an integer too large for int4, or a decimal fraction.
func (s *scope) number(out *query.Const, text string) (query.Expr, error) {
	digits := strings.ReplaceAll(text, "_", "")
	if n, err := strconv.ParseInt(digits, 0, 64); err == nil && !isOctalLike(digits) {
		out.T, out.Value = query.Of(types.Int8), types.NewInt(n)
		if n == int64(int32(n)) {
			out.T = query.Of(types.Int4)
		}
		return out, nil
	}
	if n, err := strconv.ParseInt(digits, 10, 64); err == nil {
		out.T, out.Value = query.Of(types.Int8), types.NewInt(n)
		return out, nil
	}
	d, err := types.Input(types.Numeric, -1, digits, s.ctx.Env)
	if err != nil {
		e := *pgerr.From(err)
		e.Position = out.Pos
		return nil, &e
	}
	out.T, out.Value = query.Of(types.Numeric), d
	return out, nil
}

// isOctalLike reports whether Go would read a decimal number with a leading zero as octal.
func isOctalLike(s string) bool { return len(s) > 1 && s[0] == '0' && s[1] >= '0' && s[1] <= '9' }

// placed adds a position to an error without position.
func (s *scope) placed(err error, loc int32) error {
	e := *pgerr.From(err)
	if e.Position == 0 {
		e.Position = s.pos(loc)
	}
	return &e
}

// param is $n; its type may be chosen by its context.
func (s *scope) param(p *pg_query.ParamRef) (query.Expr, error) {
	n := int(p.Number)
	if s.ctx.Names != nil {
		if v, ok := s.ctx.Names.Numbered(n); ok {
			return variable(s, v, p.Location)
		}
		return nil, s.errorf(p.Location, pgerr.UndefinedParameter, "there is no parameter $%d", n)
	}
	if n <= 0 || n > 65535 || s.noParams {
		return nil, s.errorf(p.Location, pgerr.UndefinedParameter, "there is no parameter $%d", n)
	}
	for len(s.params) < n {
		s.params = append(s.params, 0)
	}
	t := s.params[n-1]
	if t == 0 {
		t = types.Unknown
	}
	e := &query.Param{T: query.Of(types.BaseOf(t)), N: n}
	s.locs[e] = p.Location
	if types.IsDomain(t) { // the client's value is read as one of the base type
		return s.coerce(e, t, -1, implicit, p.Location)
	}
	return e, nil
}

// typeCast is CAST and ::.
func (s *scope) typeCast(c *pg_query.TypeCast) (query.Expr, error) {
	if e, ok, err := storedValue(s, c); ok {
		return e, err
	}
	target, typmod, err := s.typeName(c.TypeName)
	if s.ctx.Stored && pgerr.Is(err, pgerr.InvalidSchemaName) {
		err = pgerr.New(pgerr.UndefinedObject, "no type")
	}
	if pgerr.Is(err, pgerr.UndefinedObject) || pgerr.Is(err, pgerr.FeatureNotSupported) {
		if table := s.rowTypeOf(c.TypeName); table != nil {
			e, err := castTo(s, c, rowType(table), -1)
			if err == nil && s.ctx.Form {
				e = &query.Written{Arg: e, Kind: query.WrittenRowType, Row: table.OID}
			}
			return e, err
		}
	}
	if err != nil {
		return nil, err
	}
	return castTo(s, c, target, typmod)
}

func castTo(s *scope, c *pg_query.TypeCast, target types.OID, typmod int32) (query.Expr, error) {
	var err error
	var arg query.Expr
	if a := c.Arg.GetAArrayExpr(); a != nil && isArray(target) {
		arg, err = s.array(a, target, elementOf(target), typmod)
	} else {
		arg, err = s.expr(c.Arg)
	}
	if err != nil {
		return nil, err
	}
	loc := c.Location
	if loc < 0 {
		loc = c.TypeName.Location
	}
	e, err := s.coerceTo(arg, target, typmod, explicit, loc)
	if err != nil {
		return nil, err
	}
	if e == nil {
		return nil, s.errorf(loc, pgerr.CannotCoerce, "cannot cast type %s to %s", s.ctx.name(arg.Type()),
			s.ctx.name(target))
	}
	return e, nil
}

// sqlValues are the functions without parentheses.
var sqlValues = map[pg_query.SQLValueFunctionOp]struct {
	name string
	typ  types.OID
}{
	pg_query.SQLValueFunctionOp_SVFOP_CURRENT_DATE:        {"current_date", types.Date},
	pg_query.SQLValueFunctionOp_SVFOP_CURRENT_TIME:        {"current_time", types.TimeTZ},
	pg_query.SQLValueFunctionOp_SVFOP_CURRENT_TIME_N:      {"current_time", types.TimeTZ},
	pg_query.SQLValueFunctionOp_SVFOP_CURRENT_TIMESTAMP:   {"current_timestamp", types.TimestampTZ},
	pg_query.SQLValueFunctionOp_SVFOP_CURRENT_TIMESTAMP_N: {"current_timestamp", types.TimestampTZ},
	pg_query.SQLValueFunctionOp_SVFOP_LOCALTIME:           {"localtime", types.Time},
	pg_query.SQLValueFunctionOp_SVFOP_LOCALTIME_N:         {"localtime", types.Time},
	pg_query.SQLValueFunctionOp_SVFOP_LOCALTIMESTAMP:      {"localtimestamp", types.Timestamp},
	pg_query.SQLValueFunctionOp_SVFOP_LOCALTIMESTAMP_N:    {"localtimestamp", types.Timestamp},
	pg_query.SQLValueFunctionOp_SVFOP_CURRENT_ROLE:        {"current_role", types.Name},
	pg_query.SQLValueFunctionOp_SVFOP_CURRENT_USER:        {"current_user", types.Name},
	pg_query.SQLValueFunctionOp_SVFOP_USER:                {"user", types.Name},
	pg_query.SQLValueFunctionOp_SVFOP_SESSION_USER:        {"session_user", types.Name},
	pg_query.SQLValueFunctionOp_SVFOP_CURRENT_CATALOG:     {"current_catalog", types.Name},
	pg_query.SQLValueFunctionOp_SVFOP_CURRENT_SCHEMA:      {"current_schema", types.Name},
}

func (s *scope) sqlValue(f *pg_query.SQLValueFunction) query.Expr {
	v := sqlValues[f.Op]
	typmod := int32(-1)
	if f.Typmod >= 0 && v.typ != types.Name && v.typ != types.Date {
		switch f.Op {
		case pg_query.SQLValueFunctionOp_SVFOP_CURRENT_TIME_N, pg_query.SQLValueFunctionOp_SVFOP_CURRENT_TIMESTAMP_N,
			pg_query.SQLValueFunctionOp_SVFOP_LOCALTIME_N, pg_query.SQLValueFunctionOp_SVFOP_LOCALTIMESTAMP_N:
			typmod = min(f.Typmod, 6)
		}
	}
	return &query.SQLValue{T: query.T{OID: v.typ, Mod: typmod}, Name: v.name}
}

// collations are the accepted collations. All compare by bytes.
var collations = map[string]bool{"default": true, "C": true, "POSIX": true, "C.UTF-8": true, "C.utf8": true,
	"ucs_basic": true}

// collate accepts collations that compare as the server does anyway.
func (s *scope) collate(c *pg_query.CollateClause) (query.Expr, error) {
	e, err := s.expr(c.Arg)
	if err != nil {
		return nil, err
	}
	t := e.Type()
	if t == types.Unknown {
		if e, err = s.coerce(e, types.Text, -1, implicit, c.Location); err != nil {
			return nil, err
		}
	} else if category(t) != categoryString && !isCollatable(t) {
		return nil, s.errorf(c.Location, pgerr.DatatypeMismatch, "collations are not supported by type %s",
			s.ctx.name(t))
	}
	name := nodeStrings(c.Collname)
	switch last := name[len(name)-1]; {
	case collations[last] && s.ctx.Form:
		return &query.Written{Arg: e, Kind: query.WrittenCollate, Name: collationName(name)}, nil
	case collations[last]:
		return e, nil
	case strings.HasSuffix(last, "-x-icu"):
		return nil, s.unsupported(c.Location, "collation %q is not supported", strings.Join(name, ".")).
			WithHint(`Text compares by bytes here; COLLATE "C" says the same.`)
	}
	return nil, s.errorf(c.Location, pgerr.UndefinedObject, `collation "%s" for encoding "UTF8" does not exist`,
		strings.Join(name, "."))
}
