// Package pgcatalog has PostgreSQL 15's system catalogs as data: types, functions, operators,
// casts, aggregates, the columns of every system view, and Sherd's own additions in the schema
// sherd.
//
// The data was dumped from a running PostgreSQL by internal/dump (go generate) and is embedded as
// gzipped COPY text. It is loaded on first use, in a few milliseconds, and never changes
// afterwards: every pointer that the package returns is shared and must not be modified. Objects of
// users (tables, types, functions) are in package catalog. The package evaluates nothing.
//
// Sherd's additions are in sherd.go, except that the rows of functions that ask or change the cluster
// are in data/sherd_proc.tsv, which follows from the table of package sql/admin. Their OIDs are 8000 to
// 9999, which PostgreSQL leaves unused in releases.
package pgcatalog

//go:generate go run ./internal/dump -dsn postgres://postgres@127.0.0.1:5432/template1
