// Package cluster hosts the fragments of a node and routes every operation on a fragment to the
// node that leads it.
//
// A Host opens a storage replica for each fragment that the catalog places on this node, follows
// the catalog as databases are created and dropped, and provides the Transactions of sessions: one
// handle over any number of fragments, each of which implements the executor's Fragment. If this
// node leads a fragment, the handle uses the replica directly; otherwise it uses the task server of
// the node that leads it (packages remote and taskserver).
//
// The catalog says which nodes have replicas of a fragment (placing.go explains how the catalog and
// the Raft groups follow each other). The node that leads the catalog decides where replicas should
// be (placement.go, which uses shardmap.NextPlacement): as many as the replication factor asks for,
// spread evenly over zones and nodes, and moved off a node that was silent for
// sherd.dead_node_after. It decides one step at a time, each conditional on the last. A node whose
// clock has run ahead of most other nodes' leads nothing (clock.go). If a majority is lost for
// good, the remaining replica can be recovered (recovery.go).
//
// A transaction can be prepared under a name and outlive its session (held.go), and a client can
// ask for the outcome of a transaction (outcome.go), which follows from the logs of the fragments
// and of the catalog. An operator may end a transaction that stays undecided because its
// coordinator fragment is lost (Host.ResolveTransaction); a decision that any reachable fragment
// knows takes precedence over the operator's.
//
// Reads of the past, and reads that may be stale, run on the nearest replica, which need not lead
// (near.go, T9).
//
// A check of a database (check.go) reads each fragment at its leader, and has all replicas compute
// a checksum of their state at one stamp (compare.go).
//
// Package move drives moves of buckets; the Host provides it with the replicas here and the sources
// on other nodes (mover.go, moves.go). Moves pause while clients' commits are slow (busy.go).
//
// The package never parses or plans, and keeps no state that is not in the catalog or in the
// fragments' logs.
package cluster
