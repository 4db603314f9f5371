// Package writebuf holds what a transaction has written in one fragment and not committed: in
// memory and, beyond a size that the caller chooses, in files without names.
//
// A Buffer is a sequence of operations, and the last operation for each key counts. A mark is a
// position in it: statements undo their writes by cutting the buffer at a mark, and a view sees
// what lies below its mark. In memory the bytes of the operations are encoded as they will be in
// the log, so that the commit of a small transaction copies nothing. All else about them is
// numbers, which leaves the garbage collector little to look at.
//
// Spill moves the operations in memory into a file. In memory there remain some 8 bytes for each of
// its keys (disk_index.go). What was moved at once is a run, and another file has the order of each
// run's keys (order.go), for scans and for the commit.
//
// The package knows no locks, no log and no transactions. Its callers hold one mutex for all calls
// of a buffer; a Scan needs none while it runs.
//
//   - WB1 Get, Span and Last answer by the operations below the mark that they are given, whether
//     these are in memory or in a file.
//   - WB2 A file is only appended to, and a cut changes nothing of it below the cut: a Scan goes on
//     while what is above its mark is undone and written again.
//   - WB3 If Spill fails, the buffer is as before. If an undo cannot read the file, the buffer is
//     unusable from then on (Err).
package writebuf
