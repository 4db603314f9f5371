// Package store wires the part of a node that is below SQL.
//
//	kv.Client ─▶ fragment.Server ─▶ fragment.Replicas ─▶ storage
//	     └─────▶ remote.Nodes: the same requests to other nodes
//
// A Store has the replicas of fragments on this node, the server and the client of fragments, the
// failure detector (liveness), and what runs in the background: moves of buckets (rebalance), where
// replicas go (placement), and the removal of what dropped tables left (sweep).
//
// The package decides nothing; it knows which part needs which, and their order.
package store
