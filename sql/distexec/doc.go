// Package distexec runs tasks of plans in fragments: the parts of a statement's query plan that read
// and write where the rows are.
//
//	exec.Gather ─▶ Transaction.Fragment ─▶ kv.Part on this node ─▶ exec.RunTask over the part
//	                                   └─▶ kv.LeaderPart ─▶ here, or remote.Part on another node:
//	                                           a stream of Streams, borrowed for one task
//
// A Gateway opens the transactions of sessions: a Transaction is a kv.Transaction whose parts run
// tasks. A task for any replica (Transaction.Follower) runs at the replica that kv.Client.Nearest
// names, at a timestamp that is closed there (T9), and at the leader if that replica cannot.
//
// A task negotiates its timestamp and names its buckets; the fragment's log decides whether it owns
// them (admit.go).
//
// A stream returns to the pool when nothing more will be sent for its task, Stop included: a later
// Stop would end the next task on the stream. A task that ended early is never a complete result: a
// caller that did not ask for that gets kv.NoAnswer. Package taskserver is the other end.
//
// The package never parses or plans, and never decides what a change of leaders means: package kv
// does.
//
// # Limits
//
// At most 1,000 streams of a node are open. Plans are sent once and known by a number afterwards; the
// last 4,096 are kept encoded.
package distexec
