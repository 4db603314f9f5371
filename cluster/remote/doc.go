// Package remote is the gateway's side of fragments that other nodes lead: it says over the node port what package exec and txn ask of a fragment.
//
//	Transaction ─▶ Part ─▶ Node ─┬─ a stream of the pool, borrowed for one task ─▶ nodepb.Fragments.Run
//	                             └─ one call each: commit, prepare, decide, …    ─▶ nodepb.Fragments
//
// A Part is a transaction's handle on one fragment at one node. It keeps what the last answer said of the stage there, so that marks, and
// whether anything is written, cost no round trip; what only takes something back (ROLLBACK, ROLLBACK TO) is sent and not waited for, and what
// comes next waits for it.
//
// A stream goes back to the pool when nothing more will be sent of its task, Stop included: a Stop that came later would end the task of whoever has the
// stream next. A task that ends early is whole for nobody: who has not asked for that gets NoAnswer.
//
// It decides nothing: that a node does not lead the fragment (any more), or gives no answer, are errors (failure.NotLeader, NoAnswer), and what follows
// from them is package cluster's.
//
// # Limits
//
// At most 1,000 streams of a node are open. Plans are sent once and known by a number afterwards; the last 4,096 are kept encoded.
package remote
