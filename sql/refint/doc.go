// Package refint implements referential integrity: the statements that check and maintain foreign
// keys, and their errors.
//
// A Key is a foreign key with its two tables. It returns the SQL statements that maintain it: the
// lookup of the key that a new row refers to, the lookup of rows that refer to a deleted key, the
// actions on them, and the proof that all rows refer to existing keys. Errors are PostgreSQL 15's
// in code, text and detail.
//
// The package is pure and runs nothing. Package integrity runs the statements after each statement
// of a client, or at the commit if the check is deferred; package ddl and sherd.check() run the proof.
package refint
