package sysview

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"
)

// isOperation tells whether an expression is of those that PostgreSQL prints in parentheses unless pretty: an operator, AND, OR, NOT, IS.
func isOperation(text string) bool {
	tree, err := pg_query.Parse("SELECT " + text)
	if err != nil || len(tree.Stmts) != 1 {
		return false
	}
	targets := tree.Stmts[0].GetStmt().GetSelectStmt().GetTargetList()
	if len(targets) != 1 || len(text) > 0 && text[0] == '(' {
		return false
	}
	switch targets[0].GetResTarget().GetVal().GetNode().(type) {
	case *pg_query.Node_AExpr, *pg_query.Node_BoolExpr, *pg_query.Node_NullTest, *pg_query.Node_BooleanTest:
		return true
	}
	return false
}

// ExpressionText prints a stored expression, as pg_get_expr does.
func ExpressionText(text string, pretty bool) string { return expressionText(text, pretty) }
