// Package proposer assigns the stamps of the entries of a fragment's log, and knows up to which
// timestamp a fragment can be read: the largest applied stamp, the low-water timestamp, the read
// lease and the closed timestamps. It depends on a clock and on one function that puts bytes into
// the log's queue, and knows nothing of a database.
//
//	T ≤ applied ≤ last proposed ≤ low water ≤ what a later entry is stamped
//
// The low-water timestamp only rises. A stamp is assigned and its entry enqueued under one lock
// (T1), so entries are in the log in the order of their stamps. A caller that changes what readers
// see before the log has it, as a fence does, changes it under the same lock.
package proposer
