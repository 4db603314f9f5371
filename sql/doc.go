// Package sql is the sessions of clients: prepared statements, portals, transactions, settings, and the one switch over statements.
//
// A statement comes from pgwire as text, is parsed (parse), analysed against the catalog's view (analyze), planned (plan), compiled and run
// (exec); programs are cached by text and reused until a definition changes. What is no query goes to the file named after it. A session
// belongs to one connection and one goroutine; only Cancel comes from outside.
//
// Transactions are REPEATABLE READ for now: one timestamp for all reads from the first on, own writes seen, a row changed by somebody else
// since is 40001 (first updater wins). A statement outside of BEGIN that meets such a conflict before it has answered is run again, with
// its row locks kept, so that it cannot starve. Statements of one query string share a snapshot; in a pipeline each has its own, because
// the session cannot know that others follow. Cursors read forward, and keep what they have not given yet before a write.
//
// Definitions belong to their transaction too: draft.go keeps what DDL has changed and nobody else sees; COMMIT applies it with the rows or not at
// all.
//
// Limits, answered by 0A000: savepoints, other isolation levels, scrolling and held cursors.
package sql
