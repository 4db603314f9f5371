// Package placement decides where the replicas of fragments should be.
//
// The node that leads the catalog decides (shardmap.NextPlacement): as many replicas as the
// replication factor asks for, spread evenly over zones and nodes, and moved off a node that was
// silent for sherd.dead_node_after. It takes one step at a time, each conditional on where the
// replicas are, so two nodes that decide at the same time do no harm. The leader of each fragment
// carries the step out (package fragment, members.go).
//
// The package never opens or moves a replica.
package placement
