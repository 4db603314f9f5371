// Package session is the conversation with a client: the messages of the protocol, and the one
// switch over statements. Node is what the sessions of a node share.
//
// A statement comes from pgwire as text. It is parsed (parse), analysed against the catalog's view
// (analyze), planned (plan), compiled and run (exec). Programs are cached by text and reused until
// a definition changes. A statement that is not a query is handled in the file named after it. A
// session belongs to one connection and one goroutine; other sessions reach it only through its
// Handle.
//
// # Transactions
//
// READ COMMITTED is the default: each statement reads at its own timestamp, taken from the
// fragments that it may reach (T6). REPEATABLE READ and SERIALIZABLE ask all fragments once, at the
// first statement. If another transaction has changed a row since then, they return 40001 (the
// first updater wins). At SERIALIZABLE the commit also validates what was read (T8). A commit is
// above every timestamp at which its transaction read (T2), and the session's next transaction is
// above that commit: sherd.session_ts shows the timestamp.
//
// If a statement meets 40001 before it has returned a row, the session undoes it to its beginning
// and runs it again above the conflict. It keeps its row locks, so that it gets further each time.
// This happens at READ COMMITTED, and at any level if the statement is a transaction by itself. If
// the commit of such a transaction meets the conflict, the session runs the statement again too, as
// long as the client has seen no part of its answer. A client that uses Parse and Execute without
// an immediate Sync has seen the command's tag by then.
//
// The session holds the rows of a locking statement until all are locked, up to 4 MiB, so that it
// can run the statement again. It does not do so for cursors and for portals with a row limit.
// Notices wait with the rows. Definitions, EXPLAIN ANALYZE, EXECUTE and COPY FROM are run again in
// the same way, by either protocol: the session keeps up to 1 GiB of what the client of a COPY
// sends. statement_timeout bounds all runs of a statement together, from its arrival to the start
// of its commit.
//
// Package tx is the transaction itself: its timestamps, locks, savepoints and uncommitted schema.
// Package txblock is what a client sees of it: BEGIN, COMMIT and savepoints, with the actions that
// wait for the commit. An error undoes what was done since the innermost savepoint. Then the
// transaction waits for ROLLBACK TO or its end (25P02).
//
// # Locks
//
// A statement locks its tables before it checks that its program was made from the current
// definitions. The transaction holds the locks to its end (package locks): ACCESS SHARE to read,
// ROW SHARE for FOR UPDATE and the other row locks, ROW EXCLUSIVE to write, and the mode of a LOCK
// TABLE. Advisory locks belong to the database; those of a session outlive its transactions.
// Storage has the row locks. One txn.Detector sees all waits, so that a cycle over any kinds of
// lock is 40P01. A prepared transaction keeps its table locks, also after a restart (package tx);
// its advisory locks do not survive a restart.
//
// # Sequences
//
// A session has a sequence.Session, and a transaction has the sequences that it has made (package
// sequence).
//
// # What sessions report to each other
//
// Each session reports what it does (activity), for pg_stat_activity, sherd.txns and sherd.locks.
// Only superusers and sessions of the same role see the text of a statement. pg_cancel_backend,
// pg_terminate_backend and DROP DATABASE … WITH (FORCE) reach a session through its Handle, which
// pgwire passes to NewSession. Counters of pg_stat_database count since the start of each node's
// process.
//
// LISTEN, UNLISTEN and NOTIFY take effect when their transaction commits (package notify). The
// connection sends notifications when it is idle.
//
// # Cursors
//
// A cursor reads at the timestamp of its DECLARE, and only as far as it is fetched. A cursor that
// may go backward keeps the rows that it has met in memory, within the memory of a query (four
// times work_mem, and at least 256 MiB). A SCROLL cursor that meets more rows fails with 53200. A cursor declared with neither
// SCROLL nor NO SCROLL can only go forward from there on. The transaction may go on writing while
// the cursor is open; the cursor does not see these writes. COMMIT reads what cursors WITH HOLD
// have not returned yet, within the same bound. A cursor FOR UPDATE locks rows as they are fetched.
// Rows of a cursor have hidden columns with the primary keys that WHERE CURRENT OF uses. ROLLBACK
// TO closes the cursors that were opened since the savepoint.
//
// # The past
//
// sherd.as_of and SET TRANSACTION SNAPSHOT 'as of …' fix the timestamp of a transaction's reads in
// the past, and make the transaction read only. Times have a precision of one millisecond, and
// include all commits of that millisecond. Definitions are the current ones. The session refuses to
// read storage that this node saw created later, by TRUNCATE, a rewrite, a new index or its own
// restart (72000; 40001 for the snapshot of a transaction). Snapshots of cursors, exported
// snapshots, and snapshots of transactions that read at one timestamp are pinned in all fragments
// until the transaction ends, whatever sherd.gc_ttl says.
package session
