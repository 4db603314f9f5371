// Package parse turns SQL text into PostgreSQL's own parse trees (pg_query, the grammar of
// PostgreSQL 17).
//
// The parser is C and recurses: a text that nests deeply enough overflows its stack, which no
// recover catches. So every text above FreeText bytes is first measured by a linear scan
// (depth.go), and one that could nest deeper than MaxDepth answers 54001 without reaching the
// parser. The scan knows quotes and comments but no grammar; it errs on the side of refusing. What
// is left, chains in short texts, ends in the parser's own limits (its stack of 10,000 symbols, the
// decoder's 10,000 nested messages), which answer 54001 too.
//
// Trees are immutable once made and shared through the Cache: callers must not write to them. The
// package knows nothing of catalogs, and positions in its errors count characters from 1, as the
// protocol has them.
package parse
