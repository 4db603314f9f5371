// Package taskserver answers gateways on other nodes for the fragments that this node leads (nodepb.Fragments): it runs their tasks, keeps what they
// stage, and is the participant's side of their commits.
//
//	gateway's stream ─▶ conn ─▶ request (Begin, More …) ─▶ task ─▶ exec.RunTask over a cluster.Stage
//	gateway's calls  ─▶ Server's methods ─▶ storage.Tx, storage.Replica
//
// What a transaction has staged is found by fragment and transaction, and has a number of its own, its birth, which the gateway names with each
// request: a stage that was dropped and begun again by a late request is never taken for the old one. A stage belongs to a term of the
// fragment's leader and to a process of its gateway. It goes when one of them does (DropGateway, storage), and before its commit is in the log nobody need
// agree to that: whoever still believes in it is told that it is lost, which is 40001. What is prepared stays; the log decides about it (T7).
//
// Compiled plans are kept under the numbers that their gateways gave them, the least recently used going first, and decoded anew when
// definitions change (C2).
//
// Invariants:
//
//	S1  Nothing is done for a fragment that this node does not lead, but reads at times that are closed at its replica (T9); the answer names
//	    who does, as far as that is known.
//	S2  A request whose clock is too far ahead is refused before it does anything.
//	S3  A task reads and writes the buckets that it names only, and only while they are the fragment's in the map here.
//	S4  A task ends with its gateway: when the stream is reset, when Stop comes, or a second after the time that it was given.
//
// The package never plans and never coordinates: it begins no transaction of its own.
//
// Limits: 1,000 streams and 10,000 plans of a node; 64 MiB of writes and keys in one task; 19 MiB in a row of an answer.
package taskserver
