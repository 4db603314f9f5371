// Package rebalance moves buckets between fragments: it drives the moves whose targets this node
// leads (package move), and makes the plans that say what should move (package balance), from the
// sizes of fragments and from how often they are used (package heat).
//
// What a move leaves in local indexes is removed later, a little at a time (leftovers.go). Which
// entries follow from rows is for the layer that stores rows to say (package rows).
//
// It asks fragments through a kv.Client, and uses the replicas that are led here as the targets of
// moves. Moves pause while clients' commits are slow (delay.go).
//
// The package keeps nothing that a crash would lose: plans and moves are in the catalog.
package rebalance
