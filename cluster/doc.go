// Package cluster has no code of its own. Its folders are what the nodes of a cluster need to know
// of each other and to talk:
//
//	trust, join, member   certificates, join tokens, the list of nodes
//	transport, nodepb     the nodes' port, and the messages on it
//	liveness              the failure detector, and the comparison of clocks
//	raftnet, catalognet   the transports of Raft groups and of the catalog
//	remote, failure       requests to fragments that other nodes lead, and their errors
//	deadlock, tablelock,
//	advisory              locks of the whole cluster
//
// Fragments are in package fragment, and their client is in package kv.
package cluster
