// Package storage keeps one replica of one fragment on this disk: a Raft log, which is fsynced
// before anything is acknowledged, and a Badger database in managed mode as the state machine to
// which the log is applied. It knows bytes, spans and timestamps, and nothing of SQL: the executor
// computes index entries, and they are logged with the row (V3).
//
// The home of a prepared transaction (PREPARE TRANSACTION) is the fragment that has its name. A
// bucket that is gone has moved away.
//
//	                    Lock, Put, Delete                      Commit
//	executor ──▶ Tx ──▶ buffer (memory) + locktable ─▶ propose: stamp, enqueue ──▶ raftgroup: log
//	              │                                                                    │ committed
//	              └──▶ View ──▶ Badger at T, own buffer over it ◀── publish ◀── machine.ApplyBatch
//
// # Reading
//
// The versions of a key in Badger are its commit timestamps. A View reads at T. The table shows one
// fragment's log from left to right, with each entry's stamp; [n] is a version that the entry
// writes.
//
//	log      1:commit   2:prepare X   3:commit    4:lease     5:resolve X     6:commit
//	stamp    100        110           120         121         130             140
//	row a    [100]                    [120]
//	row b               C = 110 …………………………………………………………… [110]           [140]
//
// While entry 5 is not applied, a reader at T = 125 sees row a at 120 and waits at row b, where X
// is prepared below T (T3). A reader at T = 105 does not wait. Once T = 125 was served, nothing
// commits at or below it any more (T2: the low-water timestamp), not even under the next leader,
// because T is at or below the largest applied stamp or the replicated read lease (T4). The fast
// path is three atomic loads: T ≤ applied, nothing undecided, T ≥ watermark. The watermark is
// checked after the database was read, because a version that was not found may have been discarded
// meanwhile.
//
// # Writing
//
// The leader buffers writes under row locks, in memory and, beyond Limits.BufferMemory, in unnamed
// files (package writebuf). They go into the log as one entry: bytes and versions, so that apply
// computes nothing. A write set above 4 MiB, or one in a file, goes as parts, which no reader sees,
// and a commit entry that names their number. Once that entry is applied, the parts are read from
// the log again, one by one, and installed in the background (install.go). The stamp is assigned
// and the entry enqueued under one lock (T1). Row locks and write buffers end with the leader's
// term; those of prepared transactions are rebuilt from the log.
//
// # Row locks
//
// Package locktable has the modes, the queues and the savepoints of row locks, and the compact form
// of the locks of a large transaction. What a holder has learned of the row's newest version stays
// valid from SHARE on; while it holds KEY SHARE, other transactions may change everything but the
// key. A put under NO KEY UPDATE is marked as such, in the log and in Badger's user byte: a KEY
// SHARE request at a snapshot ignores such versions. ROLLBACK TO SAVEPOINT releases the locks taken
// since; running a statement again keeps them.
//
// A transaction that finds a row deleted under its lock can ask whether the row has got another key
// (package keymoves): the leader remembers the newest such deletions of its term, and answers
// "perhaps" for all others.
//
// A prepare has the writes and the pinned locks with their modes, so that a new leader starts with
// the same locks (T4). Locks that are not pinned protect a statement's own writes, which a new
// leader refuses anyway. Pinned locks protect what was written in other fragments, so a fragment
// that has only pinned locks is a writer of the transaction too.
//
// # Committing over fragments
//
// A prepare with an implicit commit (implicit.go) is an entry like any other. The decision comes
// later, together with others: while one entry of outcomes is on its way, the next one fills. The
// outcome's entry installs the rows. Until then, readers and lockers of these rows wait (T3), so
// early outcomes are better; nothing else waits for them.
//
// # Installing
//
// The rows of a large commit are written after it: its entry has been applied, the client has its
// answer, and small commits go on. A reader at or above its timestamp, or the owner of a row's
// lock, waits until those pieces of the write set are installed that may contain its rows. These
// pieces are installed at once, out of order (package install); the least and the greatest key of
// each piece show which one has a row (package keysummary). A scan goes from piece to piece. Drops,
// moves, streams and digests wait for all rows.
//
//	commit X at 120 applied ── answer ──▶ row a … row z at 120 ──▶ rows are there
//	T = 119: goes on
//	T = 121: waits for X's piece of the row
//	lock of a row of X: waits for its newest version
//	others: go on
//
// Each replica does this at its own pace. Every checkpoint lists what is not installed yet, and the
// log is kept for it; a restart continues before it serves. Garbage collection, dropped spans and
// streams wait.
//
// # Validating (T8)
//
// The views of a SERIALIZABLE transaction record what they have read: points, spans, and how far a
// scan came (package readset). A commit first validates them up to the low-water timestamp without
// a lock: it waits for entries on their way that touch them, then asks Badger for versions above T.
// The few entries proposed meanwhile are checked under the lock that assigns the stamp, so that
// nothing slips between; if that check fails, another round starts. A fragment in which the
// transaction only reads is checked at C, after the low-water timestamp and the read lease have
// been raised to C. If nothing at all was written since T, either costs three loads.
//
// # Prepared transactions
//
// A prepared transaction (PREPARE TRANSACTION) is an open one with a record of its own
// (preparation_apply.go): it has no C, so T3 does not apply to it, and its locks are kept as those
// of a prepare are. The fragments that have it ask its home, at the start of a term and every
// Timing.RecoverAfter. The record also contains the reads of a SERIALIZABLE transaction: a
// transaction that would write there waits (prepared_reads.go).
//
// # Moving
//
// The log says which buckets the fragment owns. Package ownership is the state machine of it, and
// shows the states; owner_apply.go is what else the entries do.
//
//   - C1 A fragment serves a bucket only while its own replicated state says that it owns the
//     bucket, fences included. Each read and write names its buckets, and a fragment never answers
//     for "all that I own".
//
// move.go has the steps of a move in the order in which a driver takes them.
//
// Readers and writers look at one pointer to an immutable list (owned_buckets.go), which is nil if
// nothing ever moved. A fence is in the list from its proposal on, put there under the lock that
// assigns stamps: a reader that was promised a T before the proposal has a T below F, and a later
// one sees the fence. The same holds for own, if the driver has copied everything up to F itself:
// what is proposed later has a later place in the log. Gone is in the list before it is proposed
// (package owned). The last read, up to F, waits for what was proposed before the fence, not for
// the fence (cut.go). Reads at or below F go on at the source, also after the range is gone: the
// versions stay, and deleting what is left only adds one more version. Above F, and for locks and
// current timestamps, requests wait (5 s) while a range is fenced or being received, and get
// *txn.MovedError if it is not here.
//
// The list stays short: a range gets the generation of its neighbours if that is a new one for it,
// and the watermark's entry tidies the list.
//
// A write buffer belongs to the ownership under which it was filled (owned_tx.go): before a commit,
// prepare, check or PREPARE TRANSACTION gets its stamp, everything that the transaction has
// buffered, locked and tracked here must be owned, unfenced, and at the generation it had then. (If
// there are so many locks that their keys are not known, all buckets between the least and the
// greatest key are checked, as the fragment owned them then.) Otherwise the answer is RowsMoved,
// 40001. A fence that is lifted costs only a wait.
//
// Keys of callers have generation 0. Stored keys have the bucket's generation (package keyspace):
// write buffers, locks, read spans and the log contain stored keys, and all that is returned,
// including errors and lists of locks, has generation 0 again. For rows, a scan over buckets with
// several generations is one walk, because the order of the keys is the same; for a global index it
// is one walk for each range (owned_scan.go). The keys of local index entries contain no bucket;
// the caller that writes such entries puts View.Generation or Tx.WriteGeneration into their values.
//
// The source reads versions as a snapshot at T (read_versions.go): those above the last T, or all
// that a reader may need. The target writes them unchanged (ingest.go), in any order, any number of
// times. Meanwhile its Badger discards nothing that a late batch could bring back. Ingested rows
// count in the statistics from the entry that makes the range owned; the entry that makes it gone
// removes them from the source's statistics.
//
// # Crashes
//
//   - S1 An entry's effect depends on its bytes and on the state below its stamp. The small state
//     (open transactions, decisions, statistics, read lease) is in memory, changes in log order
//     alone, and is written as a checkpoint at a stamp. A restart reads the records as they were
//     at that stamp, whatever later pieces are on disk, and applies the log again.
//   - S2 Badger does not sync. After an unclean stop its memtable files are deleted, so that only
//     tables count. Memtables are flushed in order, and the checkpoint's key "applied" is written
//     after all that the checkpoint covers, so if the key is in the tables, all of it is durable.
//     The log is cut only below a checkpoint known to be in tables: one whose stamp is below a
//     version found in a table. That bound is on disk before the log is cut. A transaction's writes
//     stay in the log until its outcome: the checkpoint names their entries, and the log is not cut
//     beyond the first.
//   - S3 A Raft snapshot is a marker. A follower that needs one is streamed the live database, then
//     the state. It may get more than the marker covers, which S1 makes harmless. It keeps the
//     stream until a checkpoint is in its own tables.
//
// Every durable step is a named fault point (Knobs.Fault) and has a test that crashes there.
//
// # Keys and values
//
// Package keyspace has the layout. Storage itself looks only at the table, index and bucket of a
// row's key, for statistics. Package engine is the database. Rows above 256 KiB are cut into chunks
// under the replica's own keys, so that no value goes to Badger's value log. Config.Global reports
// which indexes are global.
//
// # Replicas
//
// Group shows the fragment's Raft group to other packages (members.go). A leader that yields
// leadership admits no new transactions, and waits for those that have something here that ends
// with the term. A follower applies, checkpoints, cuts its log and drops old versions as the leader
// does. It answers verifiers (digest.go), and readers at closed timestamps (T9, closed.go). A
// leader's entry counts only in the term for which it was made (package proposer): a write buffer
// of an earlier term cannot get into the log when its leader leads again. A stream to a follower is
// of one stamp, so that writers go on. The log behind the stream's marker is kept for it, as are
// 16,384 entries or 128 MiB for followers that were away (package truncation). If a replica that
// led is then streamed a new database, its open views fail (restores). A node whose clock has run
// away from the others' assigns no stamps (txn.Clock.Sane).
//
// # Stopped replicas
//
// OpenStopped reads the replica of a process that has ended, and changes nothing of it
// (stopped.go). It makes a directory with links to the tables and copies of the rest, opens a
// database without compactions there, and applies the log. VerifyTables checks the tables before,
// because Badger does not survive some kinds of damage to them.
//
// # Garbage
//
// Old versions stay for Timing.GCTTL. A replicated watermark (an entry) follows the stamps that
// were applied at that time ago, below every pinned snapshot (Replica.Pin) and every undecided C.
// Reads below it fail with 72000, also if it passes them while they read. A timestamp that the
// watermark is about to pass can no longer be pinned. Badger may discard below what the watermark
// was at the durable checkpoint, from which a restart begins, but nothing that a running stream
// still has to send, nor deletions above rows that a restart would install again. Dropped tables
// are deleted by span, in the background, at the stamp of an entry; what moves have left is deleted
// by buckets and generation, and of local indexes by key, below the watermark (sweep.go).
//
// # Limits
//
// Keys have at most 8 KiB, values Limits.Row, a transaction's write buffer Limits.Buffer (all 54000
// above that). While two large transactions wait to be installed, a third is not sent to the log.
// Statistics count groups of 256 buckets, and each bucket above 4 MiB by itself (package counts).
// Commits are refused with 53100 while the disk has less free space than Disk.MinFree and what
// merges of the replica may take (package engine), deletes below half of Disk.MinFree, or when
// level 0 has grown because merges are paused. Below that, entries wait to be applied until there
// is room: rows at a follower, of large transactions and of streams with less than 128 MiB,
// everything with less than 64 MiB (package engine). With less than 32 MiB a replica does not open
// (53100). Repeated commit entries are recognized among the last 4096 commits. Outcomes are kept
// for 15 minutes (outcome.go), those of aborts by their absence. A change of leader may abort a
// commit in progress: the new leader at once asks for the outcome of what an earlier term left. A
// transaction has one lock request at a time for each row, and the holders of a row are searched
// one by one. A fragment that was there when its database was created regards all that was never
// moved as its own: its map has to be right then. Entries of local indexes that a bucket leaves
// behind stay, unseen, until the watermark has passed, those of assigned buckets until they are
// written again. To read a difference, the source walks over all keys of the range, so ranges that
// are moved at once should be small.
package storage
