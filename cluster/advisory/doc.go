// Package advisory keeps advisory locks over the nodes of a cluster.
//
// The locks of a database have one home: the node that leads the database's first fragment. Who wants one asks there, waits there, in a lock table of
// the home's term of office, and is seen there by the detector of deadlocks. Nothing is written: what a session holds is known to its own node (its
// gateway) and to the home. A new home begins by asking every node what its sessions hold, and keeps that for them; so a change of leaders loses no lock,
// and one that waits asks the new home.
//
//	gateway                       home, term 7                    home, term 8
//	   │──Take(key)───────────────────▶│ granted, leadership confirmed
//	   │──Keep(all it holds)──────────▶│ every second
//	   │◀─────────────────────────────────────────────Held?──────────│ every node
//	   │──all it holds──────────────────────────────────────────────▶│ granted again
//
// Invariants:
//
//	A1  A home grants only after it has heard from every node what that holds, or has not heard from the node for `grace` since its term began; and only
//	    while a majority of the fragment's replicas confirms, after the grant, that it leads.
//	A2  A gateway that has told one home what it holds takes nothing that an earlier one gives.
//	A3  A gateway that has not reached the home for `lease`, which is shorter than `grace`, takes its locks for lost: a session that holds one ends, a
//	    transaction that does gets 40001.
//	A4  A transaction that commits while it or its session holds such locks has the home confirm them before: else 40001.
//	A5  A gateway's list is the truth: what the home has and the gateway does not list, and has not asked for meanwhile, is let go.
//
// # Limits
//
// A gateway that stands still for longer than `grace` has lost its locks, and its clients hear of that when it goes on, not before: as with every lock over
// a network, what is done under it outside of transactions is not undone. The locks of a node that dies are free after `grace`, those of one that ends or
// starts again at once. While the first fragment has no leader locks cannot be taken (57P03 after 30 s).
package advisory
