// Package integration tests Sherd from outside. It builds the command, starts real processes on
// free ports and temporary directories, stops and kills them, and uses them as users do: with psql,
// pgx, psycopg and the command line.
//
// It never imports a package of the server. PostgreSQL 15's results are in golden files, so the
// tests need no PostgreSQL; integration/compare runs the statements on PostgreSQL again.
//
//	TestQueries   queries over 63,666 Debian packages, testdata/queries
//	TestScripts   everyday statements with rows, tags and errors, testdata/sql; known differences
//	              are listed there, and a listed difference that disappears fails the test
//	TestKill      writers, and SIGKILL at random moments, also during recovery
//	              (SHERD_KILL_ROUNDS=50 for the long form)
//	TestHistories random transactions under SIGKILL, checked by package history; SHERD_HISTORY
//	              sets the time (make history)
//
// The command is built from this tree, or is the one that SHERD_BINARY names.
//
// The golden tests run against Sherd, or against the server that SHERD_COMPARE_URL names; -rewrite
// then rewrites the golden files.
package integration
