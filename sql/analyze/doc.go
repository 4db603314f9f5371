// Package analyze turns a parse tree into an analyzed query.Query: names are resolved, overloads
// and types chosen, coercions explicit.
//
// It follows PostgreSQL's parse analysis step by step (parse_expr, parse_func, parse_oper,
// parse_coerce, parse_clause, parse_agg …), with the data of package pgcatalog, so that a statement
// has the same meaning and the same errors, positions included. Constructs that package query
// cannot express, and functions that package builtin does not have, return 0A000.
//
// Analysis reads the catalog through Context and nothing else: no rows, no clock, and no session
// state except what Context has. It does not change the parse tree, which is shared, and its
// results are immutable, so both can be cached.
//
// PostgreSQL creates new variables for the columns of a join. Analysis uses the expression that
// such a column stands for instead, so there is no range table entry of kind RelJoin.
//
// Files: scope.go and names.go resolve names; coerce*.go, common.go and polymorphic.go choose
// types; operator.go and function*.go choose overloads; expr*.go has a function per kind of
// expression; select.go, from.go, group.go, sort.go, setop.go and cte.go analyze clauses; insert.go
// and update.go analyze writes; deparse*.go converts constraints and defaults back to text.
package analyze
