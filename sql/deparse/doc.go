// Package deparse writes analyzed expressions and queries as SQL again, as PostgreSQL's ruleutils.c
// does: for pg_get_expr, pg_get_viewdef and EXPLAIN, and for what the catalog stores.
//
// A query must have been analyzed with its form (analyze.Context.Form), because its meaning alone
// does not show, for example, which columns USING has merged.
//
// The stored form of a query (Stored) does not depend on names that may change. It names relations
// by OID, and lists the names that their columns had then:
//
//	SELECT t.a FROM "#"."16400" t(a, b)
//
// The schema "#" is followed by "a" if the text had an alias, and by the number of columns that the
// alias named. Package analyze reads this form.
//
// Files: expr.go, construct.go and simple.go write expressions; query.go, from.go and window.go
// queries; level.go chooses the names of tables and columns.
package deparse
