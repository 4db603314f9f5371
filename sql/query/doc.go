// Package query is the analysed statement: names resolved, types decided, coercions explicit.
//
// analyze makes it from the parse tree, plan turns it into steps, exec compiles its expressions. It
// holds data only: no lookups, no evaluation. The shapes follow PostgreSQL's parsenodes and
// primnodes, which PostgreSQL developers know.
//
// Everything is immutable once analyze has returned it: plans are cached and shared between
// sessions.
package query
