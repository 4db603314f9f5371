// Package advisory keeps advisory locks over the nodes of a cluster.
//
// The locks of a database have one lock leader: the node that leads the database's first fragment.
// A session asks for a lock there and waits there, in a lock table that belongs to the lock
// leader's term, where the deadlock detector sees it. Nothing is written: only the session's own
// node (its gateway) and the lock leader know what a session holds. A new lock leader first asks
// every node what its sessions hold, and grants that to them again. So a change of leaders loses no
// lock, and a request that waits is repeated at the new lock leader.
//
//	gateway                    lock leader, term 7          lock leader, term 8
//	   │──Take(key)───────────────────▶│ granted, leadership confirmed
//	   │──Keep(all it holds)──────────▶│ every second
//	   │◀─────────────────────────────────────────────Held?──────────│ every node
//	   │──all it holds──────────────────────────────────────────────▶│ granted again
//
// Invariants:
//
//	A1  A lock leader grants only after every node has reported what it holds, or was not heard
//	    from for `grace` since the term began; and only while a majority of the fragment's
//	    replicas confirms, after the grant, that it leads.
//	A2  A gateway that has reported to one lock leader what it holds accepts no grant of an
//	    earlier one.
//	A3  A gateway that has not reached the lock leader for `lease`, which is shorter than `grace`,
//	    treats its locks as lost: a session that holds one is terminated, a transaction that
//	    does gets 40001.
//	A4  A transaction that commits while it or its session holds such locks has the lock leader
//	    confirm them first: else 40001.
//	A5  A gateway's list is authoritative: the lock leader releases what the gateway does not list
//	    and has not asked for meanwhile.
//
// # Limits
//
// A gateway that stands still for longer than `grace` has lost its locks, and its clients learn of
// that when it continues, not before: as with every lock over a network, what is done under it
// outside of transactions is not undone. The locks of a node that dies are free after `grace`,
// those of a node that stops or restarts at once. While the first fragment has no leader, locks
// cannot be taken (57P03 after 30 s).
package advisory
