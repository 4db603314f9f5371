// Package sql is the sessions of clients: prepared statements, portals, transactions, settings, and the one switch over statements.
//
// A statement comes from pgwire as text, is parsed (parse), analysed against the catalog's view (analyze), planned (plan), compiled and run
// (exec); programs are cached by text and reused until a definition changes. What is no query goes to the file named after it. A session
// belongs to one connection and one goroutine; others reach it through its Handle alone.
//
// # Transactions
//
// A transaction is explicit between BEGIN and COMMIT, or implicit: around one statement, around the statements of one query string, around
// what a pipeline sends before Sync. BEGIN makes an implicit one explicit, with what it has done so far.
//
// READ COMMITTED is the default: each statement reads at a timestamp of its own, taken from the fragments that it may reach (T6). REPEATABLE
// READ and SERIALIZABLE ask all fragments once, at the first statement; a row changed since by somebody else is 40001 (the first updater
// wins), and at SERIALIZABLE the commit validates what was read (T8). A commit is above every timestamp that its transaction read at (T2), and
// the session's next one above that: sherd.session_ts shows it.
//
// A statement that meets 40001 before it has answered a row is undone to its own beginning and run again above what was in its way, with its
// row locks kept, so that it gets further each time: at READ COMMITTED, and at any level where it is a transaction of its own. Where the
// commit of such a transaction meets the conflict, the statement is run again too, as long as the client has seen nothing of it. A client
// that uses Parse and Execute has seen the command's tag by then. The rows of a statement that locks them are held until it has locked all, up
// to 4 MiB, so that it can be run again so long; not those of cursors and of portals with a row limit. Notices wait with
// them, and definitions, EXPLAIN ANALYZE, EXECUTE and COPY FROM are run again likewise, by either protocol: what the client of a COPY sends is kept, up to 1 GiB.
// statement_timeout is for all runs of a statement together, from its arrival to the beginning of its commit.
//
// The transaction itself is package tx: its timestamps, locks, savepoints and uncommitted schema. Here is what a client adds to it: what waits
// for the commit (transaction.go), and settings and cursors that a savepoint brings back. An error undoes what was done since the innermost one, and the transaction waits for ROLLBACK TO or its end (25P02).
//
// # Locks
//
// A statement takes the locks of its tables before it makes sure that its program is of the definitions of now, and the transaction holds them
// to its end (package locks): ACCESS SHARE to read, ROW SHARE for FOR UPDATE and its kin, ROW EXCLUSIVE to write, and what LOCK TABLE says.
// Advisory locks are of the database; those of a session outlive its transactions. Row locks are storage's. All waits meet in one
// txn.Detector, so that a circle of any kinds is 40P01. A prepared transaction keeps its table locks, through restarts too: AdoptPrepared knows
// its tables by the rows that it has locked. Its advisory locks do not survive a restart.
//
// # Sequences
//
// A session has a sequence.Session, a transaction the sequences that it has made (package sequence).
//
// # What sessions tell each other
//
// Each says what it does (activity), for pg_stat_activity, sherd.txns and sherd.locks; what others run is told to superusers and to sessions of
// the same role. pg_cancel_backend, pg_terminate_backend and DROP DATABASE … WITH (FORCE) reach a session through its Handle, which pgwire
// gives. Counters of pg_stat_database count since the start of each node's process.
//
// LISTEN, UNLISTEN and NOTIFY happen when their transaction commits (package notify). The connection sends notifications when it is idle.
//
// # Cursors
//
// They read at the timestamp of their DECLARE, as far as they are fetched. One that may go backward keeps in memory what it has met, within
// work_mem (or 256 MiB, if that is more): a SCROLL cursor that meets more is 53200, and one that says neither SCROLL nor NO SCROLL goes forward
// only from there on. Beside a cursor its transaction goes on writing; the cursor does not see it. WITH HOLD, a COMMIT reads what they have not given
// yet, within the same bound. What is fetched FOR UPDATE is locked as it is fetched. Behind what the client sees, rows
// of a cursor have the primary keys that WHERE CURRENT OF goes by. What opened since a savepoint closes when that is rolled back to.
//
// # The past
//
// sherd.as_of and SET TRANSACTION SNAPSHOT 'as of …' fix the timestamp of a transaction's reads in the past, and make it read only. Times are
// to the millisecond, and all commits of theirs count. Definitions are those of now, and storage that this node saw come into being later, by
// TRUNCATE, a rewrite, a new index or its own restart, is not read (72000; 40001 for the snapshot of a transaction). Snapshots that are exported, of cursors, and of
// transactions that read at one timestamp are held in all fragments until the transaction ends, whatever sherd.gc_ttl says.
package sql
