// Package jsonpath is PostgreSQL 15's jsonpath: the language of @?, @@ and the jsonb_path_* functions.
//
// Parse makes a Path, which is immutable and safe for concurrent use; parse once and keep it with the plan. Exists,
// Match, Query and First evaluate it on a jsonb.Doc, in lax or strict mode as the text says, with variables, errors
// suppressed or not, and Path.String prints it as jsonpath_out does.
//
// The way of a path: scan.go cuts the text into tokens, parse.go builds nodes and checks their kinds, print.go writes them
// back; eval.go walks accessors, predicate.go decides filters, arith.go computes numbers, method.go and datetime.go are
// the item methods, regex.go translates like_regex.
//
// # Invariants
//
//   - P1: neither a text nor a document makes the process run out of stack: the nesting and the chains of a path are bounded
//     by maxDepth when it is parsed, documents by jsonb.MaxDepth.
//   - P2: evaluation never writes to the path; one Path serves many sessions.
//   - P3: in lax mode structural errors give nothing, in predicates every error is "unknown", as SQL/JSON has it.
//
// # Limits
//
// The id that .keyvalue() gives is the position of the object in the value jsonb keeps; it is unique within a document as in
// PostgreSQL, but not the same number, save for the document itself, which has 0.
// like_regex runs on Go's regexp, or on regexp2 where the pattern needs look-around or back references; patterns that
// neither understands give 2201B.
package jsonpath
