// Package operator compiles and runs the operators that know only rows: filters, projections, joins,
// aggregates, window functions, sorts, set operations, common table expressions and subqueries.
//
// Operators push: Run calls emit for each row, without a queue in between. The rows come from
// operators that package exec compiles: those read tables, reach fragments, or write.
//
// An operator keeps its scratch space in itself and allocates nothing per row of its own (exec.E2).
// A row that it keeps is copied into an arena (exec.E1), which counts in the query's memory
// (exec.E5). If the operator's share of that is full, a sort writes sorted runs and merges them
// (sorter.go). A hash table takes no more keys then: the rows of other keys are divided by the hash
// of their key, in files, and processed one partition at a time (partition.go). Rows that are read
// again in their order go to a file from the first one that does not fit (rowlist.go).
package operator
