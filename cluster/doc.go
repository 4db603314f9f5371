// Package cluster hosts the fragments of a node and leads every operation on a fragment to where the fragment is.
//
// A Host opens a storage replica for each fragment that the catalog places here, follows the catalog as databases come and go, and gives sessions
// their Transactions: one handle over any number of fragments, each used as the executor's Fragment. A fragment that is led here is used as it is,
// one that another node leads through that node's server of tasks (packages remote, taskserver).
//
// Which nodes have replicas of a fragment is in the catalog (placing.go says how that and the Raft groups follow each other). The node that leads the catalog
// decides where they shall be (placement.go, over shardmap.NextPlacement): as many as the replication factor says, over zones, evenly, those of a node
// that was silent for sherd.dead_node_after elsewhere; a step at a time, each conditional on the last. A node whose clock has run ahead of most others'
// leads nothing (clock.go). What is left on a node when a majority is lost for good can begin anew (recovery.go).
//
// Transactions may be held by name beyond their session (held.go), and what became of one can be asked for (outcome.go), by what the
// fragments' logs and the catalog's have. An operator may end one that stays undecided because its anchor is lost (Host.ResolveTransaction);
// whatever a fragment within reach knows of a decision goes before the operator's word.
//
// Reads that may be old, or of the past, are done by the nearest replica, which need not lead (near.go; T9 in
// docs/decisions/2026-11-21-follower-reads.md).
//
// A check of a database (check.go) reads each fragment where it is led, and has all its replicas make a checksum of what they have at one stamp (compare.go).
//
// Moves of buckets are driven by package move, which the Host gives its replicas and the sources elsewhere (mover.go, moves.go); they stop while commits of
// clients are slow (busy.go).
//
// The package never parses or plans, and keeps no state that the catalog or the fragments' logs do not have.
package cluster
