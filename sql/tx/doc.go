// Package tx is a SQL transaction without a session: its modes, the timestamps at which it reads, savepoints, the
// locks of tables, what it has changed of the schema, and its end by COMMIT, ROLLBACK or PREPARE TRANSACTION.
//
// A [Tx] belongs to an [Environment]: what the transactions of one session, or of one job of the system, have in
// common. The owner of the environment changes it, transactions only read it. What all transactions of a node share
// is in [Services]. Rows are read and written by package exec, through the Gateway of a Tx.
//
// The package does not know statements, programs, constraints or clients. What depends on these, such as deferred
// checks and notifications at the commit, is the business of the session. It never retries: the caller decides
// whether a statement that met a conflict is run again.
//
// Rules:
//
//   - A transaction reads at timestamps that are not below its environment's Floor. One that is REPEATABLE READ or
//     SERIALIZABLE, and more than a statement, reads at one timestamp; it is pinned in every fragment of the
//     database, also in those to which buckets move meanwhile.
//   - Nothing is read at a snapshot from before the storage of the table or index was known on this node
//     ([Storages]): before that, the storage was another one, or had no entries.
//   - Locks are held to the end of the transaction, or to ROLLBACK TO a savepoint from before they were taken.
//     A lock that is stronger than those of statements that read and write rows is held at all nodes.
//   - An uncommitted change of the schema is seen by the transaction's own statements only. Its definition versions
//     are no versions of the catalog, so that nothing made for it is used elsewhere.
package tx
