// Package portal keeps what a client has prepared and opened: prepared statements (Statements),
// and portals and cursors (Portals), each under its name. Package sql has the protocol and the
// switch over statements; it compiles and runs programs for this package (Environment), and
// reports the ends of transactions and savepoints.
//
// A Portal is a statement with its arguments. A query is run to its end at once, or returns its
// rows in parts: then it is a coroutine that stops after each row. A statement that writes never
// stops half-way: it runs to its end, and its rows of RETURNING are kept. A cursor is a portal
// that DECLARE made. A portal that FETCH has read has a position, and may keep rows to go
// backward.
//
// A portal shows what its Opening says, whatever its transaction writes later. It ends with the
// transaction or savepoint that opened it. A cursor WITH HOLD outlives COMMIT: the rows that it
// has not returned yet are kept then. What is kept goes to a file beyond work_mem (package spool).
package portal
