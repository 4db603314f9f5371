// Package taskserver runs the tasks of gateways on other nodes in the fragments that this node
// leads (nodepb.Tasks).
//
//	gateway's stream ─▶ conn ─▶ request (Begin, More …) ─▶ task ─▶ distexec.RunTask
//	over a fragment.Part
//
// Compiled plans are kept under the numbers that their gateways assigned. The least recently used
// are dropped first, and all are decoded again when definitions change (C2).
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
// Limits: 1,000 streams and 10,000 plans of a node; 64 MiB of writes and keys in one task; 19 MiB
// in a row of an answer.
package taskserver
