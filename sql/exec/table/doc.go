// Package table has the stored form of a table's rows and index entries: their keys and values, the
// bucket of a row, and the rules that a new row must meet.
//
// A Table is the part of a definition that this needs. A Rule adds the constraints and the
// secondary indexes, compiled for one instance of a plan. RowCheck, IndexCheck and Placement
// compare stored rows with a definition. A Deriver computes the entries of rows that a move copies.
//
// The package neither reads nor writes: callers pass what is stored, and get what has to be stored.
// Entries of a local index name the generation of their bucket (exec.E9).
package table
