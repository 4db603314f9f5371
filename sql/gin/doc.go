// Package gin computes the terms of GIN indexes. A row has an entry for each term of its indexed
// values, and a search is a condition over terms that every row meets which meets the condition of
// the query. Rows that a search finds are tested again, so terms may collide.
//
// A term is a hash of 64 bits of the position of the column in the index and of:
//
//	array_ops       an element as types.AppendKey encodes it, the null element, the empty array
//	jsonb_ops       a key, a string, a number, a boolean or null, wherever it is in the document;
//	                string elements of arrays count as keys, as ? finds them
//	jsonb_path_ops  a scalar value with the keys that lead to it
//
// Numbers that are equal have the same term. What is extracted of documents and of queries follows
// PostgreSQL 15 (jsonb_gin.c, ginarrayproc.c).
//
// # Invariants
//
//   - G1: terms are stored, so the terms of a value never change. A golden file has some of each
//     class (V1).
//   - G2: if a value meets a condition, its terms meet the search of the condition.
//
// The package is pure.
package gin
