// Package autoanalyze analyzes tables in the background when many of their rows have changed: the
// autoanalyze of PostgreSQL's autovacuum, with its parameters and its storage parameters of tables.
//
// Schedule wakes every autovacuum_naptime at the node that leads the catalog. It asks the fragments
// how many rows of each table have been written since the last analysis (package tablestats), and has
// the tables analyzed for which these are more than
//
//	autovacuum_analyze_threshold + autovacuum_analyze_scale_factor × rows at the last analysis
//
// Worker analyzes one table, with the code of ANALYZE (package sampling), in a transaction.
//
//	AA1  One table is analyzed at a time in the cluster, as long as one node leads the catalog.
//	AA2  Clients wait for an analysis for a second at most. It begins only if its lock is free, and
//	     ends when another transaction waits for the lock.
//	AA3  What fails is tried again at the next wake: a database with a fragment that does not answer,
//	     a table whose lock is taken, a transaction that meets a conflict.
package autoanalyze
