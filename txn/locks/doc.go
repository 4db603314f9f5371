// Package locks holds all locks that are not row locks: locks on tables, and the advisory locks
// whose meaning applications define.
//
// A Session is a backend, an Owner one of its transactions. Owner.Acquire takes a lock until the
// transaction ends or is rolled back to a point before it; Session.Acquire takes an advisory one
// until it is released as often as it was taken. The eight modes and the conflict table are
// PostgreSQL's. Locks of one session never exclude each other.
//
// Conflicting requests are granted in the order of arrival, except in two cases, both PostgreSQL's.
// A session that already holds a lock passes another session that waits for this lock. A session
// that would close a cycle only because of its place in the queue goes to the head of the queue.
//
// Every wait is reported to txn.Detector, which also knows the waits for rows: a request that
// closes a cycle gets 40P01 at once. A cycle can also come about because a session was passed in a
// queue; the waits find it when they look again, after deadlock_timeout.
//
// Barrier is for schema changes that block no session: it waits until the transactions that may
// still use the old definition have ended.
//
// The package knows no catalog, reads no settings and never touches rows.
//
// Invariants:
//
//	Y1  Two sessions never hold modes on one object that exclude each other.
//	Y2  A waiter is granted no later than one that came after it and that it excludes, except in
//	    the two cases above.
//	Y3  A wait ends when it is granted, or by its context, its time-out or 40P01; afterwards the
//	    detector knows nothing of it.
//	Y4  An owner that was released holds nothing, and no barrier waits for it.
//
// Limits: the locks are those of one node. Package cluster/tablelock takes the strong table locks
// at every node, and package cluster/advisory keeps the advisory ones of all nodes in one Manager,
// which records them here (Adopt, OnRelease). A table that many sessions lock at once costs each of
// them one mutex and a search through its holders; the second statement of a transaction on the
// same table costs neither.
package locks
