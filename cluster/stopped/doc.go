// Package stopped proves what can be proved of the data directory of a node that is stopped, by that node alone: "sherd check --data DIR".
//
//	err := stopped.Check(ctx, stopped.Config{Dir: dir, Scratch: temp, …}, emit)
//
// It says, in the words of sherd.check() (package verify does most of it):
//
//   - catalog: the snapshot and the log can be read, and lead to definitions that hold together; a bucket map has no hole;
//   - log: every entry of every fragment's Raft log can be read;
//   - storage: every block of every table is what was written, and every key belongs to something;
//   - rows, placement, index, statistics: as sherd.check() does, for the rows that are here. Which buckets a fragment has, its own log says;
//   - ownership: that log agrees with the bucket map here;
//   - transactions: those in doubt are named. They are read as if they had not been.
//
// It does not prove what takes other nodes or sessions: that replicas are the same, that foreign keys refer to something, and global indexes unless all
// fragments are here and nowhere else.
//
// Invariants:
//
//   - Nothing in the directory is changed: not a byte, not a time, not a lock file. After an unclean stop what is in the log alone is applied to a copy in
//     the scratch directory, of which tables are no part: links lead to them.
//   - The node cannot start meanwhile, and what is read is not of a node that runs (catalog.ReadDataDir).
//   - A node among several may be behind others. What may be so for that reason is a note, and no fault.
//
// Limits: one fragment after the other, at the speed of one core. The logs of all fragments are read into memory by turns, file by file; what a fragment's
// log holds behind its last checkpoint is written to the scratch directory.
package stopped
