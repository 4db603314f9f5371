// Package parse turns SQL text into PostgreSQL's own parse trees (pg_query, the grammar of
// PostgreSQL 17).
//
// The parser is C code and recursive: a text that nests deeply enough overflows its stack, which
// recover cannot catch. Therefore a linear scan (depth.go) measures every text above FreeText
// bytes, and a text that could nest deeper than MaxDepth returns 54001 without reaching the parser.
// The scan knows quotes and comments but no grammar, and refuses a text in case of doubt. Chains in
// short texts reach the parser's own limits (its stack of 10,000 symbols, the decoder's 10,000
// nested messages), which return 54001 too.
//
// Trees are immutable and shared through the Cache: callers must not modify them. The package knows
// nothing about catalogs. Positions in its errors count characters from 1, as in the protocol.
package parse
