// Package remote is the gateway's side of fragments that other nodes lead: it sends the requests of
// packages exec and txn over the node port.
//
//	Transaction ─▶ Part ─▶ Node ─── a stream of the pool, borrowed for one task ─▶ nodepb.Tasks.Run
//	              requests  ─▶ Node ─── one call each (kv.Sender)                ─▶ nodepb.Fragments
//
// A Part is a transaction's handle on one fragment at one node. It keeps what the last answer said
// about the transaction's write buffer there (its stage), so that marks, and whether anything is
// written, cost no round trip. Calls that only discard something (ROLLBACK, ROLLBACK TO) are sent
// and not waited for; the next call waits for them.
//
// A stream returns to the pool when nothing more will be sent for its task, Stop included: a later
// Stop would end the next task on the stream. A task that ended early is never a complete result: a
// caller that did not ask for that gets NoAnswer.
//
// The package decides nothing: that a node does not lead the fragment (any more), or does not
// answer, is an error (kv.NotLeader, NoAnswer), and package kv decides what follows from it.
//
// # Limits
//
// At most 1,000 streams of a node are open. Plans are sent once and known by a number afterwards; the last 4,096 are kept encoded.
package remote
