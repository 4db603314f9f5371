// Package taskserver answers gateways on other nodes for the fragments that this node leads (nodepb.Fragments): it runs their tasks, keeps what they
// stage, and is the participant's side of their commits.
//
//	gateway's stream ─▶ conn ─▶ request (Begin, More …) ─▶ task ─▶ exec.RunTask over a cluster.Stage
//	gateway's calls  ─▶ Server's methods ─▶ storage.Tx, storage.Replica
//
// A transaction's write buffer and locks in a fragment (its stage) are found by fragment and
// transaction, and have a number of their own, the birth, which the gateway sends with each
// request: a stage that was dropped and started again by a late request is never taken for the old
// one. A stage belongs to a term of the fragment's leader and to a process of its gateway. It is
// dropped when one of them ends (DropGateway, storage), and before its commit is in the log that
// needs no agreement: a gateway that still believes in it gets the error that it is lost, which is
// 40001. Prepared writes stay; the log decides about them (T7).
//
// Compiled plans are kept under the numbers that their gateways assigned, the least recently used
// being dropped first, and decoded again when definitions change (C2).
//
// Invariants:
//
//	X1  Nothing is done for a fragment that this node does not lead, except reads at
//	    timestamps that are closed at its replica (T9); the answer names the leader, as far as
//	    it is known.
//	X2  A request whose clock is too far ahead is refused before it does anything.
//	X3  A task reads and writes only the buckets that it names, and only while the map here
//	    assigns them to the fragment.
//	X4  A task ends with its gateway: when the stream is reset, when Stop arrives, or a second
//	    after its time limit.
//
// The package never plans and never coordinates: it begins no transaction of its own.
//
// Limits: 1,000 streams and 10,000 plans of a node; 64 MiB of writes and keys in one task; 19 MiB in a row of an answer.
package taskserver
