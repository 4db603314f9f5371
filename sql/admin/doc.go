// Package admin has the functions of schema sherd that ask or change the cluster.
//
// A function is one row of a table (Function): its signature, description and Go function. Package
// builtin has functions of their arguments and passes the calls of all others in schema sherd to the
// session, which calls them here, with an Environment. The rows of pg_proc follow from the table:
// after a change, run
//
//	go test ./sql/admin -run TestCatalogRows -rewrite
//
// The package knows no session. A function that changes the topology acts at once, independent of
// the transaction that calls it. A function that changes definitions commits with the transaction.
package admin
