// Package sampling reads samples of tables and computes their statistics: the work of ANALYZE.
//
// Rows are read in the fragments, where values are cut that are too wide to be of use, and only the
// sample is sent. A table of at most a sample's rows is read as a whole, so its statistics are exact.
// Of a larger table that is placed by the hash of its keys, some runs of neighbouring buckets are
// read, one at a random place in each of equal parts of all buckets; since ids are hashed, their rows
// are close to a random sample. Of a table that is placed by its contents or by key ranges, in whose
// buckets rows are alike, all rows are read, and those are sent whose key has a hash below a limit.
//
// The caller has locked the table against changes of its definition.
package sampling
