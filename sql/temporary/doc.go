// Package temporary keeps the rows of one session's temporary tables, on the node of the session.
//
// Rows is a fragment that only this session has (shardmap.Session): tasks of plans run in it as they
// run in other fragments, in the same transaction, and nothing else does. So there are no locks, no
// timestamps and no conflicts. A Transaction adds it to the session's transaction in the fragments.
//
// Keys are kept in a tree in memory, values in memory up to a size and in a file without a name
// beyond (values.go). A reader reads a copy of the tree, which shares its nodes until they change.
// What a transaction changes is noted, for its savepoints and its rollback; a reader at an earlier
// mark undoes that in its copy.
//
//   - TT1 A View reads what was written before it was opened, or before its mark, and nothing else.
//   - TT2 After UndoTo(m), all keys have the values that they had when Mark returned m.
//   - TT3 A value in the file is not changed while a View is open: values are rewritten between
//     transactions only.
//
// Limits: keys stay in memory. They count, with what is noted of the transaction, against a limit
// above which a write ends with 53200.
package temporary
