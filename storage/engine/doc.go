// Package engine is the database of one replica: Badger in managed mode, in which the versions of a
// key are commit timestamps. It has what a state machine needs of it and hides the rest: no other
// package imports Badger.
//
// A Snapshot reads at a timestamp: rows, spans, all versions of a key; Scans opens its cursors, and
// keeps them for further spans. A Batch writes the versions of applied entries. Rows above ChunkSize
// are kept in chunks, so that no value goes to Badger's value log.
//
//   - EN1 A Batch is not atomic, and what it has written is not durable when Flush returns: the log
//     of the replica is the durability (S1, S2). After an unclean stop Open deletes what is in no
//     table, and tables are written in the order of the writes.
//   - EN2 Badger writes through memory maps, and a page that finds no room on the disk ends the
//     process, at each start again. So each batch passes a gate (gate.go) that waits for room,
//     merges of tables begin only if there is room for them (merges.go), and Room refuses writes of
//     clients long before.
//   - EN3 A version below the discard timestamp may disappear, a newer one never (discard.go).
//
// While nothing is written, few tables of level 0 are merged already (quiet.go).
//
// The package knows the layout of keys (package keyspace) and nothing of transactions, locks or the
// log. VerifyTables looks at the tables of a database that is not open.
package engine
