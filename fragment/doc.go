// Package fragment answers requests about the fragments that have replicas on this node.
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
