// Package txblock is the transaction block of a client's session: which transaction is open, and
// what BEGIN, COMMIT, ROLLBACK, SAVEPOINT, SET TRANSACTION, SET CONSTRAINTS, NOTIFY,
// LISTEN, PREPARE TRANSACTION and COMMIT PREPARED do with it.
//
// A block is idle, in an implicit transaction, in an explicit one, or in one that has failed and
// waits for its ROLLBACK. A transaction is implicit around one statement, around the statements of
// one query string, and around the messages of a pipeline before Sync. BEGIN makes an implicit
// transaction explicit, with what it has done so far.
//
// A [Transaction] adds to tx.Tx what waits for the client's commit: deferred constraints,
// notifications, sequences and numbers for ids of tables that it has made. A savepoint keeps them,
// and the settings and cursors; ROLLBACK TO restores them.
//
// The package knows no session. What it uses of one is in its [Environment], by value or as
// functions. It does not run the statements of the transaction, and it does not retry.
package txblock
