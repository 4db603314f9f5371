// Package explain is EXPLAIN: the plan of a statement, with the fragments and buckets that each step
// reaches and, with ANALYZE, what each fragment did.
//
// Package outline describes the plan and prints the description. This package reads the options, and
// adds what is known only in a transaction: the bucket map, the part of the data that the session
// reads, and what a run has measured.
package explain
