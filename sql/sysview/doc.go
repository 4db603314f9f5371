// Package sysview gives the rows of the system catalogs: pg_catalog, information_schema and sherd, and the names and definitions of
// catalog objects as PostgreSQL 15 prints them.
//
// Rows of PostgreSQL's own objects come from package pgcatalog, decoded once per process; rows of what users made come from a catalog.View.
// Everything that only the session or the cluster knows comes through Env. The package reads no clock, takes no lock and reaches no fragment
// by itself.
//
// Some objects have no number in the catalog. Their OIDs are computed, beyond those that are allotted to 2^28 objects, and below 2^31, since some clients
// read an OID as a signed number; only those of columns' defaults pass that bound, after 671,088 objects:
//
//	row type of a table        1<<28 | OID of the table
//	its array type             1<<29 | OID of the table
//	a column's default         1<<30 | OID of the table · 1600 + column
//	the sharding constraint    1<<30 | OID of the table · 1600
//
// The schema sherd, its views and functions are members of a built-in extension, so that pg_dump leaves them out.
//
// Limits: a relation that is not implemented answers 0A000 (unsupported.go lists them); it is never empty unless it truly is.
package sysview
