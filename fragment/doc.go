// Package fragment has the replicas of fragments on this node, and answers requests about them.
//
// Replicas opens a storage replica for each fragment that the catalog places on this node, and
// follows the catalog as databases are created and dropped (follow.go). The leader of a fragment has
// the members of its Raft group follow the catalog (members.go). A node that is about to stop, or
// whose clock has run ahead, hands over what it leads (handover.go). Package placement decides where
// replicas should be, package sweep deletes what dropped tables left, and package recovery makes the
// last replica of a lost group usable.
//
//	kv.Sender on this node ─▶ Server.Send ───────────────┐
//	gRPC from other nodes  ─▶ Service.Send, leads here? ─┴─▶ one function per operation ─▶ storage
//
// A Part is what one transaction has in one fragment that is led here: its write buffer, its locks
// and its reads. If the transaction's gateway is another node, the Server keeps the part as a
// LeasedPart, by fragment and transaction. A LeasedPart has a number of its own, the birth, which
// the gateway sends with each request: a part that was dropped and started again by a late request
// is never taken for the old one. It belongs to a term of the fragment's leader and to a process of
// its gateway, and is dropped when one of them ends. Before its commit is in the log that needs no
// agreement: a gateway that still believes in it gets the error that it is lost, which is 40001.
// Prepared writes stay; the log decides about them (T7).
//
// To add an operation, add its message to nodepb/fragment.proto, and the function that answers it
// here, beside its case in dispatch.go.
//
// Invariants:
//
//	U1  Another node's request does nothing for a fragment that this node does not lead, except
//	    Reach and Digest, which compare replicas; the answer names the leader, as far as it is
//	    known.
//	U2  A request whose clock is too far ahead is refused before it does anything.
//
// The package never coordinates: it begins no transaction of its own, and asks no other node.
package fragment
