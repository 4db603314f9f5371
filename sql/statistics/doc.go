// Package statistics describes the contents of tables for the planner: how many rows a table has,
// and of each column how many values are null, how many differ, which are common, and how the
// others are spread. It computes them from a sample of rows, encodes them, and estimates from them
// which share of the rows meets a condition.
//
// It is pure: no I/O, no clock, no catalog. The measures and the estimates are those that
// PostgreSQL documents for pg_stats and in its chapter on row estimation, so that a plan differs
// only where Sherd's costs do.
//
//	ST1  A Table and its Columns never change after they are built or decoded; sessions share them.
//	ST2  An encoded table has at most MaxSize bytes. A damaged encoding returns an error.
//	ST3  An estimate is between 0 and 1, whatever the statistics say; they may be old.
//
// Where nothing is known of a column, estimates are PostgreSQL's defaults.
package statistics
