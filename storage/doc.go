// Package storage keeps one replica of one fragment on this disk: a Raft log, fsynced before anything is acknowledged, and a
// Badger database in managed mode as the state machine that the log is applied to. It knows bytes, spans and timestamps, and
// nothing of SQL: index entries are computed by the executor and logged with the row (V3).
//
//	                    Lock, Put, Delete                      Commit
//	executor ──▶ Tx ──▶ stage (memory) + lockTable ──▶ propose: stamp, enqueue ──▶ raftgroup: log, fsync
//	              │                                                                       │ committed
//	              └──▶ View ──▶ Badger at T, own stage laid over  ◀── publish ◀── machine.ApplyBatch
//
// # Reading
//
// A key's versions in Badger are its commit timestamps. A View reads at T. The table shows one fragment's log from left to
// right, with each entry's stamp; [n] is a version it writes.
//
//	log      1:commit   2:prepare X   3:commit    4:ceiling   5:resolve X     6:commit
//	stamp    100        110           120         121         130             140
//	row a    [100]                    [120]
//	row b               C = 110 …………………………………………………………… [110]           [140]
//
// A reader at T = 125 while entry 5 is not applied sees a at 120 and waits at b, where X is prepared below T (T3). A reader
// at T = 105 does not wait. Nobody commits below 125 any more once T was served (T2: promised), not even the next leader,
// because T is at or below the largest stamp applied or the replicated ceiling (T4). The fast path is three atomic loads:
// T ≤ applied, nothing undecided, T ≥ watermark. The last is looked at after the database was: a version that was not found may have gone meanwhile.
//
// # Writing
//
// Writes are staged at the leader under row locks, in memory and beyond StageMemory in files without names (stage_disk.go), and go
// into the log as one entry: bytes and versions, nothing to be computed at apply. A write set beyond 4 MiB, or in a file, goes as parts,
// which nobody sees, and a commit that names their number; once it is applied they are read from the log again, one by one, and installed in
// the background (install.go). The stamp is given and the entry enqueued under one lock (T1). Locks and stages die with the leader's term; those of prepared transactions are
// rebuilt from the log.
//
// # Row locks
//
// They have PostgreSQL's four modes, of which a stronger one excludes all that a weaker one does. A row's first holder is the entry in the
// table, and most rows have no other; a second holder or a waiter makes a crowd of it. The queue is fair: a request waits for the waiters
// ahead whose modes conflict with its own, even where the holders' do not. A holder who wants a stronger mode waits for the other holders
// only, ahead of the queue.
//
//	row k   held: A SHARE, B KEY SHARE      queue: C NO KEY UPDATE (waits for A), D SHARE (for C)
//	        KEY SHARE of E is granted at once; A's own UPDATE would wait for B, before C
//
// What a holder has learned of the row's newest version counts from SHARE on; beside a KEY SHARE others change what is no key. A put under
// NO KEY UPDATE is marked so, in the log and in Badger's user byte: a KEY SHARE at a snapshot minds no such version. Locks are taken back by a
// return to a savepoint, and kept when a statement is run again. Of a transaction with many, most are held in 8 bytes each until somebody asks
// for the row (lockset.go); where such locks are pinned, their keys are in a file (pins.go).
//
// Who finds a row deleted under its lock can ask whether it has got another key (keymoves.go): the leader remembers the newest such deletions of its
// term, and says "perhaps" of others.
//
// A prepare carries writes and pinned locks with their modes, so that a new leader starts with the same (T4). Locks that are not pinned
// protect a statement's own writes, which a new leader refuses anyway; pinned ones protect what was written elsewhere, so that a
// fragment with pinned locks alone is a writer of the transaction.
//
// # Committing over fragments
//
// A prepare of which commit is implied (implied.go) is an entry like any other; what is decided about it comes later, gathered with
// others: while one entry of settlements is on its way, the next fills. Rows are installed by the settlement, and until then readers
// and lockers of these rows wait (T3), so the sooner it comes the better; nobody else does.
//
// # Installing
//
// The rows of a large commit come after it: its entry has been applied, the client has its answer, small commits go on. A reader at or above its
// time, or the owner of a row's lock, waits until the pieces of the write set that may have its rows are there. These are installed at once, out of their turn
// (install_wanted.go); which piece has a row follows from the least and the greatest key of each (piecemap.go). A scan goes from piece to piece.
// Drops, moves, streams and digests wait for all rows.
//
//	commit X at 120 applied ── answer ──▶ row a … row z at 120 ──▶ rows are there
//	T = 119: goes on    T = 121: waits for X's piece of the row    lock of a row of X: waits for its newest version    others: go on
//
// Each replica does this at its own pace. What is not there yet is in every checkpoint, the log is held for it, a restart goes on before it
// serves, and garbage collection, dropped spans and streams wait.
//
// # Validating (T8)
//
// Views of a SERIALIZABLE transaction note what they have seen: points, spans, how far a scan came (reads.go, bounded). A commit
// validates them up to what is promised without a lock: what is on its way and touches them is waited for, then Badger is asked
// for versions above T. The little that was proposed meanwhile is looked at under the lock that gives the stamp, so nothing slips
// between; a miss there starts another round. A fragment that only reads is checked at C after promised and the ceiling have
// been lifted to it. Where nothing at all was written since T, both cost three loads.
//
// # Holding
//
// A held transaction is an open one with a record of its own (hold.go): no C, so T3 does not apply to it, locks as those of a
// prepared one. Its home is asked by those who hold, at the start of a term and every RecoverAfter. The reads of a SERIALIZABLE one are in the
// record too: who would write there waits (hold_reads.go).
//
// # Moving
//
// Which buckets are the fragment's its log says (C1; owner_state.go, owner_apply.go). Entries of moves have numbers; each range keeps the last, and
// what is of an older move is void, however late or doubled it comes. move.go has the steps as a driver takes them.
//
//	source   owned ── fence F ──▶ fenced ── gone ──▶ gone (clean: its rows are deleted)      fenced ── unfence ──▶ owned
//	target   not owned, gone ── receive ──▶ receiving (carry …) ── own ──▶ owned             receiving ── abandon ──▶ gone
//
// What readers and writers look at is one pointer to a list that never changes (ownership.go), nil where nothing ever moved. A fence is in it from its
// proposal on, put there under the lock that gives stamps: whoever was promised a T before has it below F, whoever comes later sees the fence. So is own,
// where the driver has carried everything up to F here: what is proposed later comes behind it. Gone is in it before it is proposed (owner_pending.go). The
// last read, up to F, waits for what was proposed before the fence, not for the fence (cut.go). Reads at
// or below F go on at the source, also when the range has gone: versions stay, and the deletion of what is left is one more version. Above F, and for
// locks and current timestamps, one waits while a range is fenced or received (5 s), and gets *txn.MovedError where it is not here.
//
// The list stays short (owner_tidy.go): a range gets the arrival of its neighbours where that is new to it, and with the watermark what only older reads would
// ask is forgotten and neighbours that are then the same are one.
//
// A stage is of the ownership under which it was made (owned_tx.go): before a commit, prepare, check or hold gets its stamp, all that the transaction has
// staged, locked and tracked here is owned, unfenced, and at the arrival of then (of many locks the keys are not known: the buckets between the least and the
// greatest, as the fragment had them); otherwise RowsMoved, 40001. A fence that is lifted has cost a wait.
//
// Callers' keys have arrival 0. Stored ones have the bucket's (arrival.go): stages, locks, read spans and the log have stored keys, and what is
// given back, errors and lists of locks included, has arrival 0 again. A scan over buckets with several arrivals is one walk for rows, whose order is
// the same, and one for each range of a global index (owned_scan.go). Local index entries have no bucket in their keys; who writes them puts View.Arrival or
// Tx.Arrival into their values.
//
// The source reads versions as a snapshot at T (carry.go): above the last T, or all that a reader may need. The target writes them as they were
// (receive.go), in any order, any number of times; its Badger discards nothing meanwhile that a late batch could bring back. What was received counts in the
// statistics from the entry that makes it owned, and leaves the source's with gone.
//
// # Crashes
//
//   - S1 An entry's effect depends on its bytes and on the state below its stamp. The small state (open transactions,
//     decisions, statistics, ceiling) lives in memory, evolves in log order alone, and is written as a checkpoint at a stamp;
//     a restart reads the records as they were at that stamp, whatever later pieces are on disk, and applies the log again.
//   - S2 Badger does not sync. After an unclean stop its memtable files are deleted, so that only tables count; memtables are
//     flushed in order, and the checkpoint's key "applied" is written after all it speaks of, so what it says in the tables is
//     durable. The log is cut only below a checkpoint known to be in tables: one whose stamp is below a version found in a
//     table. That bound is on disk before the log is cut. A transaction's writes stay in the log until its outcome: the
//     checkpoint names their entries, and the log is not cut beyond the first.
//   - S3 A Raft snapshot is a marker. A follower that needs one is streamed the live database, then the state; it may get
//     more than the marker says, which S1 makes harmless. It keeps the stream until a checkpoint is in its own tables.
//
// Every durable step is a named fault point (Config.Fault) and has a test that crashes there.
//
// # Keys and values
//
// keys.go has the layout; storage itself looks only at the table, index and bucket of a row's key, for statistics. Rows above
// 256 KiB are cut into chunks under the replica's own keys, so that no value goes to Badger's value log. Which indexes are global Config.Global tells.
//
// # Replicas
//
// Members, Leader, LeaderChanged and Follow are the fragment's Raft group as others see it (members.go). A leader that gives way lets nobody begin, and
// waits for those who have something here that ends with the term. A follower applies, checkpoints, cuts its log and
// drops old versions as the leader does, and answers who verifies it (digest.go), and readers at times that are closed there (T9, closed.go). An entry counts only in the term in which it was given (propose.go): a stage of an
// earlier term cannot come in when its leader leads again. A stream to a follower is of one stamp, so that writers go on; the log behind its marker is
// kept for it, as are 16,384 entries or 128 MiB for those that were away (retain.go). A view of a replica that led and is then streamed anew
// under it fails (restores). A node whose clock has run away from the others' gives no stamps (txn.Clock.Sane).
//
// # Stopped replicas
//
// OpenStopped reads the replica of a process that has ended, and changes nothing of it (stopped.go): it makes a directory with links to the tables and copies of the
// rest, has a database without compactions there, and applies the log. VerifyTables looks at the tables before, since Badger does not survive some
// damage of them.
//
// # Garbage
//
// Old versions stay for GCTTL. A replicated watermark (an entry) follows the applied stamps of then, below every snapshot held
// (Replica.Hold) and every undecided C; reads below it are 72000, also where it has passed them while they read. What it is about to pass is not held any more.
// Badger may discard below what it was at the durable checkpoint, with which a restart begins, but nothing that a stream under way has to bring, nor
// deletions above rows that the restart would install again. Dropped tables
// are deleted by span, in the background, at the stamp of an entry, and what moves have left by buckets and arrival; of local indexes by key, below the watermark
// (sweep.go).
//
// # Limits
//
// Keys 8 KiB, values MaxRow, a transaction's stage MaxStage (all 54000 beyond); where two large
// transactions wait to be installed, a third is not sent to the log yet. Statistics count groups of 256 buckets, and buckets above 4 MiB by themselves (exact.go). Commits are refused with 53100 while less is left on the disk than MinFree and
// what merges of the replica may take (merges.go), deletes below half of MinFree, or once level 0 has grown because merges are held. Repeated commit entries are known among the last 4096 commits; outcomes are kept for 15 minutes (outcome.go), of
// aborts by their absence. A fragment whose leader changes may abort a commit in progress: what an earlier term left is asked about at
// once. A transaction has one request for a lock at a time in each row, and a row's holders are searched one by one. A fragment of
// the first hour takes for its own what was never moved: its map has to be right then. Entries of local indexes that a bucket leaves behind stay, unseen, until
// the watermark has passed, those of assigned buckets until they are written again. A difference is read by walking over
// all keys of the range, so ranges that are moved at once should be small.
package storage
