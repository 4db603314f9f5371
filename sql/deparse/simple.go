package deparse

import (
	"strings"

	"github.com/sherddb/sherd/sql/query"
)

// simple is isSimpleNode: it reports whether an operand of parent needs no parentheses in pretty
// text.
func simple(e, parent query.Expr) bool {
	switch v := e.(type) {
	case *query.Call:
		if v.Op != "" {
			return simpleOperator(v, parent)
		}
		return true
	case *query.Field:
		_, field := parent.(*query.Field)
		return !field
	case *query.Relabel:
		return simple(v.Arg, v)
	case *query.CoerceIO:
		return simple(v.Arg, v)
	case *query.CoerceToDomain:
		return simple(v.Arg, v)
	case *query.RowCoerce:
		return simple(v.Arg, v)
	case *query.Element:
		return true
	case *query.ArrayCoerce:
		return simple(v.Arg, v)
	case *query.SubLink, *query.NullTest, *query.BoolTest, *query.Distinct:
		return separates(parent) || isLogic(parent)
	case *query.And, *query.Not:
		switch parent.(type) {
		case *query.And, *query.Or:
			return true
		}
		return separates(parent)
	case *query.Or:
		_, or := parent.(*query.Or)
		return or || separates(parent)
	case *query.ArrayOp, *query.RowCompare:
		return false
	}
	return true
}

func isLogic(e query.Expr) bool {
	switch e.(type) {
	case *query.And, *query.Or, *query.Not:
		return true
	}
	return false
}

// separates reports whether the syntax of e separates its operands: by parentheses, commas,
// brackets or keywords.
func separates(e query.Expr) bool {
	switch v := e.(type) {
	case *query.Call:
		return v.Op == "" && v.Cast == 0
	case *query.Subscript, *query.Array, *query.Row, *query.Coalesce, *query.MinMax, *query.NullIf, *query.Agg,
		*query.Grouping, *query.WindowCall, *query.Case:
		return true
	}
	return false
}

// simpleOperator is simple for the operators whose precedence ruleutils.c relies on.
func simpleOperator(c *query.Call, parent query.Expr) bool {
	p, ok := parent.(*query.Call)
	if !ok || p.Op == "" {
		return separates(parent) || isLogic(parent)
	}
	const low, high = "+-", "*/%"
	if len(c.Op) != 1 || len(p.Op) != 1 || len(c.Args) != 2 || len(p.Args) != 2 {
		return false
	}
	cLow, cHigh := strings.Contains(low, c.Op), strings.Contains(high, c.Op)
	pLow, pHigh := strings.Contains(low, p.Op), strings.Contains(high, p.Op)
	switch {
	case cHigh && pLow:
		return true
	case cLow && pLow, cHigh && pHigh:
		return p.Args[0] == query.Expr(c)
	}
	return false
}
