// Package locks holds the locks that are no row locks: on tables, and the advisory ones that applications give a meaning.
//
// A Session is a backend, an Owner one of its transactions. Owner.Acquire takes a lock until the transaction ends or is rolled back behind
// it; Session.Acquire takes an advisory one until it is given back as often as it was taken. The eight modes and the table of what excludes
// what are PostgreSQL's. Locks of one session never exclude each other.
//
// Requests that stand in each other's way are granted in the order of arrival, but for two cases, both PostgreSQL's: a session that already
// holds what somebody waits for passes that one by, and one that would close a circle only by its place in the queue goes to its head.
//
// Every wait is told to txn.Detector, which sees the waits for rows too: whoever closes a circle gets 40P01 at once. A circle that comes
// about otherwise, because somebody was passed by, shows when the waits look again, after deadlock_timeout.
//
// Barrier is for changes of definitions that do not stop anybody: it waits until those who may still use the old definition have ended.
//
// The package knows no catalog, reads no settings and never touches rows.
//
// Invariants:
//
//	K1  Two sessions never hold modes on one object that exclude each other.
//	K2  Who waits is granted no later than somebody who came after it and whom it excludes, but for the two cases above.
//	K3  A wait ends by being granted, by its context, its time-out or 40P01; afterwards the detector knows nothing of it.
//	K4  An owner that was released holds nothing, and no barrier waits for it.
//
// Limits: the locks are those of one node; package cluster/tablelock takes the strong ones of tables at every node, and package cluster/advisory keeps the
// advisory ones of all nodes in one Manager, which leaves a note of them here (Adopt, LetGo). A table that many sessions lock at once costs each of them one mutex and a search through its
// holders; the second statement of a transaction on the same table costs neither.
package locks
