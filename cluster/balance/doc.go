// Package balance makes plans of rebalancing from what fragments and nodes say, and has those carried out that were applied. What should move is
// decided by shardmap/balance; a move is the business of package move; a plan is a job in the catalog.
//
// One node, the one that leads the catalog, proposes and carries out. Two that do so at once do no harm: every change is conditional on
// the state it was planned at, and a step is begun once (its number of a job).
//
//	sherd.balancer  off      nothing is proposed; people may make plans and apply them
//	                advise   what should move is proposed, one plan for each database at most (sherd.advice); a person applies it
//	                auto     it is applied too, within sherd.balancer_windows
//
// Invariants:
//
//	P1  A plan begins only at the epoch of the bucket map that it was made for. Its own steps move the epoch on.
//	P2  Of a pair of fragments one step runs at a time, and of a plan two.
//	P3  What a plan of the balancer's own has begun goes on outside of the windows; nothing new begins.
//
// Segments of range tables are split and merged by plans too (package catalog, resegment): the keys come from the fragment that has a segment, and what is written to segments is watched
// by whoever leads the catalog (balance.Watch), from the moment it does.
//
// Reads and writes count for moves in auto: those of the buckets used most by themselves, the rest of each fragment's as spread over its bytes.
package balance
