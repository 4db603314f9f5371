// Package analyze turns a parse tree into an analysed query.Query: names resolved, overloads chosen, types decided, coercions explicit.
//
// It follows PostgreSQL's parse analysis step by step (parse_expr, parse_func, parse_oper, parse_coerce, parse_clause, parse_agg …), with
// the data of package pgcatalog, so that the same statement means the same thing and errors read the same, positions included. What the
// tree of package query cannot express, and functions that package builtin does not have, answer 0A000.
//
// Analysis reads the catalog through Context and nothing else: no rows, no clock, no session state beside what Context carries. It never
// changes a parse tree, which is shared, and whatever it returns is immutable, so both can be cached.
//
// Where the original makes a join's columns anew, analysis puts the expression that a column stands for in its place: no range table
// entry of kind RelJoin is made.
//
// Files: scope.go and names.go say what a name means at a place; coerce*.go, common.go and polymorphic.go decide on types; operator.go and
// function*.go choose overloads; expr*.go has a function per kind of expression; select.go, from.go, group.go, sort.go, setop.go, cte.go the
// clauses; insert.go, update.go the writes; deparse*.go the way back to text for constraints and defaults.
package analyze
