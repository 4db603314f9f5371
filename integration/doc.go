// Package integration tests Sherd from outside: it builds the command, starts real processes on free ports and temporary directories, ends
// and kills them, and speaks to them as users do: psql, pgx, psycopg, the command line.
//
// It never reaches into a package of the server. What PostgreSQL 15 answers is kept in golden files, so that the tests need no PostgreSQL;
// integration/compare asks PostgreSQL again.
//
//	TestQueries   queries over 63,666 Debian packages, testdata/queries
//	TestScripts   everyday statements with rows, tags and errors, testdata/sql; known differences are listed there and turn red when they agree
//	TestKill      writers, and SIGKILL at random moments, also during recovery (SHERD_KILL_ROUNDS=50 for the long form)
//	TestHistories random transactions under SIGKILL, checked by package history; SHERD_HISTORY for how long (make history)
//
// The command is built from this tree, or is the one that SHERD_BINARY names.
//
// The golden tests run against Sherd, or against the server that SHERD_COMPARE_URL names; -rewrite then writes the golden files anew.
package integration
