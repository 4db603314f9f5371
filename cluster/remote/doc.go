// Package remote is the gateway's side of fragments that other nodes lead: it sends requests over
// the node port.
//
//	kv.Transaction ─▶ Part ─▶ Node ─── one call each (kv.Sender) ─▶ nodepb.Fragments
//
// A Part is what a transaction has in one fragment at one node. It keeps what the last answer said
// about the transaction's write buffer there, so that marks, and whether anything is
// written, cost no round trip. Calls that only discard something (ROLLBACK, ROLLBACK TO) are sent
// and not waited for; the next call waits for them. Package distexec runs tasks in a Part.
//
// The package decides nothing: that a node does not lead the fragment (any more), or does not
// answer, is an error (kv.NotLeader, kv.NoAnswer), and package kv decides what follows from it.
package remote
