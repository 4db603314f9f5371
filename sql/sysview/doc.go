// Package sysview returns the rows of the system catalogs, pg_catalog, information_schema and
// sherd, and the names and definitions of catalog objects as PostgreSQL 15 prints them.
//
// Rows of PostgreSQL's own objects come from package pgcatalog and are decoded once per process;
// rows of user objects come from a catalog.View. Everything that only the session or the cluster
// knows comes from Env. The package reads no clock, takes no lock and contacts no fragment by
// itself.
//
// Some objects have no OID in the catalog. Their OIDs are computed. Up to 2^28 objects, computed
// OIDs are above all allocated ones and below 2^31, because some clients read an OID as a signed
// number; only OIDs of column defaults exceed that bound, after 671,088 objects:
//
//	row type of a table        1<<28 | OID of the table
//	its array type             1<<29 | OID of the table
//	a column's default         1<<30 | OID of the table · 1600 + column
//	the sharding constraint    1<<30 | OID of the table · 1600
//
// The schema sherd, its views and functions are members of a built-in extension, so that pg_dump
// leaves them out.
//
// Limits: a relation that is not implemented returns 0A000 (unsupported.go lists them). A relation
// is only empty if it has no rows.
package sysview
