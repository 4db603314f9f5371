// Package balance makes plans of rebalancing from what fragments and nodes report, and carries out
// the plans that were applied. Package shardmap/balance decides what should move; package move
// carries out a move; a plan is a job in the catalog.
//
// One node proposes and carries out: the one that leads the catalog. Two nodes that do so at the
// same time do no harm: every change is conditional on the state it was planned at, and a step is
// started once (by its number in the job).
//
//	sherd.balancer  off      nothing is proposed; people may make plans and apply them
//	                advise   what should move is proposed, one plan for each database at most (sherd.advice); a person applies it
//	                auto     it is applied too, within sherd.balancer_windows
//
// Invariants:
//
//	Q1  A plan starts only at the epoch of the bucket map that it was made for. Its own steps
//	    advance the epoch.
//	Q2  At most one step runs for a pair of fragments at a time, and at most two for a plan.
//	Q3  What an automatic plan of the balancer has started continues outside of the windows;
//	    nothing new starts.
//
// Segments of range tables are split and merged by plans too (package catalog, resegment): the keys
// come from the fragment that has a segment, and the node that leads the catalog watches the writes
// to segments (balance.Watch), from the moment it leads.
//
// Reads and writes count for moves in auto: those of the buckets used most by themselves, the rest of each fragment's as spread over its bytes.
package balance
