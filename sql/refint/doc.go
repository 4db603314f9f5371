// Package refint is referential integrity: what foreign keys ask for, as statements, and how they say no.
//
// A Key is a foreign key with its two tables. From it follow the statements that keep it, as SQL: the look for what a new row refers to, the look
// for rows that refer to a key that goes, the actions on them, and the proof that all rows have what they refer to. Errors are PostgreSQL 15's in
// code, text and detail.
//
// The package is pure: it runs nothing. The session runs the statements after each statement of a client, or at the commit where the check is
// deferred; package ddl and sherd.check() run the proof.
package refint
