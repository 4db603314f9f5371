// Package stopped proves what can be proved of the data directories of nodes that are stopped: "sherd check --data DIR".
//
//	err := stopped.Check(ctx, stopped.Config{Dirs: dirs, Scratch: temp, …}, emit)
//
// It says, in the words of sherd.check() (package verify does most of it):
//
//   - catalog: the snapshot and the log can be read, and lead to definitions that hold together; a bucket map has no hole. Of several nodes the newest counts;
//   - log: every entry of every fragment's Raft log can be read;
//   - storage: every block of every table is what was written, and every key belongs to something;
//   - rows, placement, index, statistics: as sherd.check() does, for the rows that are here. Which buckets a fragment has, its own log says;
//   - ownership: that log agrees with the bucket map here;
//   - transactions: those in doubt are named. They are read as if they had not been;
//   - replicas: of the directories of several nodes, those of a fragment have the same keys, versions and values. Each is brought to the end of the longest log
//     among them, as Raft would (replica.go), so that one which had not heard of the last entries is compared all the same;
//   - foreign key, former ids: keys of rows that are here refer to rows, where these would be here too (package verify, References). Fragments are read as of one
//     timestamp: the newest up to which everything is known to be here, and decided (references.go);
//   - split documents: as of that timestamp, each has all of its parts that would be here, or none, and they know what its row says, where that is here.
//
// What it takes other directories or a server for is said too, with details that begin with verify.NotChecked: the rest of these, and global indexes unless all
// fragments are here and nowhere else.
//
// Invariants:
//
//   - Nothing in a directory is changed: not a byte, not a time, not a lock file. After an unclean stop
//     what is in the log alone is applied to a copy in the scratch directory; tables are not copied, but
//     linked to.
//   - The nodes cannot start meanwhile, and what is read is not of a node that runs (catalog.ReadDataDir).
//   - A node among several may be behind others. What may be so for that reason is a note, and no fault. All replicas being the same but for that, the rows of
//     one are enough: those of the first that can be read are checked.
//
// Limits: one fragment after the other, at the speed of one core; the replicas of a database stay open until its keys are compared, each with a memtable of
// 32 MiB. The logs of all fragments are read into memory by turns, file by file; what a fragment's log holds behind its last checkpoint is written to the
// scratch directory, and 16 bytes for each key that refers or is referred to.
package stopped
