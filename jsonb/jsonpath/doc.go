// Package jsonpath is PostgreSQL 15's jsonpath: the language of @?, @@ and the jsonb_path_*
// functions.
//
// Parse makes a Path, which is immutable and safe for concurrent use; parse once and keep it with
// the plan. Exists, Match, Query and First evaluate it on a jsonb.Doc, in lax or strict mode as the
// text says, with variables, errors suppressed or not, and Path.String prints it as jsonpath_out
// does.
//
// The files: scan.go cuts the text into tokens, parse.go builds nodes and checks their kinds,
// print.go prints them; eval.go walks accessors, predicate.go evaluates filters, arith.go computes
// numbers, method.go and datetime.go are the item methods, regex.go and translate.go implement
// like_regex, and layout.go numbers objects as PostgreSQL's .keyvalue() does.
//
// # Invariants
//
//   - JP1: neither a text nor a document makes the process run out of stack: the nesting and the
//     chains of a path are bounded by maxDepth when it is parsed, documents by jsonb.MaxDepth.
//   - JP2: evaluation never writes to the path; one Path serves many sessions.
//   - JP3: in lax mode structural errors yield no items, in predicates every error is "unknown", as
//     SQL/JSON has it.
//
// # Limits
//
// like_regex uses Go's regexp, or regexp2 if the pattern needs look-around or back references. A
// pattern that neither supports is an error (2201B). Datetime templates do not support fields for
// weeks, quarters, weekdays, Julian days, eras and zone names (0A000).
package jsonpath
