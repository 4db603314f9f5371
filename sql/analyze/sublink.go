package analyze

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// subquery analyzes a SELECT inside an expression.
func (s *scope) subquery(n *pg_query.Node, loc int32) (*query.Query, error) {
	switch s.place {
	case inCheck:
		return nil, s.errorf(loc, pgerr.FeatureNotSupported, "cannot use subquery in check constraint")
	case inDefault, inParameterDefault:
		return nil, s.errorf(loc, pgerr.FeatureNotSupported, "cannot use subquery in DEFAULT expression")
	case inGenerated:
		return nil, s.errorf(loc, pgerr.FeatureNotSupported, "cannot use subquery in column generation expression")
	case inIndexKey:
		return nil, s.errorf(loc, pgerr.FeatureNotSupported, "cannot use subquery in index expression")
	case inIndexPredicate:
		return nil, s.errorf(loc, pgerr.FeatureNotSupported, "cannot use subquery in index predicate")
	case inStatistics:
		return nil, s.errorf(loc, pgerr.FeatureNotSupported, "cannot use subquery in statistics expression")
	case inTriggerWhen:
		return nil, s.errorf(loc, pgerr.FeatureNotSupported, "cannot use subquery in trigger WHEN condition")
	case inCopyWhere:
		return nil, s.errorf(loc, pgerr.FeatureNotSupported, "cannot use subquery in COPY FROM WHERE condition")
	case inTransform:
		return nil, s.errorf(loc, pgerr.FeatureNotSupported, "cannot use subquery in transform expression")
	}
	inner := s.child()
	if err := inner.selectNode(n, true); err != nil {
		return nil, err
	}
	if inner.q.Command != query.Select {
		return nil, s.errorf(loc, pgerr.SyntaxError, "unexpected non-SELECT command in SubLink")
	}
	return inner.q, nil
}

// visible returns the output columns of a query.
func visible(q *query.Query) []query.Target {
	n := len(q.Targets)
	for n > 0 && q.Targets[n-1].Hidden {
		n--
	}
	return q.Targets[:n]
}

// subLink is a subquery expression (transformSubLink).
func (s *scope) subLink(l *pg_query.SubLink) (query.Expr, error) {
	q, err := s.subquery(l.Subselect, l.Location)
	if err != nil {
		return nil, err
	}
	columns := visible(q)
	switch l.SubLinkType {
	case pg_query.SubLinkType_EXISTS_SUBLINK:
		return &query.SubLink{T: query.Of(types.Bool), Kind: query.SubExists, Query: q}, nil
	case pg_query.SubLinkType_EXPR_SUBLINK:
		if len(columns) != 1 {
			return nil, s.errorf(l.Location, pgerr.SyntaxError, "subquery must return only one column")
		}
		e := columns[0].Expr
		return &query.SubLink{T: query.T{OID: e.Type(), Mod: e.Typmod()}, Kind: query.SubScalar, Query: q}, nil
	case pg_query.SubLinkType_ARRAY_SUBLINK:
		if len(columns) != 1 {
			return nil, s.errorf(l.Location, pgerr.SyntaxError, "subquery must return only one column")
		}
		e := columns[0].Expr
		t := arrayTypeOf(e.Type())
		if t == 0 {
			return nil, s.errorf(l.Location, pgerr.UndefinedObject, "could not find array type for data type %s",
				s.ctx.name(e.Type()))
		}
		return &query.SubLink{T: query.T{OID: t, Mod: e.Typmod()}, Kind: query.SubArray, Query: q}, nil
	}
	name := nodeStrings(l.OperName)
	if len(name) == 0 {
		name = []string{"="}
	}
	kind := query.SubAny
	if l.SubLinkType == pg_query.SubLinkType_ALL_SUBLINK {
		kind = query.SubAll
	}
	return s.testSubLink(kind, name, l.Testexpr, q, l.Location)
}

// rowSubLink is ROW(…) op (SELECT …).
func (s *scope) rowSubLink(name []string, test *pg_query.Node, l *pg_query.SubLink, loc int32) (query.Expr, error) {
	q, err := s.subquery(l.Subselect, l.Location)
	if err != nil {
		return nil, err
	}
	return s.testSubLink(query.SubRow, name, test, q, loc)
}

func (s *scope) testSubLink(kind query.SubLinkKind, name []string, test *pg_query.Node, q *query.Query,
	loc int32) (query.Expr, error) {
	nodes := []*pg_query.Node{test}
	if r := test.GetRowExpr(); r != nil {
		nodes = r.Args
	}
	items, err := s.items(nodes)
	if err != nil {
		return nil, err
	}
	left := exprsOf(items)
	columns := visible(q)
	if len(left) < len(columns) {
		return nil, s.errorf(loc, pgerr.SyntaxError, "subquery has too many columns")
	}
	if len(left) > len(columns) {
		return nil, s.errorf(loc, pgerr.SyntaxError, "subquery has too few columns")
	}
	right := make([]query.Expr, len(columns))
	for i, c := range columns {
		right[i] = &query.SubColumn{T: query.T{OID: c.Expr.Type(), Mod: c.Expr.Typmod()}, N: i}
	}
	compare, err := s.rowOp(name, left, right, loc)
	if err != nil {
		return nil, err
	}
	return &query.SubLink{
		T: query.Of(types.Bool), Kind: kind, Query: q, Test: compare, Op: name[len(name)-1],
		Left: coercedLeft(compare, left),
	}, nil
}

// coercedLeft returns the left operands as the comparison has coerced them.
func coercedLeft(test query.Expr, left []query.Expr) []query.Expr {
	var out []query.Expr
	switch t := test.(type) {
	case *query.Call:
		return []query.Expr{t.Args[0]}
	case *query.And:
		for _, a := range t.Args {
			out = append(out, a.(*query.Call).Args[0])
		}
	case *query.Or:
		for _, a := range t.Args {
			out = append(out, a.(*query.Call).Args[0])
		}
	case *query.RowCompare:
		out = t.Left
	}
	if len(out) != len(left) {
		return left
	}
	return out
}

// sortable refuses types without an order.
func (s *scope) sortable(t types.OID, loc int32, what string) error {
	if hasOrder(s.ctx, t) {
		return nil
	}
	e := s.errorf(loc, pgerr.UndefinedFunction, "could not identify an %s operator for type %s", what, s.ctx.name(t))
	if what == "ordering" {
		return e.WithHint("Use an explicit ordering operator or modify the query.")
	}
	return e
}

// hasOrder reports whether values of a type can be compared: those of composite types if their
// attributes can.
func hasOrder(ctx *Context, t types.OID) bool {
	if pgcatalog.SortOpsOf(t) == nil {
		return false
	}
	if e := elementOf(t); e != 0 {
		t = e
	}
	for _, c := range columnsOfType(ctx, t) {
		if !hasOrder(ctx, c.Type) {
			return false
		}
	}
	return true
}
