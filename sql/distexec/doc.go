// Package distexec runs tasks of plans in fragments: the parts of a statement's query plan that read
// and write where the rows are.
//
//	exec.Gather ─▶ Transaction.Fragment ─▶ kv.Part on this node ─▶ exec.RunTask over the part
//	                                   └─▶ kv.LeaderPart ─▶ here, or remote.Part on another node
//
// A Gateway opens the transactions of sessions: a Transaction is a kv.Transaction whose parts run
// tasks. A task for any replica (Transaction.Follower) runs at the replica that kv.Client.Nearest
// names, at a timestamp that is closed there (T9), and at the leader if that replica cannot.
//
// A task negotiates its timestamp and names its buckets; the fragment's log decides whether it owns
// them (admit.go).
//
// The package never parses or plans, and never decides what a change of leaders means: package kv
// does.
package distexec
