// Package cluster hosts the fragments of a node and routes every operation on a fragment to the
// node that leads it.
//
// A Host opens a storage replica for each fragment that the catalog places on this node, follows
// the catalog as databases are created and dropped, and provides the Transactions of sessions: one
// handle over any number of fragments, each of which implements the executor's Fragment. If this
// node leads a fragment, the handle uses the replica directly; otherwise it uses the task server of
// the node that leads it (packages remote and taskserver).
// Requests that belong to no task go through a kv.Sender: package fragment answers them,
// here or on the other node.
//
// The catalog says which nodes have replicas of a fragment (placing.go explains how the catalog and
// the Raft groups follow each other). The node that leads the catalog decides where replicas should
// be (placement.go, which uses shardmap.NextPlacement): as many as the replication factor asks for,
// spread evenly over zones and nodes, and moved off a node that was silent for
// sherd.dead_node_after. It decides one step at a time, each conditional on the last. A node whose
// clock has run ahead of most other nodes' leads nothing (clock.go). If a majority is lost for
// good, the remaining replica can be recovered (recovery.go).
//
// A transaction can be prepared under a name and outlive its session (held.go). Package kv finds the
// leaders of fragments, ends prepared transactions and tells outcomes.
//
// Reads of the past, and reads that may be stale, run on the nearest replica, which need not lead
// (near.go, T9).
//
// A check of a database (check.go) reads each fragment at its leader, and has all replicas compute
// a checksum of their state at one stamp (compare.go).
//
// Package rebalance moves buckets and decides what should move; the Host provides it with the replicas
// here.
//
// The package never parses or plans, and keeps no state that is not in the catalog or in the
// fragments' logs.
package cluster
