// Package txn is time and transactions: hybrid logical timestamps, the clock that gives them, transaction ids, the commit
// protocol over several fragments, and the detection of deadlocks. It has no disk and no socket; what it coordinates are
// Participants, which package storage implements here and the node protocol for fragments elsewhere.
//
// # Why timestamps
//
// Every committed version of a key carries the timestamp of its commit, in all fragments on one scale. A snapshot is one
// number T: the versions at or below it. The grid below is what two fragments hold; a reader at T = 5 sees the row marked
// with [ ], in every fragment the same prefix of time, and needs no list of running transactions.
//
//	key        1     2     3     4     5     6     7     → time
//	F1  a     x=1          [x=2]             x=3
//	F1  b           [y=1]
//	F2  c           [z=1]                    z=2           x=3 and z=2 are one transaction: C = 6, both or neither
//	F2  d                        [—]                       deleted at 4
//
// What remains to be shown is that nobody writes into the past of a reader, and that a reader does not overtake a commit.
//
// # Invariants
//
// The numbers are those of DESIGN 5; storage keeps T1–T4 and T6 for one fragment, this package the rest.
//
//   - T1 A fragment's log entries carry strictly increasing stamps. A one-fragment commit's version is its stamp; the stamp of
//     a prepare is its C.
//   - T2 A commit is above every timestamp that was read at, in its fragment (promised) and by its own transaction (Floor).
//   - T3 A reader at T waits for what is proposed, or prepared and undecided, at or below T on the keys it reads.
//   - T5 A timestamp handed out as current comes from a leader whose leadership was confirmed after the question.
//   - T7 A prepared transaction survives any crash; the first decision in the anchor's log counts. Whoever finds one undecided
//     asks the anchor, which then proposes abort, or asks the writers where commit may be implied; time-outs, and the start of a term,
//     may start that and nothing else.
//   - T8 What a SERIALIZABLE transaction has read, empty spans too, is as it was in every fragment at its C: no other's version
//     in (T, C], and none to come. One that only read takes effect at its T.
//
// Package rule has a switch for each, with which a build is broken on purpose, for the history checker to find.
//
// # A commit over several fragments
//
//	coordinator            F1 (anchor)              F2
//	   │ C above all it saw    │                     │
//	   ├── prepare(C) ────────▶│ entry, stamp = C    │      in parallel; each refuses a C at or below promised (*LowError),
//	   ├── prepare(C) ─────────┼────────────────────▶│      then the next attempt names a larger one
//	   │◀── prepared ──────────┤◀────────────────────┤      all at one C: that is the commit point, the client is answered
//	   ├── decide ────────────▶│ entry, with others  │      explicit now: nobody needs to ask any more
//	   ├── resolve ────────────┼────────────────────▶│ entry, with others: rows become visible at C
//	   ├── forget ────────────▶│ entry, with others  │      when every writer has applied its resolution
//
// Commit is implied by the prepares (PrepareRequest.Implied). What nobody has decided is recovered by the anchor: it asks each writer whether it
// has prepared at C, and one that has not makes sure first, by an entry stamped above C, that it never will. If all have, the anchor decides
// to commit, else to abort. Five conditions make that sound; package model explores all states of it and shows what comes of dropping one:
//
//   - A writer says no only when that is in its log. Otherwise its prepare arrives after the no, and the coordinator answers.
//   - An abort speaks of one C and ends that attempt and earlier ones, at the anchor and at the others: it may be late, and the next attempt
//     complete.
//   - An abort that the anchor proposes since it has not prepared counts only if it still has not when the entry is applied.
//   - Writers are told to commit after the anchor has decided. One that has resolved is not prepared any more, and would say no.
//   - A coordinator without an answer to a prepare may ask for an abort, but the anchor's answer counts, and without one the client is told
//     40003: all may have prepared.
//
// A reader elsewhere that may still refuse cannot be asked again, for its check left nothing in a log. So a SERIALIZABLE transaction with
// reads outside its writers takes two rounds, and so do COMMIT PREPARED, whose abort leads back to being held, and changes of definitions,
// whose anchor is the catalog:
//
//	coordinator            F1 (anchor)              F2
//	   │ C above all it saw    │                     │
//	   ├── prepare(C) ────────▶│ entry, stamp = C    │      in parallel; each refuses a C at or below promised (*LowError),
//	   ├── prepare(C) ─────────┼────────────────────▶│      then the next attempt names a larger one
//	   │◀── prepared ──────────┤◀────────────────────┤
//	   ├── decide(commit) ────▶│ entry: commit point │      applies only where F1's prepared record is
//	   │◀── committed ─────────┤                     │      the client is answered here
//	   ├── resolve ────────────┼────────────────────▶│ entry: rows become visible at C
//	   ├── forget ────────────▶│                     │      when every writer has applied its resolution
//
// A decide that finds nothing is answered Unknown, never Aborted: it may be the repetition of one that was forgotten. An abort
// entry is stamped above C, so a prepare that comes late with that C is refused for ever and the abort needs no record.
//
// A SERIALIZABLE transaction's readers are checked beside the prepares (Participant.Check): they promise, within their ceiling,
// that nothing is written at or below C any more, and leave nothing in a log. One that writes in a single fragment needs no
// decision: the readers are checked at a C first, and the one entry at exactly that C (CommitRequest.At) is the commit point.
//
// # Held transactions
//
// PREPARE TRANSACTION leaves writes and locks in the logs without a C (HoldRequest; storage/hold.go has the steps). COMMIT
// PREPARED is the picture above over what is held, with the fragment that keeps the name, the home, as the anchor
// (Coordinator.CommitHeld); where it is given up, the transaction is held as before. What a SERIALIZABLE one has read is validated when it is
// held; from then on nobody writes there, so that it is true at the C that comes (T8; storage/hold_reads.go).
//
// # Errors
//
// Coordinator.Commit returns an error only where the transaction took no effect and never will, but for 40003: then a log
// that did not answer knows. The error names the transaction's id, by which the outcome can be asked for; an id says when its
// transaction began, and so whether it may have been forgotten.
//
// # Locks and deadlocks
//
// The words for row locks are here (LockMode, LockRequest), their keeping is storage's; tables and advisory locks are kept by sql. All of them
// tell one Detector who waits for whom: a wait has several blockers, the holders in its way and the waiters ahead of it, and these change as
// locks are granted and released. The detector looks for a circle at each change, so that a deadlock lasts no time at all; 40P01 goes to the
// wait that closes it. A party is a transaction, or a session whatever its transaction, which is who holds a session's advisory lock.
// DeadlockError and ConflictError (40001) carry keys and transactions beside the text, for upper layers to name the row and the relation.
// A circle over several processes is found by asking them (FindCircles), once its waits last, and ended at one of them.
//
// # Limits
//
// Who would write where a held SERIALIZABLE transaction has read waits until that has ended, which may take as long as its coordinator likes. A
// circle over nodes of which one cannot be asked lasts until that can, or a lock time-out ends it.
package txn
