// Package stopped checks the data directories of stopped nodes: "sherd check --data DIR".
//
//	err := stopped.Check(ctx, stopped.Config{Dirs: dirs, Scratch: temp, …}, emit)
//
// It reports in the words of sherd.check() (package verify does most of the work):
//
//   - catalog: the snapshot and the log can be read, their definitions are consistent, and no
//     bucket map has a hole. If there are several nodes, the newest catalog counts;
//   - log: every entry of every fragment's Raft log can be read;
//   - storage: every block of every table is as it was written, and every key belongs to something;
//   - rows, placement, index, statistics: as in sherd.check(), for the rows that are here. A
//     fragment's own log says which buckets it has;
//   - ownership: that log agrees with the bucket map here;
//   - transactions: those in doubt are named. They are read as if they were aborted;
//   - replicas: the replicas of a fragment in several directories have the same keys, versions and
//     values. Each is brought to the end of the longest log among them, as Raft would do
//     (replica.go), so that a replica that lacks the last entries can be compared too;
//   - foreign key, former ids: keys in rows that are here refer to existing rows, if those would be
//     here too (package verify, References). Fragments are read at one timestamp: the newest up to
//     which everything is known to be here and decided (references.go);
//   - split documents: at that timestamp a document has either all of the parts that would be here,
//     or none, and the parts agree with its row if that is here.
//
// Checks that need other directories or a server are reported too, with details that begin with
// verify.NotChecked: the rest of the above, and global indexes unless all fragments are here and
// nowhere else.
//
// Invariants:
//
//   - Nothing in a directory is changed: no byte, no time, no lock file. After an unclean stop,
//     entries that are only in the log are applied to a copy in the scratch directory. Tables are
//     not copied but linked.
//   - The nodes cannot start during the check, and the directory of a running node is refused
//     (catalog.ReadDataDir).
//   - One node of several may be behind the others. A difference that this may explain is reported
//     as a note, not as a fault. Since all replicas are the same otherwise, the rows of one are
//     enough: those of the first replica that can be read are checked.
//
// Limits: fragments are checked one after another, at the speed of one core. The replicas of a
// database stay open until its keys have been compared, each with a memtable of 32 MiB. The logs of
// all fragments are read into memory in turn, file by file. The scratch directory receives the
// entries of a fragment's log behind its last checkpoint, and 16 bytes for each key that refers or
// is referred to.
package stopped
