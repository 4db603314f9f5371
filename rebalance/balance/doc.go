// Package balance makes plans of rebalancing from what fragments and nodes report, and carries out
// the plans that were applied. A plan is a job in the catalog. Package shardmap/balance decides
// what should move; package move carries out a move.
//
// The node that leads the catalog proposes and carries out plans. Two nodes that do so at the same
// time do no harm: every change is conditional on the state for which it was planned, and a step is
// started once (by its number in the job).
//
//	sherd.balancer  off      nothing is proposed; operators may make plans and apply them
//	                advise   at most one plan for each database is proposed (sherd.advice);
//	                         operators apply it
//	                auto     the plan is applied too, within sherd.balancer_windows
//
// Invariants:
//
//	Q1  A plan starts only at the epoch of the bucket map that it was made for. Its own steps
//	    advance the epoch.
//	Q2  At most one step runs for a pair of fragments at a time, and at most two for a plan.
//	Q3  What an automatic plan of the balancer has started continues outside of the windows;
//	    nothing new starts.
//
// Plans also split and merge segments of range tables (package catalog, resegment). The fragment
// that has a segment chooses the keys. The node that leads the catalog watches the writes to
// segments (balance.Watch), from the moment at which it begins to lead.
//
// In mode auto reads and writes count too: those of the most used buckets by themselves, and those
// of the rest of a fragment as if they were spread evenly over its bytes.
package balance
