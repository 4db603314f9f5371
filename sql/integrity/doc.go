// Package integrity maintains foreign keys, deferrable unique constraints and the former ids of
// documents. It runs statements in the transaction of the client's statement.
//
// As PostgreSQL's triggers do, these statements follow the client's statement. While that writes,
// the executor notes the keys that it writes (keychange.Set): new ones of referring tables, old
// ones of referenced tables. Then
//
//   - a new key: its row in the referenced table is locked FOR KEY SHARE; 23503 if there is none.
//   - an old key: NO ACTION and RESTRICT look for rows that refer to it. The other actions delete
//     or change these rows, which notes keys in turn.
//
// A transaction that writes a referring key holds KEY SHARE on the referenced row until it ends,
// and one that deletes or changes that row holds UPDATE. So if two transactions do both at once,
// one of them waits, and then sees what the other has done. The check of new keys reads at the
// transaction's snapshot, with the rules of its level, as if the client had written it. The checks
// and actions for old keys read the newest state at every level, because rows that a snapshot does
// not show refer too. If an action has to change a row that came or changed after the snapshot, the
// error is 40001.
//
// What a SERIALIZABLE transaction reads for its foreign keys is not validated at the commit,
// because the locks keep it true.
//
// Checks of deferred constraints wait for the commit, in a Transaction. Their keys are in memory
// and in a file; their number is not bounded.
package integrity
