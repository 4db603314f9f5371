// Package recovery is the unsafe recovery of a stopped node's replicas when the majority of a group
// is lost for good: what that majority had acknowledged and this node had not received is lost.
//
// The catalog is recovered on one node only; each fragment too, on the node whose replica has the
// most. The lost nodes are never admitted again.
//
// The package never runs in a node that serves.
package recovery
