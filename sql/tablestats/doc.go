// Package tablestats is what a node knows of the contents of tables, for its planner.
//
// Sizes answers how many rows a table has, at once: from the counters of replicas on this node, and
// for other fragments from what they last answered. What is old or not known is asked for in the
// background, so that a statement never waits long for it.
//
// Known adds what ANALYZE has stored in the catalog. Changed compares that with what fragments count.
//
//	TS1  Of waits for other nodes at most firstWait, and only for fragments that have not answered
//	     yet.
//	TS2  A table is asked about at most once in each fragment every askAgain, and only if statements
//	     use it.
package tablestats
