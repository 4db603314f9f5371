package analyze

import pg_query "github.com/pganalyze/pg_query_go/v6"

// location returns where the text of a parse node begins (exprLocation): a byte offset, -1 if
// unknown.
func location(n *pg_query.Node) int32 {
	switch v := n.GetNode().(type) {
	case *pg_query.Node_AExpr:
		return leftmost(v.AExpr.Location, location(v.AExpr.Lexpr))
	case *pg_query.Node_FuncCall:
		return leftmost(v.FuncCall.Location, locationOf(v.FuncCall.Args))
	case *pg_query.Node_TypeCast:
		loc := leftmost(v.TypeCast.Location, location(v.TypeCast.Arg))
		if v.TypeCast.TypeName != nil {
			loc = leftmost(loc, v.TypeCast.TypeName.Location)
		}
		return loc
	case *pg_query.Node_AIndirection:
		return location(v.AIndirection.Arg)
	case *pg_query.Node_BoolExpr:
		return leftmost(v.BoolExpr.Location, locationOf(v.BoolExpr.Args))
	case *pg_query.Node_NullTest:
		return leftmost(v.NullTest.Location, location(v.NullTest.Arg))
	case *pg_query.Node_BooleanTest:
		return leftmost(v.BooleanTest.Location, location(v.BooleanTest.Arg))
	case *pg_query.Node_SubLink:
		if v.SubLink.Testexpr != nil {
			return leftmost(v.SubLink.Location, location(v.SubLink.Testexpr))
		}
		return v.SubLink.Location
	case *pg_query.Node_CollateClause:
		return location(v.CollateClause.Arg)
	case *pg_query.Node_NamedArgExpr:
		return leftmost(v.NamedArgExpr.Location, location(v.NamedArgExpr.Arg))
	case *pg_query.Node_List:
		return locationOf(v.List.Items)
	}
	return ownLocation(n)
}

func ownLocation(n *pg_query.Node) int32 {
	switch v := n.GetNode().(type) {
	case *pg_query.Node_AConst:
		return v.AConst.Location
	case *pg_query.Node_ColumnRef:
		return v.ColumnRef.Location
	case *pg_query.Node_ParamRef:
		return v.ParamRef.Location
	case *pg_query.Node_CaseExpr:
		return v.CaseExpr.Location
	case *pg_query.Node_CoalesceExpr:
		return v.CoalesceExpr.Location
	case *pg_query.Node_MinMaxExpr:
		return v.MinMaxExpr.Location
	case *pg_query.Node_RowExpr:
		return v.RowExpr.Location
	case *pg_query.Node_AArrayExpr:
		return v.AArrayExpr.Location
	case *pg_query.Node_SqlvalueFunction:
		return v.SqlvalueFunction.Location
	case *pg_query.Node_GroupingFunc:
		return v.GroupingFunc.Location
	case *pg_query.Node_SetToDefault:
		return v.SetToDefault.Location
	case *pg_query.Node_ResTarget:
		return v.ResTarget.Location
	case *pg_query.Node_RangeVar:
		return v.RangeVar.Location
	case *pg_query.Node_TypeName:
		return v.TypeName.Location
	case *pg_query.Node_GroupingSet:
		return v.GroupingSet.Location
	case *pg_query.Node_SortBy:
		return location(v.SortBy.Node)
	case *pg_query.Node_XmlExpr:
		return v.XmlExpr.Location
	case *pg_query.Node_MultiAssignRef:
		return location(v.MultiAssignRef.Source)
	}
	return -1
}

func leftmost(a, b int32) int32 {
	if a < 0 {
		return b
	}
	if b < 0 {
		return a
	}
	return min(a, b)
}

// locationOf returns the first known location of a list.
func locationOf(nodes []*pg_query.Node) int32 {
	for _, n := range nodes {
		if loc := location(n); loc >= 0 {
			return loc
		}
	}
	return -1
}
