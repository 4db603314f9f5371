package analyze

import (
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

const maxTargets = 1664

// targets analyzes a SELECT or RETURNING list.
func (s *scope) targets(nodes []*pg_query.Node) error {
	for _, n := range nodes {
		rt := n.GetResTarget()
		expanded, err := s.expandStar(rt.Val)
		if err != nil {
			return err
		}
		if expanded != nil {
			s.q.Targets = append(s.q.Targets, expanded...)
			continue
		}
		e, err := s.expr(rt.Val)
		if err != nil {
			return err
		}
		t := query.Target{Expr: e, Name: rt.Name}
		if t.Name == "" {
			t.Name = columnName(rt.Val)
		}
		t.OriginTable, t.OriginCol = s.origin(rt.Val, e)
		s.q.Targets = append(s.q.Targets, t)
	}
	if len(s.q.Targets) > maxTargets {
		return pgerr.New(pgerr.TooManyColumns, "target lists can have at most %d entries", maxTargets)
	}
	return nil
}

// resolveUnknowns makes output columns of unknown type text.
func (s *scope) resolveUnknowns() error {
	for i, t := range s.q.Targets {
		if t.Expr.Type() != types.Unknown {
			continue
		}
		e, err := s.coerce(t.Expr, types.Text, -1, implicit, -1)
		if err != nil {
			return err
		}
		s.q.Targets[i].Expr = e
	}
	return nil
}

// expandStar returns the columns of *, rel.* and (row).*; nil if n is none of these.
func (s *scope) expandStar(n *pg_query.Node) ([]query.Target, error) {
	if c := n.GetColumnRef(); c != nil {
		if c.Fields[len(c.Fields)-1].GetAStar() == nil {
			return nil, nil
		}
		if len(c.Fields) == 1 {
			return s.expandAll(c.Location)
		}
		names := nodeStrings(c.Fields[:len(c.Fields)-1])
		schema := ""
		if len(names) > 1 {
			schema = names[len(names)-2]
		}
		name := names[len(names)-1]
		it, up, err := s.lookupItem(schema, name, c.Location)
		if err != nil {
			return nil, err
		}
		if it == nil {
			return s.expandColumn(names, schema, name, c)
		}
		return s.columnsOf(it, up), nil
	}
	a := n.GetAIndirection()
	if a == nil || a.Indirection[len(a.Indirection)-1].GetAStar() == nil {
		return nil, nil
	}
	e, err := s.expr(a.Arg)
	if err != nil {
		return nil, err
	}
	if e, err = s.indirect(e, a.Indirection[:len(a.Indirection)-1], location(a.Arg)); err != nil {
		return nil, err
	}
	return s.expandRow(e, location(a.Arg))
}

// expandColumn expands name.* if name is a column of rows.
func (s *scope) expandColumn(names []string, schema, name string, c *pg_query.ColumnRef) ([]query.Target, error) {
	if len(names) == 1 {
		_, e, err := s.lookupColumn(name, c.Location)
		if err != nil {
			return nil, err
		}
		if e != nil && isComposite(e.Type()) {
			return s.expandRow(e, c.Location)
		}
	}
	if s.ctx.Names != nil {
		if v, ok := s.ctx.Names.Find(names); ok {
			e, err := variable(s, v, c.Location)
			if err != nil {
				return nil, err
			}
			return s.expandRow(e, c.Location)
		}
	}
	return nil, s.missingTable(schema, name, c.Location)
}

// expandRow returns the fields of a row value.
func (s *scope) expandRow(e query.Expr, loc int32) ([]query.Target, error) {
	columns, exprs := s.rowColumns(e)
	if columns == nil {
		if !isComposite(e.Type()) {
			return nil, s.errorf(loc, pgerr.WrongObjectType, "type %s is not composite", s.ctx.name(e.Type()))
		}
		return nil, s.errorf(loc, pgerr.UndefinedColumn, "record type has not been registered")
	}
	out := []query.Target{}
	for i, c := range columns {
		if c.Dropped {
			continue
		}
		t := query.Target{Name: c.Name}
		if exprs != nil {
			t.Expr = exprs[i]
		} else {
			t.Expr = &query.Field{T: query.T{OID: c.Type, Mod: c.Typmod}, Arg: e, N: i, Name: c.Name}
		}
		out = append(out, t)
	}
	return out, nil
}

// expandAll is the bare *.
func (s *scope) expandAll(loc int32) ([]query.Target, error) {
	out := []query.Target{}
	found := false
	for _, it := range s.names {
		if !it.colsVisible || it.lateralOnly {
			continue
		}
		found = true
		out = append(out, s.columnsOf(it, 0)...)
	}
	if !found {
		return nil, s.errorf(loc, pgerr.SyntaxError, "SELECT * with no tables specified is not valid")
	}
	return out, nil
}

func (s *scope) columnsOf(it *nameItem, up int) []query.Target {
	out := []query.Target{}
	for _, c := range it.columns {
		if c.name == "" || c.unexpanded {
			continue
		}
		t := query.Target{Name: c.name, Expr: raise(c.expr, up)}
		if v, ok := c.expr.(*query.Var); ok && up == 0 {
			t.OriginTable, t.OriginCol = s.originOf(v)
		}
		out = append(out, t)
	}
	return out
}

// columnName is FigureColname: it returns the name of an output column without AS.
func columnName(n *pg_query.Node) string {
	if name, strength := figureName(n); strength > 0 {
		return name
	}
	return "?column?"
}

// figureName returns a name and its strength: 0 none, 1 a weak guess (a type), 2 a name.
func figureName(n *pg_query.Node) (string, int) {
	switch v := n.GetNode().(type) {
	case *pg_query.Node_ColumnRef:
		return lastName(v.ColumnRef.Fields)
	case *pg_query.Node_AIndirection:
		if name, strength := lastName(v.AIndirection.Indirection); strength > 0 {
			return name, strength
		}
		return figureName(v.AIndirection.Arg)
	case *pg_query.Node_FuncCall:
		return lastName(v.FuncCall.Funcname)
	case *pg_query.Node_AExpr:
		if v.AExpr.Kind == pg_query.A_Expr_Kind_AEXPR_NULLIF {
			return "nullif", 2
		}
	case *pg_query.Node_TypeCast:
		if name, strength := figureName(v.TypeCast.Arg); strength > 1 {
			return name, strength
		}
		if name, strength := lastName(v.TypeCast.TypeName.GetNames()); strength > 0 {
			return name, 1
		}
	case *pg_query.Node_CollateClause:
		return figureName(v.CollateClause.Arg)
	case *pg_query.Node_GroupingFunc:
		return "grouping", 2
	case *pg_query.Node_SubLink:
		return subLinkName(v.SubLink)
	case *pg_query.Node_CaseExpr:
		if name, strength := figureName(v.CaseExpr.Defresult); strength > 1 {
			return name, strength
		}
		return "case", 1
	case *pg_query.Node_AArrayExpr:
		return "array", 2
	case *pg_query.Node_RowExpr:
		return "row", 2
	case *pg_query.Node_CoalesceExpr:
		return "coalesce", 2
	case *pg_query.Node_MinMaxExpr:
		if v.MinMaxExpr.Op == pg_query.MinMaxOp_IS_LEAST {
			return "least", 2
		}
		return "greatest", 2
	case *pg_query.Node_SqlvalueFunction:
		return sqlValues[v.SqlvalueFunction.Op].name, 2
	}
	return "", 0
}

func lastName(nodes []*pg_query.Node) (string, int) {
	names := nodeStrings(nodes)
	if len(names) == 0 {
		return "", 0
	}
	return names[len(names)-1], 2
}

func subLinkName(l *pg_query.SubLink) (string, int) {
	switch l.SubLinkType {
	case pg_query.SubLinkType_EXISTS_SUBLINK:
		return "exists", 2
	case pg_query.SubLinkType_ARRAY_SUBLINK:
		return "array", 2
	case pg_query.SubLinkType_EXPR_SUBLINK:
		sel := l.Subselect.GetSelectStmt()
		for sel.GetLarg() != nil {
			sel = sel.Larg
		}
		if len(sel.GetTargetList()) > 0 {
			rt := sel.TargetList[0].GetResTarget()
			if rt.Name != "" {
				return rt.Name, 2
			}
			return figureName(rt.Val)
		}
		if len(sel.GetValuesLists()) > 0 {
			return "column1", 2
		}
	}
	return "", 0
}

// nodeLabels are the SQL words for expressions and FROM items.
var nodeLabels = map[string]string{
	"JsonFuncExpr":          "JSON_EXISTS, JSON_QUERY or JSON_VALUE",
	"JsonIsPredicate":       "IS JSON",
	"JsonObjectConstructor": "JSON_OBJECT",
	"JsonArrayConstructor":  "JSON_ARRAY", "JsonArrayQueryConstructor": "JSON_ARRAY", "JsonObjectAgg": "JSON_OBJECTAGG",
	"JsonArrayAgg":      "JSON_ARRAYAGG",
	"JsonParseExpr":     "JSON()",
	"JsonScalarExpr":    "JSON_SCALAR",
	"JsonSerializeExpr": "JSON_SERIALIZE",
	"JsonTable":         "JSON_TABLE",
	"RangeTableFunc":    "XMLTABLE",
	"XmlSerialize":      "XMLSERIALIZE",
	"MergeSupportFunc":  "MERGE_ACTION",
}

// nodeHints suggest alternatives to expressions and FROM items that are not supported.
var nodeHints = map[string]string{
	"JsonFuncExpr":              "Use jsonb_path_exists(), jsonb_path_query_first() or jsonb_path_query().",
	"JsonIsPredicate":           "Cast the text to json, which fails if it is not JSON.",
	"JsonObjectConstructor":     "Use json_build_object() or jsonb_build_object().",
	"JsonArrayConstructor":      "Use json_build_array() or jsonb_build_array().",
	"JsonArrayQueryConstructor": "Use json_agg() or jsonb_agg() in a subquery.",
	"JsonObjectAgg":             "Use json_object_agg() or jsonb_object_agg().",
	"JsonArrayAgg":              "Use json_agg() or jsonb_agg().",
	"JsonParseExpr":             "Cast the text to json.",
	"JsonScalarExpr":            "Use to_json() or to_jsonb().",
	"JsonSerializeExpr":         "Cast the value to text.",
	"JsonTable":                 "Use jsonb_to_recordset() or jsonb_path_query().",
	"RangeTableFunc":            "Store documents as jsonb and use jsonb_to_recordset().",
	"XmlSerialize":              xmlHint,
	"XmlExpr":                   xmlHint,
	"MergeSupportFunc":          "Use INSERT … ON CONFLICT with RETURNING.",
	"RangeTableSample":          "Use WHERE random() < 0.01, for one row of a hundred.",
}

const xmlHint = "Store documents as text or jsonb."

// nodeHint returns the hint of the error about an unsupported node.
func nodeHint(kind string) string {
	if h, ok := nodeHints[kind]; ok {
		return h
	}
	return "Write the statement without it."
}

// nodeLabel returns the name of an unsupported node for messages: its name in SQL, or else words of
// the node's name.
func nodeLabel(kind string) string {
	if label, ok := nodeLabels[kind]; ok {
		return label
	}
	var b strings.Builder
	for i, c := range kind {
		if i > 0 && c >= 'A' && c <= 'Z' {
			b.WriteByte(' ')
		}
		b.WriteRune(c)
	}
	return strings.ToUpper(b.String())
}
