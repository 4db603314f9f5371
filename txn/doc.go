// Package txn is time and transactions: hybrid logical timestamps, the clock that issues them,
// transaction ids, the commit protocol over several fragments, and the detection of deadlocks. It
// has no disk and no socket; a Coordinator works on Participants, which are fragments here or on
// other nodes.
//
// # Why timestamps
//
// Every committed version of a key carries the timestamp of its commit, in all fragments on one
// scale. A snapshot is one number T: the versions at or below it. The grid below is the content of
// two fragments, A and B. A reader at T = 5 sees the version marked with [ ] of each row, in every fragment
// the same prefix of time, and needs no list of running transactions.
//
//	key        1     2     3     4     5     6     7     → time
//	A   a     x=1          [x=2]             x=3
//	A   b           [y=1]
//	B   c           [z=1]                    z=2           x=3 and z=2 are one transaction: C = 6, both or neither
//	B   d                        [—]                       deleted at 4
//
// The protocol must therefore ensure that no transaction writes into the past of a reader, and that
// no reader overtakes a commit.
//
// # Invariants
//
// Storage keeps T1–T4, T6 and T9 for one fragment, package raftgroup confirms leaders for T5, and
// this package keeps the rest. Labels of other invariants are in docs/design/invariants.md.
//
//   - T1 A fragment's log entries carry strictly increasing stamps. A one-fragment commit's version
//     is its stamp; the stamp of a prepare is its C.
//   - T2 A commit is above every timestamp that was read at, in its fragment (the low-water
//     timestamp, LowWater) and by its own transaction (Floor).
//   - T3 A reader at T waits for what is proposed, or prepared and undecided, at or below T on the
//     keys it reads.
//   - T4 No read at T and no check at C is above both the read lease in the log and the
//     largest stamp that the leader has applied; the leader extends the lease first. A new leader
//     serves and stamps nothing before an entry of its own term has been applied. It starts with the
//     lease as its low-water timestamp and with the locks of prepared transactions.
//   - T5 A timestamp handed out as current comes from a leader whose leadership was confirmed after
//     the question.
//   - T6 A statement reads at one timestamp: the largest of the stamps applied and of the C prepared
//     in all fragments that it may reach. So all that was acknowledged before the question is at or
//     below it.
//   - T7 A prepare survives any crash; the first decision in the coordinator fragment's log counts.
//     A fragment or reader that finds an undecided prepare asks the coordinator fragment. This
//     proposes abort, or asks the writers if the commit may be implicit. Time-outs, and the start
//     of a term, may start that and nothing else.
//   - T8 What a SERIALIZABLE transaction has read, empty spans too, is unchanged in every fragment
//     at its C: no other transaction has a version in (T, C], and none will. A transaction that
//     only read takes effect at its T.
//   - T9 A replica that does not lead serves a read at T only if T is closed there: T is at or below
//     the largest stamp that it has applied, or a leader has closed T and the replica has applied
//     all that was enqueued before (docs/decisions/2026-11-21-follower-reads.md).
//
// Package rule has a switch for each rule. A build with one of them off is broken on purpose, for
// the history checker to find.
//
// # A commit over several fragments
//
//	coordinator            A (its record)           B
//	   │ C above all it saw    │                     │
//	   ├── prepare(C) ────────▶│ entry, stamp = C    │      in parallel; each refuses a C at or below its low-water
//	   ├── prepare(C) ─────────┼────────────────────▶│      timestamp (*LowError), then the next attempt uses a larger C
//	   │◀── prepared ──────────┤◀────────────────────┤      all at one C: that is the commit point, the client is answered
//	   ├── decide ────────────▶│ entry, with others  │      the transaction record: the commit is explicit now
//	   ├── resolve ────────────┼────────────────────▶│ entry, with others: rows become visible at C
//	   ├── forget ────────────▶│ entry, with others  │      when every writer has applied its resolution
//
// The coordinator fragment (PrepareRequest.Coordinator) is A here.
//
// The prepares make an implicit commit (PrepareRequest.Implicit). If there is no decision, the
// coordinator fragment recovers the transaction: it asks each writer whether it has prepared at C.
// A writer that has not first makes sure, by an entry stamped above C, that it never will. If all
// have prepared, the coordinator fragment decides to commit, else to abort. Five conditions make
// that sound. Package protocol decides by them; its tests explore all states, and show what goes
// wrong without each:
//
//   - A writer answers no only when the no is in its log. Otherwise its prepare could arrive after
//     the no, and the coordinator would answer the client.
//   - An abort names one C and ends that attempt and earlier ones, at the coordinator fragment and
//     at the others: it may be late, and the next attempt may be complete.
//   - An abort that the coordinator fragment proposes because it has not prepared counts only if it
//     still has not when the entry is applied.
//   - Writers get the commit after the coordinator fragment has decided. A writer that has resolved
//     is not prepared any more, and would answer no.
//   - A coordinator without an answer to a prepare may ask for an abort, but the coordinator
//     fragment's answer counts. Without that answer the client gets 40003: all may have prepared.
//
// A reader in another fragment that may still refuse cannot be asked again, because its check left
// nothing in a log. So three kinds of transaction take two rounds: a SERIALIZABLE transaction with
// reads outside its writers; COMMIT PREPARED, whose abort leaves the transaction prepared; and
// schema changes, whose coordinator fragment is the catalog:
//
//	coordinator            A (its record)           B
//	   │ C above all it saw    │                     │
//	   ├── prepare(C) ────────▶│ entry, stamp = C    │      in parallel; each refuses a C at or below its low-water
//	   ├── prepare(C) ─────────┼────────────────────▶│      timestamp (*LowError), then the next attempt uses a larger C
//	   │◀── prepared ──────────┤◀────────────────────┤
//	   ├── decide(commit) ────▶│ entry: commit point │      applies only if A's prepared record is there
//	   │◀── committed ─────────┤                     │      the client is answered here
//	   ├── resolve ────────────┼────────────────────▶│ entry: rows become visible at C
//	   ├── forget ────────────▶│                     │      when every writer has applied its resolution
//
// A decide that finds nothing is answered Unknown, never Aborted: it may repeat one whose
// transaction was forgotten. An abort entry is stamped above C, so a late prepare with that C is
// refused for ever and the abort needs no record.
//
// The fragments that a SERIALIZABLE transaction has only read are checked in parallel with the
// prepares (Participant.Check): they promise, within their read lease, that nothing is written at
// or below C any more, and leave nothing in a log. A SERIALIZABLE transaction that writes in a
// single fragment needs no decision: the readers are checked at a C first, and the one entry at
// exactly that C (CommitRequest.At) is the commit point.
//
// # Prepared transactions
//
// PREPARE TRANSACTION leaves writes and locks in the logs without a C (PreparationRequest;
// storage/preparation_apply.go has the steps). COMMIT PREPARED is the second picture above over
// these fragments, with the fragment that keeps the name, the home, as the coordinator fragment
// (Coordinator.CommitPrepared). If it is given up, the transaction stays prepared. What a
// SERIALIZABLE transaction has read is validated at PREPARE TRANSACTION; from then on no other
// transaction writes there, so that the reads hold at the later C (T8; storage/prepared_reads.go).
//
// # Errors
//
// Coordinator.Commit returns an error only if the transaction took no effect and never will, except
// 40003: then only a log that did not answer has the outcome. The error names the transaction's id,
// by which the client can ask for the outcome. The id contains the time at which the transaction
// began, and so shows whether the transaction may have been forgotten.
//
// # Locks and deadlocks
//
// The types of row locks are here (LockMode, LockRequest); storage keeps the locks. Package sql
// keeps table and advisory locks. All of them report to one Detector which lock owner waits for
// which: a wait has several blockers, the holders in its way and the waiters ahead of it, and these
// change as locks are granted and released. The detector looks for a cycle at each change, so a
// deadlock is found at once; 40P01 goes to the wait that closes the cycle. A LockOwner is a
// transaction, or a session independent of its transaction: the owner of the session's advisory
// locks. DeadlockError and ConflictError (40001) carry keys and transactions as well as the text,
// so that upper layers can name the row and the relation. A cycle over several processes is found
// by asking all of them (FindCycles) once its waits last, and ended in one of them.
//
// # Limits
//
// A write to what a prepared SERIALIZABLE transaction has read waits until that transaction has
// ended, which may take as long as its client likes. A cycle over several nodes lasts while one of
// them does not answer, unless a lock time-out ends it.
package txn
