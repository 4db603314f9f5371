// Package cluster hosts the fragments of a node.
//
// A Host opens a storage replica for each fragment that the catalog places on this node, and
// follows the catalog as databases are created and dropped. It makes the kv.Client and the
// fragment.Server of its node: package kv has the transactions and routes each request to the node
// that leads the fragment, and package fragment answers requests, here or there.
//
// The catalog says which nodes have replicas of a fragment (placing.go explains how the catalog and
// the Raft groups follow each other). The node that leads the catalog decides where replicas should
// be (placement.go, which uses shardmap.NextPlacement): as many as the replication factor asks for,
// spread evenly over zones and nodes, and moved off a node that was silent for
// sherd.dead_node_after. It decides one step at a time, each conditional on the last. A node whose
// clock has run ahead of most other nodes' leads nothing (clock.go). If a majority is lost for
// good, the remaining replica can be recovered (recovery.go).
//
// Package rebalance moves buckets and decides what should move; the Host provides it with the
// replicas here.
//
// The package never parses or plans, and keeps no state that is not in the catalog or in the
// fragments' logs.
package cluster
